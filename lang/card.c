/* Cards: how a kernel and a device show themselves in a notebook, in the page's own colours. */
#include <stdio.h>
#include <string.h>
#include "lang/card.h"
#include "lang/cuda.h"
#include "runtime/memory.h"

#define MOST_SOURCE 20000 /* bytes of a kernel's source */

static void begin_card(luaL_Buffer *b, const char *title, const char *more)
{
    luaL_addstring(b, "<div class=\"lunarray\" style=\"display:inline-block;max-width:100%;box-sizing:border-box;"
                      "color:inherit;border:1px solid rgba(128,128,128,.45);border-radius:6px;padding:6px 12px;"
                      "margin:2px 0;overflow-x:auto\"><div><b>");
    lg_add_html_text(b, title);
    luaL_addstring(b, "</b> <code style=\"color:inherit;background:none\">");
    lg_add_html_text(b, more);
    luaL_addstring(b, "</code></div><table style=\"color:inherit;background:none;font-size:inherit;"
                      "border-collapse:collapse;margin:4px 0\"><tbody>");
}

static void add_fact(luaL_Buffer *b, const char *label, const char *text)
{
    luaL_addstring(b, "<tr style=\"background:none\"><td style=\"text-align:left;opacity:.65;padding:1px 12px 1px 0;"
                      "white-space:nowrap\">");
    lg_add_html_text(b, label);
    luaL_addstring(b, "</td><td style=\"text-align:left;padding:1px 0\">");
    lg_add_html_text(b, text);
    luaL_addstring(b, "</td></tr>");
}

static void end_facts(luaL_Buffer *b)
{
    luaL_addstring(b, "</tbody></table>");
}

void lg_launches_text(const struct lg_kernel *k, char *out, size_t size)
{
    const struct lg_launches *l = &k->launches;
    const unsigned *g = l->last.grid, *t = l->last.block;
    if (!l->count) {
        snprintf(out, size, "none yet");
        return;
    }
    int n = snprintf(out, size,
                     "%llu; the last one with grid %u x %u x %u, block %u x %u x %u, %u B of dynamic shared memory",
                     (unsigned long long)l->count, g[0], g[1], g[2], t[0], t[1], t[2], l->last.shared);
    if (l->ms >= 0 && n > 0 && (size_t)n < size) snprintf(out + n, size - (size_t)n, ", in %.3g ms", l->ms);
}

void lg_push_kernel_html(lua_State *L, const struct lg_kernel *k, const char *signature)
{
    const struct rt_kernel *r = &k->loaded[0];
    const struct rt_program *p = r->program;
    size_t length = strlen(p->text);
    char text[320];
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    begin_card(&b, "kernel", r->entry->name);
    add_fact(&b, "parameters", signature);
    add_fact(&b, "device", k->family->devices[0]->name);
    snprintf(text, sizeof text,
             "%d registers and %d B of local memory a thread, %d B of shared memory a block, up to %d "
             "threads a block",
             r->registers, r->local_bytes, r->shared_bytes, r->max_threads);
    add_fact(&b, "resources", text);
    snprintf(text, sizeof text, "%.3g ms%s", p->compile_ms, p->cached ? ", taken from the cache" : "");
    add_fact(&b, "compiled in", text);
    lg_launches_text(k, text, sizeof text);
    add_fact(&b, "launches", text);
    end_facts(&b);
    luaL_addstring(&b, "<pre style=\"color:inherit;background:none;margin:4px 0;padding:6px 0 0;border-top:1px solid "
                       "rgba(128,128,128,.3)\">");
    lg_add_cuda_html(&b, p->text, length < MOST_SOURCE ? length : MOST_SOURCE);
    luaL_addstring(&b, length < MOST_SOURCE ? "</pre></div>" : "\n&hellip;</pre></div>");
    luaL_pushresult(&b);
}

static void add_memory(lua_State *L, luaL_Buffer *b, struct rt_device *d)
{
    struct rt_memory_stats m;
    size_t free_bytes = 0, total = 0;
    char used[32], cached[32], all[32], rest[32], text[160];
    rt_memory_stats(d, &m);
    if (rt_device_memory(d, &free_bytes, &total, lg_error_box(L)) != RT_OK) {
        rt_error_clear(lg_error_box(L));
        total = d->total_memory;
    }
    snprintf(text, sizeof text, "%s, %s free; in use by arrays %s, kept for new ones %s",
             rt_size_text((double)total, all), rt_size_text((double)free_bytes, rest),
             rt_size_text((double)m.in_use, used), rt_size_text((double)m.cached, cached));
    add_fact(b, "memory", text);
}

/* Pushes the card of one device. */
static void push_device_html(lua_State *L, struct rt_device *d)
{
    char text[160], size[32];
    luaL_Buffer b;
    lg_error_box(L); /* makes it, if need be, before the buffer is on the stack */
    luaL_buffinit(L, &b);
    begin_card(&b, d->name, d->model);
    add_memory(L, &b, d);
    if (rt_device_runs_kernels(d)) {
        snprintf(text, sizeof text, "%d.%d", d->compute_major, d->compute_minor);
        add_fact(&b, "compute capability", text);
        snprintf(text, sizeof text, "%d, warps of %d threads", d->multiprocessors, d->warp_size);
        add_fact(&b, "multiprocessors", text);
        snprintf(text, sizeof text, "up to %d threads (%d x %d x %d) with %s of shared memory",
                 d->max_threads_per_block, d->max_block[0], d->max_block[1], d->max_block[2],
                 rt_size_text((double)d->max_shared_per_block, size));
        add_fact(&b, "blocks", text);
        snprintf(text, sizeof text, "up to %d x %d x %d blocks", d->max_grid[0], d->max_grid[1], d->max_grid[2]);
        add_fact(&b, "grids", text);
    } else {
        add_fact(&b, "kernels", "none: it has arrays only");
    }
    end_facts(&b);
    luaL_addstring(&b, "</div>");
    luaL_pushresult(&b);
}

/* Sets the string on top of the stack as the only form of a new table, and returns that. */
static int give_html(lua_State *L)
{
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_setfield(L, -2, "text/html");
    return 1;
}

int lg_display_device(lua_State *L)
{
    push_device_html(L, *(struct rt_device **)lg_check_object(L, 1, LG_DEVICE));
    return give_html(L);
}

int lg_display_devices(lua_State *L)
{
    lua_Integer n = luaL_len(L, 1);
    lua_settop(L, 1);
    lua_pushliteral(L, "");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, 1, i);
        struct rt_device **d = luaL_testudata(L, -1, LG_DEVICE);
        lua_pop(L, 1);
        if (!d) continue;
        lua_pushliteral(L, "<div>");
        push_device_html(L, *d);
        lua_pushliteral(L, "</div>");
        lua_concat(L, 4);
    }
    return give_html(L);
}
