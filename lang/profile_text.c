/* What a profile says, and how it looks in a terminal. */
#include <stdio.h>
#include <string.h>
#include "lang/fold.h"
#include "lang/profile.h"

#define LEAST_SOURCE 32 /* columns that source lines need beside the figures; with less, these go below */
#define FACT_COLUMN  17 /* where the text of a fact begins */

const struct lg_profile_heading lg_profile_headings[LG_COLUMN_COUNT] = {
    [LG_COLUMN_INSTRUCTIONS] = {"instr.", "instructions run by warps", 9, false},
    [LG_COLUMN_SHARE] = {"%", "share of all instructions", 3, false},
    [LG_COLUMN_LANES] = {"lanes", "lanes of the warp's 32 that took part, on average", 5, true},
    [LG_COLUMN_SECTORS] = {"sectors", "32-byte sectors of global memory that a request touches, on average", 7, true},
    [LG_COLUMN_IDEAL] = {"ideal", "the sectors that would hold the bytes asked for", 5, false},
    [LG_COLUMN_MOVED] = {"moved", "bytes of these sectors", 8, false},
    [LG_COLUMN_CONFLICTS] = {"banks", "turns that bank conflicts add to a request of shared memory, on average", 5,
                             true},
    [LG_COLUMN_COLLISIONS] = {"collide", "lanes of an atomic that meet at one address, on average", 7, true},
};

/* ---- numbers ---- */

/* "12,345,678", or "1.23e+12" from where that takes more than nine characters. */
static void put_count(char *out, size_t size, uint64_t n)
{
    static const struct {
        uint64_t unit;
        const char *name;
    } units[] = {{UINT64_C(1000000000000), "T"}, {1000000000, "G"}, {1000000, "M"}};
    for (size_t i = 0; n > 9999999 && i < 3; i++) {
        if (n < units[i].unit) continue;
        snprintf(out, size, "%.2f %s", (double)n / (double)units[i].unit, units[i].name);
        return;
    }
    if (n > 999999)
        snprintf(out, size, "%u,%03u,%03u", (unsigned)(n / 1000000), (unsigned)(n / 1000 % 1000), (unsigned)(n % 1000));
    else if (n > 999)
        snprintf(out, size, "%u,%03u", (unsigned)(n / 1000), (unsigned)(n % 1000));
    else
        snprintf(out, size, "%u", (unsigned)n);
}

static double per(uint64_t a, uint64_t b)
{
    return b ? (double)a / (double)b : 0;
}

static struct simt_traffic all_traffic(const struct simt_counts *c)
{
    return (struct simt_traffic){c->load.requests + c->store.requests + c->atomic.requests,
                                 c->load.sectors + c->store.sectors + c->atomic.sectors,
                                 c->load.ideal + c->store.ideal + c->atomic.ideal, 0};
}

static struct simt_banks all_banks(const struct simt_counts *c)
{
    const struct simt_banks *kinds[] = {&c->shared_load, &c->shared_store, &c->shared_atomic};
    struct simt_banks all = {0};
    for (int i = 0; i < 3; i++) {
        all.requests += kinds[i]->requests;
        all.turns += kinds[i]->turns;
        all.ideal += kinds[i]->ideal;
    }
    return all;
}

static double conflicts(const struct simt_counts *c)
{
    struct simt_banks all = all_banks(c);
    return per(all.turns - all.ideal, all.requests);
}

/* ---- columns ---- */
bool lg_profile_has(const struct lg_profile *p, enum lg_profile_column column)
{
    const struct simt_counts *c = &p->result.counts->total;
    switch (column) {
    case LG_COLUMN_SECTORS:
    case LG_COLUMN_IDEAL:
    case LG_COLUMN_MOVED: return all_traffic(c).requests > 0;
    case LG_COLUMN_CONFLICTS: return all_banks(c).requests > 0;
    case LG_COLUMN_COLLISIONS: return c->atomics > 0;
    default: return true;
    }
}

static bool is_hot(const struct lg_profile *p, const struct simt_counts *c)
{
    return c->instructions > 0 && c->instructions * 2 >= p->most;
}

