/* gpu.profile: a launch that is counted by source line, as a Lua table that prints as a listing. */
#include "lang/profile.h"
#include <stdlib.h>
#include <string.h>

#define NEAR 2 /* lines shown around those that were run */

/* ---- the listing's lines ---- */

const char *lg_source_line(const char *text, int line, size_t *length)
{
    while (text && --line > 0) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    if (!text || line < 0) return NULL;
    *length = strcspn(text, "\r\n");
    return text;
}

static struct lg_profile_row *add_row(struct lg_profile *p, int line, const char *text, int first_line)
{
    struct lg_profile_row *row = &p->rows[p->row_count++];
    *row = (struct lg_profile_row){0};
    if (line <= 0) return row;
    row->source = lg_source_line(text, line, &row->length);
    row->line = line + first_line - 1;
    return row;
}

static void add_source_rows(struct lg_profile *p, int from, int to)
{
    const struct rt_program *program = p->kernel->program;
    for (int n = from; n <= to; n++) add_row(p, n, program->text, program->first_line);
}

/* The lines of the kernel's own source, with those near them. */
static void add_own_rows(struct lg_profile *p)
{
    const struct rt_program *program = p->kernel->program;
    const struct simt_profile *counts = p->result.counts;
    int last = 0;
    for (uint32_t k = 0; k < counts->count; k++) {
        const struct simt_profile_line *l = &counts->lines[k];
        if (l->file && !rt_is_source_name(l->file)) continue;
        if (last > 0 && l->line - last > 2 * NEAR + 1) {
            add_source_rows(p, last + 1, last + NEAR);
            add_row(p, 0, NULL, 0);
            add_source_rows(p, l->line - NEAR, l->line - 1);
        } else if (last > 0) {
            add_source_rows(p, last + 1, l->line - 1);
        }
        add_row(p, l->line, program->text, program->first_line)->counts = &l->counts;
        last = l->line;
    }
    size_t length = 0;
    const char *behind = last > 0 ? lg_source_line(program->text, last + 1, &length) : NULL;
    size_t blanks = behind ? strspn(behind, " \t") : 0;
    if (behind && blanks < length && behind[blanks] == '}') add_source_rows(p, last + 1, last + 1);
}

/* Lines of other files: their texts are strings left on the stack. */
static void add_other_rows(lua_State *L, struct lg_profile *p)
{
    const struct simt_profile *counts = p->result.counts;
    const char *file = NULL, *text = NULL;
    for (uint32_t k = 0; k < counts->count; k++) {
        const struct simt_profile_line *l = &counts->lines[k];
        if (!l->file || rt_is_source_name(l->file)) continue;
        if (l->file != file) {
            luaL_checkstack(L, 4, "too many files");
            size_t length;
            lua_pushfstring(L, "@%s", l->file);
            text = lg_chunk_source(L, lua_tostring(L, -1), &length);
            file = l->file;
        }
        struct lg_profile_row *row = add_row(p, l->line, text, 1);
        row->file = l->file;
        row->counts = &l->counts;
    }
}

/* Takes away the blanks that all lines of the source begin with. */
static void dedent(struct lg_profile *p)
{
    size_t common = SIZE_MAX;
    for (size_t k = 0; k < p->row_count; k++) {
        const struct lg_profile_row *row = &p->rows[k];
        size_t blanks = row->source ? strspn(row->source, " ") : 0;
        if (row->source && !row->file && blanks < row->length && blanks < common) common = blanks;
    }
    for (size_t k = 0; k < p->row_count; k++) {
        struct lg_profile_row *row = &p->rows[k];
        if (!row->source || row->file) continue;
        size_t n = common < row->length ? common : row->length;
        row->source += n;
        row->length -= n;
    }
}

/* Pushes what holds the rows. */
static void make_rows(lua_State *L, struct lg_profile *p)
{
    const struct simt_profile *counts = p->result.counts;
    p->rows = lua_newuserdatauv(L, (counts->count * (2 * NEAR + 2) + 2) * sizeof *p->rows, 0);
    add_own_rows(p);
    add_other_rows(L, p);
    dedent(p);
    for (uint32_t k = 0; k < counts->count; k++)
        if (counts->lines[k].counts.instructions > p->most) p->most = counts->lines[k].counts.instructions;
}

