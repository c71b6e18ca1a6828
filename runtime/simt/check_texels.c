/* Accesses through textures and surfaces, by the bytes of the memory behind the object: an array, which nothing else
 * can touch in a kernel, or plain memory, which textures may be over. They are recorded as others are (check_race.c);
 * addresses outside of an object are faults of the instruction, no matter of the checks. */
#include <string.h>
#include "runtime/simt/check_access.h"
#include "runtime/simt/ops_texture.h"

enum simt_access simt_texels_access(const struct insn *i)
{
    switch (simt_texel_use(i)) {
    case TEXELS_READ: return ACCESS_READ;
    case TEXELS_STORED: return ACCESS_WRITE;
    case TEXELS_REDUCED: return ACCESS_ATOMIC;
    case TEXELS_NOT: break;
    }
    return ACCESS_NONE;
}

void simt_texels_find(struct simt_check *c)
{
    const struct simt_program *p = c->program;
    bool fetches = false;
    for (uint32_t pc = 0; pc < p->code_count; pc++) {
        enum simt_texel_use use = simt_texel_use(&p->code[pc]);
        fetches |= use == TEXELS_READ;
        c->stores_texels |= use > TEXELS_READ;
    }
    c->follows_texels = c->stores_texels || (fetches && simt_texture_over(0, UINT64_MAX));
}

bool simt_texels_over(const struct simt_check *c, uint64_t address, uint64_t bytes)
{
    return c->follows_texels && simt_texture_over(address, bytes);
}

static bool is_plain(const struct simt_texture *t)
{
    return t->kind == SIMT_TEXTURE_LINEAR || t->kind == SIMT_TEXTURE_PITCH;
}

/* Can anybody race there? */
static bool is_followed(const struct simt_check *c, const struct simt_texture *t)
{
    struct simt_block b;
    if (!is_plain(t)) return c->stores_texels;
    return t->memory >= SIMT_GLOBAL_BASE && simt_find(t->memory, &b) && !simt_is_quiet(c, b.address);
}

/* The instruction as one on plain memory, for those who ask what is stored. What a format changes goes to `values`. */
static struct insn as_plain(struct access *a, const struct insn *i, const struct simt_texture *t, uint32_t m,
                            uint64_t values[SIMT_WARP])
{
    bool formatted = false;
    struct insn as = {.memory = a->kind == ACCESS_READ    ? MEMORY_LOAD
                                : a->kind == ACCESS_WRITE ? MEMORY_STORE
                                                          : MEMORY_ATOMIC,
                      .space = PTX_GLOBAL,
                      .type = i->type,
                      .count = 1,
                      .size = (uint8_t)a->bytes,
                      .d2 = a->check->program->cache_count}; /* the block's span beside those of instructions */
    if (a->kind != ACCESS_WRITE) return as;
    EACH_LANE(l, m) formatted |= simt_formatted_value(a->warp, a->regs, i, l, t, &values[l]);
    if (formatted) {
        a->regs = (char *)values;
        as.flags = F_WIDE;
        return as;
    }
    as.size = i->size;
    as.count = (uint8_t)(a->bytes / i->size);
    as.flags = i->size == 8 ? F_WIDE : 0;
    as.extra = i->extra;
    as.d = a->block->worker->program->extra[i->extra];
    return as;
}

/* Lanes m touch as many bytes each, through one object. */
static void touch(const struct access *all, const struct insn *i, const struct simt_touched *lanes, uint32_t m)
{
    const struct simt_touched *one = &lanes[__builtin_ctz(m)];
    struct access a = *all;
    uint64_t values[SIMT_WARP] = {0};
    a.bytes = one->bytes;
    a.texture = one->texture;
    struct insn as = as_plain(&a, i, a.texture, m, values);
    a.insn = &as;
    for (uint32_t k = 0, some = m; some; k++) {
        some = 0;
        memset(a.at, 0, sizeof a.at);
        EACH_LANE(l, m)
        {
            if (k >= lanes[l].count) continue;
            a.at[l] = lanes[l].at[k];
            some |= 1u << l;
        }
        if (some && a.kind == ACCESS_ATOMIC)
            simt_race_words(&a, some); /* check_counters.c is for plain memory */
        else if (some)
            simt_race_touch(&a, some, false);
    }
}

void simt_texels_touch(struct simt_check *c, struct warp *w, const struct insn *i, uint32_t m)
{
    struct simt_touched lanes[SIMT_WARP];
    struct access a;
    simt_check_begin(&a, c, w, i, c->site_of[w->pc]);
    EACH_LANE(l, m)
    {
        simt_touch_texels(w, a.regs, i, l, &lanes[l]);
        if (!lanes[l].texture) m &= ~(1u << l);
    }
    while (m) {
        const struct simt_touched *one = &lanes[__builtin_ctz(m)];
        uint32_t alike = 0;
        EACH_LANE(l, m) alike |= (uint32_t)(lanes[l].texture == one->texture && lanes[l].bytes == one->bytes) << l;
        if (is_followed(c, one->texture)) touch(&a, i, lanes, alike);
        m &= ~alike;
    }
}

/* ---- reports ---- */
/* The first parameter that is an object over this memory, so that it does not matter which one was used last. */
static const struct simt_texture *find_parameter(const struct access *a, struct simt_report *r)
{
    const struct worker *k = a->block->worker;
    const struct function *f = k->run->entry;
    for (uint32_t n = 0; n < f->param_count; n++) {
        uint64_t handle;
        if (f->param_size[n] != sizeof handle) continue;
        memcpy(&handle, k->params + f->param_offset[n], sizeof handle);
        const struct simt_texture *t = simt_texture_find(handle);
        if (!t || t->memory != a->texture->memory) continue;
        r->parameter = (int)n + 1;
        return t;
    }
    return a->texture;
}

void simt_texels_name(const struct access *a, struct simt_report *r)
{
    if (is_plain(a->texture)) return; /* the memory has a name of its own */
    const struct simt_texture *t = find_parameter(a, r);
    uint64_t offset = r->address - t->memory;
    bool layers = t->kind == SIMT_TEXTURE_1D_LAYERED;
    unsigned x = (unsigned)(offset % t->pitch / t->element), y = (unsigned)(offset % t->slice / t->pitch);
    unsigned z = (unsigned)(offset / t->slice);
    r->surface = t->surface;
    r->axes = t->kind == SIMT_TEXTURE_1D ? 1 : t->kind == SIMT_TEXTURE_2D || layers ? 2 : 3;
    r->element[0] = x;
    r->element[1] = layers ? z : y;
    r->element[2] = z;
}