bool lg_profile_cell(const struct lg_profile *p, const struct simt_counts *c, enum lg_profile_column column,
                     char out[32])
{
    struct simt_traffic t = all_traffic(c);
    double lanes = per(c->lanes, c->instructions);
    *out = 0;
    switch (column) {
    case LG_COLUMN_INSTRUCTIONS: put_count(out, 32, c->instructions); return false;
    case LG_COLUMN_SHARE:
        snprintf(out, 32, "%.0f", 100 * per(c->instructions, p->result.counts->total.instructions));
        return false;
    case LG_COLUMN_LANES: snprintf(out, 32, "%.1f", lanes); return lanes < 16;
    case LG_COLUMN_SECTORS:
        if (t.requests) snprintf(out, 32, "%.1f", per(t.sectors, t.requests));
        return t.sectors >= 2 * t.ideal && t.requests;
    case LG_COLUMN_IDEAL:
        if (t.requests) snprintf(out, 32, "%.1f", per(t.ideal, t.requests));
        return false;
    case LG_COLUMN_MOVED:
        if (t.requests) rt_size_text((double)t.sectors * 32, out);
        return false;
    case LG_COLUMN_CONFLICTS:
        if (all_banks(c).requests) snprintf(out, 32, "%.1f", conflicts(c));
        return conflicts(c) >= 1;
    case LG_COLUMN_COLLISIONS:
        if (c->atomics) snprintf(out, 32, "%.1f", per(c->atomic_turns, c->atomics));
        return c->atomics && c->atomic_turns >= 4 * c->atomics;
    default: return false;
    }
}

/* ---- facts ---- */
struct facts {
    struct lg_profile_fact *list;
    size_t count, room;
};