/* ---- as a table ---- */
static void set_triple(lua_State *L, const char *key, const unsigned v[3])
{
    lua_createtable(L, 3, 0);
    for (int i = 0; i < 3; i++) {
        lua_pushinteger(L, v[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, key);
}

static double ratio(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

static void set_traffic(lua_State *L, const char *key, const struct simt_traffic *t)
{
    if (!t->requests) return;
    lua_createtable(L, 0, 6);
    lg_set_integer(L, "requests", t->requests);
    lg_set_integer(L, "sectors", t->sectors);
    lg_set_integer(L, "ideal", t->ideal);
    lg_set_integer(L, "bytes", t->bytes);
    lg_set_integer(L, "moved", t->sectors * 32);
    lg_set_number(L, "efficiency", ratio(t->ideal, t->sectors));
    lua_setfield(L, -2, key);
}

static void set_banks(lua_State *L, const char *key, const struct simt_banks *b)
{
    if (!b->requests) return;
    lua_createtable(L, 0, 3);
    lg_set_integer(L, "requests", b->requests);
    lg_set_integer(L, "conflicts", b->turns - b->ideal);
    lg_set_integer(L, "bytes", b->bytes);
    lua_setfield(L, -2, key);
}

/* Sets the counts into the table on top. What did not happen is not there, but for the first few. */
static void set_counts(lua_State *L, const struct simt_counts *c)
{
    lg_set_integer(L, "instructions", c->instructions);
    lg_set_number(L, "lanes", ratio(c->lanes, c->instructions));
    lg_set_integer(L, "branches", c->branches);
    lg_set_integer(L, "divergent", c->divergent);
    lg_set_integer(L, "barriers", c->barriers);
    lg_set_integer(L, "flops", c->flops);
    if (c->double_flops) lg_set_integer(L, "double_flops", c->double_flops);
    if (lg_profile_moved(c)) lg_set_number(L, "intensity", (double)c->flops / (double)lg_profile_moved(c));
    set_traffic(L, "load", &c->load);
    set_traffic(L, "store", &c->store);
    set_traffic(L, "atomic", &c->atomic);
    set_banks(L, "shared_load", &c->shared_load);
    set_banks(L, "shared_store", &c->shared_store);
    set_banks(L, "shared_atomic", &c->shared_atomic);
    if (c->atomics) {
        lua_createtable(L, 0, 3);
        lg_set_integer(L, "requests", c->atomics);
        lg_set_integer(L, "lanes", c->atomic_lanes);
        lg_set_number(L, "collisions", ratio(c->atomic_turns, c->atomics));
        lua_setfield(L, -2, "atomics");
    }
    if (c->local_requests) {
        lua_createtable(L, 0, 2);
        lg_set_integer(L, "requests", c->local_requests);
        lg_set_integer(L, "bytes", c->local_bytes);
        lua_setfield(L, -2, "local_memory");
    }
}

static void set_lines(lua_State *L, const struct lg_profile *p)
{
    lua_Integer n = 0;
    lua_newtable(L);
    for (size_t k = 0; k < p->row_count; k++) {
        const struct lg_profile_row *row = &p->rows[k];
        if (!row->counts) continue;
        lua_createtable(L, 0, 12);
        lg_set_integer(L, "line", (uint64_t)row->line);
        if (row->source) {
            lua_pushlstring(L, row->source, row->length);
            lua_setfield(L, -2, "source");
        }
        lg_set_string(L, "file", row->file);
        set_counts(L, row->counts);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "lines");
}

static void set_fields(lua_State *L, const struct lg_profile *p)
{
    const struct rt_kernel *k = p->kernel;
    lg_set_string(L, "kernel", k->entry->name);
    set_triple(L, "grid", p->launch.grid);
    set_triple(L, "block", p->launch.block);
    lg_set_integer(L, "registers", (uint64_t)k->registers);
    lg_set_integer(L, "shared", (uint64_t)k->shared_bytes + p->launch.shared);
    lg_set_integer(L, "local_bytes", (uint64_t)k->local_bytes);
    lg_set_integer(L, "array_bytes", p->result.array_bytes);
    lg_push_occupancy(L, &p->result.occupancy);
    lua_setfield(L, -2, "occupancy");
    if (p->result.counts) {
        set_counts(L, &p->result.counts->total);
    } else {
        lg_set_number(L, "milliseconds", p->result.milliseconds);
        if (p->result.milliseconds > 0)
            lg_set_number(L, "bandwidth", (double)p->result.array_bytes / p->result.milliseconds / 1e6);
    }
    set_lines(L, p);
}

/* ---- the function ---- */
static int clear_result(lua_State *L)
{
    rt_profile_clear(&((struct lg_profile *)lua_touserdata(L, 1))->result);
    return 0;
}

/* An empty profile in a userdata that releases it. */
static struct lg_profile *push_profile(lua_State *L)
{
    struct lg_profile *p = lua_newuserdatauv(L, sizeof *p, 0);
    *p = (struct lg_profile){0};
    if (luaL_newmetatable(L, "lunarray.profile")) {
        lua_pushcfunction(L, clear_result);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return p;
}

/* Upvalue 1 is a userdata with the launch, whose user value is the kernel. */
static int profile_call(lua_State *L)
{
    struct lg_call call;
    struct rt_error *e = lg_error_box(L);
    const struct lg_launch *l = lua_touserdata(L, lua_upvalueindex(1));
    lua_getiuservalue(L, lua_upvalueindex(1), 1);
    lua_insert(L, 1);
    lg_read_call(L, l, &call);
    struct lg_profile *p = push_profile(L);
    p->kernel = call.on;
    p->launch = call.launch;
    if (rt_kernel_profile(call.on, &call.launch, call.args, call.count, &p->result, e) != RT_OK)
        return lg_raise_kernel(L, e);
    if (p->result.counts) make_rows(L, p);
    lua_newtable(L);
    set_fields(L, p);
    lg_push_device(L, call.device);
    lua_setfield(L, -2, "device");
    lg_push_profile_text(L, p);
    lg_push_profile_html(L, p);
    lg_set_forms(L);
    return 1;
}

static int profile(lua_State *L)
{
    struct lg_launch l;
    lg_read_launch(L, "gpu.profile(kernel, grid, block [, options])(arguments) or gpu.profile(k:forall(n))(arguments)",
                   &l);
    *(struct lg_launch *)lua_newuserdatauv(L, sizeof l, 1) = l;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_pushcclosure(L, profile_call, 1);
    return 1;
}

static const struct lg_function functions[] = {
    {"profile", profile, "gpu.profile(kernel, grid, block [, options])(...)",
     "Launches a kernel once and tells, line by line of its source, what it cost.\n"
     "Options are those of k(grid, block, options). "
     "Call the result with the kernel's arguments; gpu.profile(k:forall(n))(...) works too. On the software GPU it "
     "counts warp instructions, the lanes that took part, the 32-byte sectors of global memory that a request touches "
     "and how few would do, conflicts at the banks of shared memory, and lanes of atomics that meet at one address. The "
     "figures are exact and the same on every run. A GPU tells no lines: there the profile has milliseconds, and "
     "bandwidth (GB/s, if the kernel moves every array once).\n"
     "The profile prints as a listing. Its fields: kernel, device, grid, block, registers, shared, local_bytes, "
     "array_bytes; occupancy with fraction, blocks, warps, max_warps, limiter and limits; lines, a list with line, "
     "source and file (of included files); and, of the launch and of each line: instructions, lanes (on average), "
     "branches, divergent, barriers, flops (operations on floating-point numbers; a fused multiply-add is two, anything else "
     "one), double_flops, those of doubles, intensity (flops for each byte that global memory moves); load, store and atomic with requests, sectors, ideal, bytes (asked for), moved and "
     "efficiency; shared_load, shared_store and shared_atomic with requests, conflicts and bytes; atomics with requests, lanes and "
     "collisions (on average); local_memory with requests and bytes. What did not happen is nil. Fragments of matrices "
     "count as requests of 16 bytes a lane, textures with the texels they take.",
     "local k = gpu.kernel [[\n"
     "  __global__ void every_other(const float *x, float *y) {\n"
     "    y[threadIdx.x] = x[2 * threadIdx.x];\n"
     "  }\n"
     "]]\n"
     "local p = gpu.profile(k, 1, 32)(gpu.ones(64), gpu.zeros(32))\n"
     "print(p)\n"
     "if p.load then -- on the software GPU\n"
     "  assert(p.load.sectors == 8 and p.load.ideal == 4)\n"
     "  assert(p.store.sectors == 4 and p.store.efficiency == 1)\n"
     "end"},
    {0}};

void lg_open_profile(lua_State *L)
{
    static const struct lg_function begun = {
        "profile", profile_call, "gpu.profile(kernel, grid, block), to be called with the kernel's arguments",
        "Launches the kernel when it is called with the kernel's arguments; ?gpu.profile tells more.", NULL};
    lg_register(L, "gpu", functions);
    lg_document_call(L, profile_call, &begun);
}