static void add(struct facts *f, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(struct facts *f, const char *label, const char *format, ...)
{
    if (f->count == f->room) return;
    struct lg_profile_fact *x = &f->list[f->count++];
    va_list args;
    snprintf(x->label, sizeof x->label, "%s", label);
    va_start(args, format);
    vsnprintf(x->text, sizeof x->text, format, args);
    va_end(args);
}

static const char *sizes(const unsigned v[3], char *out, size_t size)
{
    if (v[2] > 1)
        snprintf(out, size, "%u x %u x %u", v[0], v[1], v[2]);
    else if (v[1] > 1)
        snprintf(out, size, "%u x %u", v[0], v[1]);
    else
        snprintf(out, size, "%u", v[0]);
    return out;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void add_occupancy(const struct lg_profile *p, struct facts *f)
{
    const struct rt_occupancy *o = &p->result.occupancy;
    uint64_t threads = (uint64_t)p->launch.block[0] * p->launch.block[1] * p->launch.block[2],
             warps = (threads + 31) / 32;
    char registers[24], shared[32];
    put_count(registers, sizeof registers, (uint64_t)p->kernel->registers);
    rt_size_text((double)p->kernel->shared_bytes + p->launch.shared, shared);
    add(f, "occupancy", "%.0f%%: a multiprocessor holds %d block%s of %llu warp%s (%d of %d warps), limited by %s",
        o->max_warps ? 100.0 * o->warps / o->max_warps : 0, o->blocks, plural((uint64_t)o->blocks),
        (unsigned long long)warps, plural(warps), o->warps, o->max_warps, rt_limiter_names[o->limiter]);
    add(f, "resources", "%s registers a thread, %s of shared memory a block", registers, shared);
}

static void add_traffic(struct facts *f, const char *label, const struct simt_traffic *t)
{
    char requests[24], moved[32], asked[32];
    if (!t->requests) return;
    put_count(requests, sizeof requests, t->requests);
    add(f, label, "%.3g%% efficient: %s request%s of %.1f sectors (ideally %.1f), %s moved, %s asked for",
        100 * per(t->ideal, t->sectors), requests, plural(t->requests), per(t->sectors, t->requests),
        per(t->ideal, t->requests), rt_size_text((double)t->sectors * 32, moved),
        rt_size_text((double)t->bytes, asked));
}

uint64_t lg_profile_moved(const struct simt_counts *c)
{
    return 32 * (c->load.sectors + c->store.sectors + c->atomic.sectors);
}

static void add_arithmetic(const struct simt_counts *c, struct facts *f)
{
    char flops[24], doubles[24], some[48] = "";
    put_count(flops, sizeof flops, c->flops);
    put_count(doubles, sizeof doubles, c->double_flops);
    if (c->double_flops) snprintf(some, sizeof some, " (%s of doubles)", doubles);
    if (c->flops && lg_profile_moved(c))
        add(f, "arithmetic", "%s floating-point operations%s, %.3g for each byte that global memory moves", flops, some,
            per(c->flops, lg_profile_moved(c)));
    else if (c->flops)
        add(f, "arithmetic", "%s floating-point operations%s", flops, some);
}

static void add_counts(const struct simt_counts *c, struct facts *f)
{
    char a[24], b[32], d[24];
    put_count(a, sizeof a, c->instructions);
    put_count(b, sizeof b, c->branches);
    put_count(d, sizeof d, c->divergent);
    if (c->branches)
        add(f, "instructions", "%s run by warps, by %.1f of 32 lanes on average; %s of %s branch%s diverged", a,
            per(c->lanes, c->instructions), d, b, c->branches == 1 ? "" : "es");
    else
        add(f, "instructions", "%s run by warps, by %.1f of 32 lanes on average; no branches", a,
            per(c->lanes, c->instructions));
    add_arithmetic(c, f);
    add_traffic(f, "global loads", &c->load);
    add_traffic(f, "global stores", &c->store);
    struct simt_banks shared = all_banks(c);
    put_count(a, sizeof a, shared.requests);
    put_count(b, sizeof b, shared.turns - shared.ideal);
    if (shared.requests)
        add(f, "shared memory", "%s request%s, %s extra turns by bank conflicts", a, plural(shared.requests), b);
    put_count(a, sizeof a, c->atomics);
    if (c->atomics)
        add(f, "atomics", "%s request%s of %.1f lanes, of which %.1f meet at one address", a, plural(c->atomics),
            per(c->atomic_lanes, c->atomics), per(c->atomic_turns, c->atomics));
    put_count(a, sizeof a, c->local_requests);
    if (c->local_requests)
        add(f, "local memory", "%s request%s for %s", a, plural(c->local_requests),
            rt_size_text((double)c->local_bytes, b));
}

size_t lg_profile_facts(const struct lg_profile *p, struct lg_profile_fact out[LG_PROFILE_FACTS])
{
    struct facts f = {.list = out, .room = LG_PROFILE_FACTS};
    char grid[64], block[64];
    add(&f, "launch", "grid %s, block %s", sizes(p->launch.grid, grid, sizeof grid),
        sizes(p->launch.block, block, sizeof block));
    add_occupancy(p, &f);
    if (p->result.counts) {
        add_counts(&p->result.counts->total, &f);
    } else {
        char bytes[32];
        add(&f, "time", "%.4g ms", p->result.milliseconds);
        if (p->result.milliseconds > 0 && p->result.array_bytes)
            add(&f, "bandwidth", "%.4g GB/s if each array is moved once (%s)",
                (double)p->result.array_bytes / p->result.milliseconds / 1e6,
                rt_size_text((double)p->result.array_bytes, bytes));
        add(&f, "lines", "a GPU does not count by line; arrays on simt are profiled line by line");
    }
    return f.count;
}

/* ---- notes: what stands out, and what helps ---- */
/* Lines that few of the warp's lanes run, beside the most that run any, `widest`. */
static void note_lanes(const char *label, const struct simt_counts *c, const struct simt_counts *all, double widest,
                       struct facts *f)
{
    const double lanes = per(c->lanes, c->instructions);
    if (c->divergent * 4 >= c->branches && c->divergent > 0 && c->instructions * 50 >= all->instructions)
        add(f, label, "%.0f%% of the branches diverge: the warp runs both ways, one after the other",
            100 * per(c->divergent, c->branches));
    else if (lanes <= 0.65 * widest && c->instructions * 10 >= all->instructions)
        add(f, label,
            "%.1f of 32 lanes run it, while the others wait: let the threads of a warp go the same way and as often "
            "round a loop",
            lanes);
}

static void note_line(const struct lg_profile_row *row, const struct simt_counts *all, double widest, struct facts *f)
{
    const struct simt_counts *c = row->counts;
    char label[24];
    snprintf(label, sizeof label, "line %d", row->line);
    const struct simt_traffic *kinds[] = {&c->load, &c->store};
    const uint64_t sums[] = {all->load.sectors, all->store.sectors};
    for (int i = 0; i < 2; i++)
        if (kinds[i]->sectors >= 2 * kinds[i]->ideal && kinds[i]->sectors * 10 >= sums[i] && kinds[i]->requests)
            add(f, label,
                "a %s touches %.1f sectors where %.1f would do: let neighbouring threads use neighbouring elements",
                i ? "store" : "load", per(kinds[i]->sectors, kinds[i]->requests),
                per(kinds[i]->ideal, kinds[i]->requests));
    if (conflicts(c) >= 1)
        add(f, label,
            "shared memory takes %.1f turns, not %.1f: lanes want different words of one bank; pad the rows by one",
            per(all_banks(c).turns, all_banks(c).requests), per(all_banks(c).ideal, all_banks(c).requests));
    if (c->double_flops && c->widened && c->narrowed)
        add(f, label,
            "floats become doubles and back, with which GPUs are far slower: 0.1 is a double, 0.1f a float, as powf(x, y) is");
    if (c->atomics && c->atomic_turns >= 4 * c->atomics)
        add(f, label, "%.1f lanes of an atomic meet at one address and take turns: combine in the warp or block first",
            per(c->atomic_turns, c->atomics));
    if (c->local_requests * 10 >= all->local_requests && c->local_requests > 0)
        add(f, label,
            "local memory holds what has no register: an array that is indexed by what only the launch knows, or "
            "more than there are registers for");
    note_lanes(label, c, all, widest, f);
}

size_t lg_profile_notes(const struct lg_profile *p, struct lg_profile_fact out[LG_PROFILE_NOTES])
{
    struct facts f = {.list = out, .room = LG_PROFILE_NOTES};
    double widest = 0;
    for (size_t k = 0; k < p->row_count; k++) {
        const struct simt_counts *c = p->rows[k].counts;
        if (c && per(c->lanes, c->instructions) > widest) widest = per(c->lanes, c->instructions);
    }
    for (size_t k = 0; k < p->row_count; k++)
        if (p->rows[k].counts && !p->rows[k].file) note_line(&p->rows[k], &p->result.counts->total, widest, &f);
    return f.count;
}

/* ---- the text ---- */
/* A source line with tabs as blanks, cut where it gets long. */
static void add_source(luaL_Buffer *b, const struct lg_profile_row *row, int room)
{
    int characters = 0, column = 0;
    for (size_t i = 0; i < row->length; i++) characters += (row->source[i] & 0xC0) != 0x80;
    for (size_t i = 0; i < row->length; i++) {
        unsigned char c = (unsigned char)row->source[i];
        if ((c & 0xC0) != 0x80 && ++column > room - 4 && characters > room) {
            luaL_addstring(b, " ...");
            return;
        }
        luaL_addchar(b, c < 32 || c == 127 ? ' ' : (char)c);
    }
}

/* Figures and rows as wide as the terminal. */
static int figures_width(const struct lg_profile *p)
{
    int width = 9; /* mark, line, bar */
    for (int k = 0; k < LG_COLUMN_COUNT; k++)
        if (lg_profile_has(p, (enum lg_profile_column)k))
            width += lg_profile_headings[k].width + 1 + lg_profile_headings[k].marks;
    return width;
}

static void add_place(luaL_Buffer *b, const struct lg_profile_row *row, int room)
{
    if (!row->line)
        luaL_addstring(b, row->counts ? "    ? | (no line)" : "  ... |");
    else if (row->file)
        lg_add_format(b, " %4d | (%s) ", row->line, row->file);
    else
        lg_add_format(b, " %4d | ", row->line);
    if (row->source) add_source(b, row, room);
}

static void add_row(luaL_Buffer *b, const struct lg_profile *p, const struct lg_profile_row *row, int columns)
{
    luaL_addchar(b, '\n');
    luaL_addchar(b, row->counts && is_hot(p, row->counts) ? '>' : ' ');
    for (int k = 0; k < LG_COLUMN_COUNT; k++) {
        char text[32] = "";
        if (!lg_profile_has(p, (enum lg_profile_column)k)) continue;
        bool bad = row->counts && lg_profile_cell(p, row->counts, (enum lg_profile_column)k, text);
        lg_add_format(b, " %*s", lg_profile_headings[k].width, text);
        if (lg_profile_headings[k].marks) luaL_addchar(b, bad ? '!' : ' ');
    }
    add_place(b, row, columns - figures_width(p));
}

/* The line of source, and its figures below it: "30 instr., 50 %, 8.0! sectors". */
static void add_narrow_row(luaL_Buffer *b, const struct lg_profile *p, const struct lg_profile_row *row, int columns)
{
    char figures[320] = "";
    size_t n = 0;
    luaL_addchar(b, '\n');
    luaL_addchar(b, row->counts && is_hot(p, row->counts) ? '>' : ' ');
    add_place(b, row, columns - 9);
    for (int k = 0; row->counts && k < LG_COLUMN_COUNT; k++) {
        char text[32] = "";
        bool bad = lg_profile_cell(p, row->counts, (enum lg_profile_column)k, text);
        if (!*text || !lg_profile_has(p, (enum lg_profile_column)k) || n >= sizeof figures) continue;
        n += (size_t)snprintf(figures + n, sizeof figures - n, "%s%s%s %s", n ? ", " : "", text, bad ? "!" : "",
                              lg_profile_headings[k].title);
    }
    if (!*figures) return;
    luaL_addstring(b, "\n        ");
    lg_add_folded(b, figures, strlen(figures), 8, 8, columns);
}

static void add_heading(luaL_Buffer *b, const struct lg_profile *p)
{
    luaL_addstring(b, "\n\n ");
    for (int k = 0; k < LG_COLUMN_COUNT; k++)
        if (lg_profile_has(p, (enum lg_profile_column)k))
            lg_add_format(b, " %*s%s", lg_profile_headings[k].width, lg_profile_headings[k].title,
                          lg_profile_headings[k].marks ? " " : "");
    luaL_addstring(b, " line | source");
}

void lg_push_profile_text(lua_State *L, const struct lg_profile *p)
{
    struct lg_profile_fact facts[LG_PROFILE_FACTS], notes[LG_PROFILE_NOTES];
    luaL_Buffer b;
    size_t n = lg_profile_facts(p, facts);
    int shown = lg_columns(L), columns = shown && shown < LG_WIDE ? shown : LG_WIDE,
        hang = columns < 3 * FACT_COLUMN ? 4 : FACT_COLUMN;
    bool narrow = p->result.counts && columns - figures_width(p) < LEAST_SOURCE;
    luaL_buffinit(L, &b);
    lg_add_format(&b, "profile of %.300s", p->kernel->entry->name);
    for (size_t k = 0; k < n; k++) {
        lg_add_format(&b, "\n  %-14s ", facts[k].label);
        lg_add_folded(&b, facts[k].text, strlen(facts[k].text), FACT_COLUMN, hang, shown);
    }
    if (p->result.counts) {
        if (narrow)
            luaL_addstring(&b, "\n\n  line | source, and what it cost");
        else
            add_heading(&b, p);
        for (size_t k = 0; k < p->row_count; k++) (narrow ? add_narrow_row : add_row)(&b, p, &p->rows[k], columns);
        n = lg_profile_notes(p, notes);
        if (n) luaL_addchar(&b, '\n');
        for (size_t k = 0; k < n; k++) {
            lg_add_format(&b, "\n%s: ", notes[k].label);
            lg_add_folded(&b, notes[k].text, strlen(notes[k].text), (int)strlen(notes[k].label) + 2, 2, shown);
        }
    }
    luaL_pushresult(&b);
}
