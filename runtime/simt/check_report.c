/* What the checks found, grouped by kind and pair of lines. Of a group the report of the lowest block and thread is
 * kept, so that it does not depend on what ran first. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/check_inside.h"
#include "runtime/simt/heap.h"

const char *simt_check_kind_name(enum simt_check_kind k)
{
    static const char *const names[] = {
#define X(name, text) [name] = text,
        SIMT_CHECK_KINDS(X)
#undef X
    };
    return names[k];
}

/* ---- who ---- */
static void set_place(struct simt_party *p, const struct simt_program *program, uint32_t pc)
{
    const struct place *at = &program->places[pc];
    if (at->file > 0 && (size_t)at->file < program->file_count) p->file = program->files[at->file];
    p->line = p->file ? at->line : 0;
    p->column = p->file ? at->column : 0;
}

struct simt_party simt_party_at(const struct warp *w, uint32_t pc, unsigned lane, enum simt_access access)
{
    struct simt_party p = {.access = access};
    set_place(&p, w->worker->program, pc);
    for (int d = 0; d < 3; d++) {
        p.thread[d] = w->tid[d][lane];
        p.block[d] = w->worker->block[d];
    }
    return p;
}

struct simt_party simt_party_of(struct simt_check *c, const struct block *b, record r)
{
    const struct site *s = &c->sites[record_site(r)];
    const unsigned *size = c->launch->block, *grid = c->launch->grid;
    struct simt_party p = {.access = s->access};
    unsigned t = record_thread(r);
    set_place(&p, c->program, s->pc);
    p.thread[0] = t % size[0];
    p.thread[1] = t / size[0] % size[1];
    p.thread[2] = t / size[0] / size[1];
    if (record_block(r) == record_block(b->id)) {
        memcpy(p.block, b->worker->block, sizeof p.block);
    } else {
        uint64_t n = record_block(r) - 1; /* the first of those that have the number */
        p.block[0] = (unsigned)(n % grid[0]);
        p.block[1] = (unsigned)(n / grid[0] % grid[1]);
        p.block[2] = (unsigned)(n / grid[0] / grid[1]);
    }
    return p;
}

/* ---- what ---- */
static bool name_global(const struct simt_check *c, struct simt_report *r, const struct simt_block *b)
{
    for (uint32_t k = 0; k < c->program->global_count; k++) {
        const struct global *g = &c->program->globals[k];
        if (g->address != b->address) continue;
        r->symbol = g->name;
        r->start = g->address;
        r->bytes = g->bytes;
        return true;
    }
    return false;
}

void simt_check_name_variable(const struct simt_check *c, struct simt_report *r, const struct shared_variable *v)
{
    r->symbol = v->name;
    r->start = v->offset;
    r->bytes = v->bytes ? v->bytes : c->launch->dynamic_shared;
    r->dynamic = !v->bytes;
}

/* The variable that holds the offset, or the last one before it. Dynamic shared memory reaches to the end; when the
 * launch has none, such a variable is meant only if there are no others. */
static void name_shared(const struct simt_check *c, struct simt_report *r, bool empty)
{
    const struct simt_program *p = c->program;
    uint32_t entry = (uint32_t)(c->launch->function->code - p->functions);
    uint64_t address = r->address >> 31 ? 0 : r->address; /* before the start */
    for (uint32_t k = 0; k < p->shared_count; k++) {
        const struct shared_variable *v = &p->shared[k];
        if (v->function >= 0 && (uint32_t)v->function != entry && p->functions[v->function].is_entry) continue;
        if (!empty && !v->bytes && !c->launch->dynamic_shared) continue;
        if (v->offset > address || (r->symbol && v->offset < r->start)) continue;
        simt_check_name_variable(c, r, v);
    }
}

/* In the heap: the block that malloc gave, where there is one. */
static bool name_given(const struct simt_check *c, struct simt_report *r)
{
    struct simt_heap_block h;
    uint32_t pc;
    if (!simt_heap_look(r->address, &h)) return false;
    r->in_heap = true;
    r->start = h.address;
    r->bytes = h.bytes;
    r->freed_twice = h.kept && r->address == h.address;
    if (h.bytes && simt_check_given_at(c, h.mark, &pc)) set_place(&r->given, c->program, pc);
    return true;
}

void simt_check_name(struct simt_check *c, struct simt_report *r)
{
    struct simt_block b;
    if (r->space == PTX_SHARED) {
        name_shared(c, r, false);
        if (!r->symbol) name_shared(c, r, true);
        return;
    }
    if (r->space != PTX_GLOBAL || r->address < SIMT_GLOBAL_BASE || name_given(c, r)) return;
    bool known = r->kind == CHECK_FREED ? simt_find_freed(r->address, &b)
                                        : simt_find(r->address, &b) || simt_nearest(r->address, &b);
    if (!known || name_global(c, r, &b)) return;
    r->start = b.address;
    r->bytes = b.bytes;
}

/* ---- groups ---- */
static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static uint64_t key_of(const struct simt_report *r)
{
    const struct simt_party *p[2] = {&r->first, &r->other};
    uint64_t h = mix(mix(r->kind, r->space), r->reads > 0);
    for (int k = 0; k < 1 + r->has_other; k++)
        h = mix(mix(mix(h, (uint64_t)p[k]->line), (uint64_t)(uintptr_t)p[k]->file), p[k]->access);
    bool before = r->kind == CHECK_BOUNDS && r->address < r->start; /* x[i - 1] + x[i + 1] is wrong at both ends */
    h = mix(mix(h, r->exited), before);
    return mix(h, r->in_heap ? 0 : r->start); /* malloc gives each thread a block of its own */
}

static int compare(const unsigned a[3], const unsigned b[3])
{
    for (int d = 2; d >= 0; d--)
        if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
    return 0;
}

static int compare_parties(const struct simt_party *a, const struct simt_party *b)
{
    int order = compare(a->block, b->block);
    return order ? order : compare(a->thread, b->thread);
}

/* The copy that is under way or the write comes first, and of two the one on the lower line, by the lower thread:
 * whichever ran first. */
static void put_in_order(struct simt_report *r)
{
    struct simt_party *a = &r->first, *b = &r->other;
    if (r->kind != CHECK_RACE && r->kind != CHECK_FREE) return;
    if (r->under_way || (r->kind == CHECK_FREE && !r->has_other)) return;
    int order = (a->access == ACCESS_READ) - (b->access == ACCESS_READ);
    if (!order) order = (a->access == ACCESS_ATOMIC) - (b->access == ACCESS_ATOMIC);
    if (!order) order = a->line - b->line;
    if (!order) order = compare_parties(a, b);
    if (order <= 0) return;
    struct simt_party t = *a;
    *a = *b;
    *b = t;
}

static void note_distance(const struct simt_check *c, struct simt_report *r)
{
    const unsigned *size = c->launch->block;
    uint64_t warp[2];
    if (r->kind != CHECK_RACE) return;
    for (int k = 0; k < 2; k++) {
        const unsigned *t = k ? r->other.thread : r->first.thread;
        warp[k] = (t[0] + size[0] * (t[1] + (uint64_t)size[1] * t[2])) / SIMT_WARP;
    }
    const unsigned *grid = c->launch->grid;
    r->in_grid = grid[0] > 1 || grid[1] > 1 || grid[2] > 1;
    r->cooperative = c->launch->cooperative;
    r->in_warps = (uint64_t)size[0] * size[1] * size[2] > SIMT_WARP;
    r->fenced_in_block = c->reaches > 1;
    r->across_blocks = compare(r->first.block, r->other.block) != 0;
    r->across_warps = r->across_blocks || warp[0] != warp[1];
}

static bool comes_before(const struct simt_report *a, const struct simt_report *b)
{
    int order = compare_parties(&a->first, &b->first);
    if (!order && a->has_other) order = compare_parties(&a->other, &b->other);
    if (order) return order < 0;
    if (a->in_heap && b->in_heap) return a->address - a->start < b->address - b->start;
    return a->address < b->address;
}

static struct simt_report *find_group(struct simt_check *c, uint64_t key)
{
    for (size_t k = 0; k < c->report_count; k++)
        if (c->keys[k] == key) return &c->reports[k];
    return NULL;
}

/* Is there room for one more? */
static bool has_room(struct simt_check *c)
{
    if (c->report_count == MAX_REPORTS) {
        c->more++;
        return false;
    }
    if (!c->reports) c->reports = rt_alloc(MAX_REPORTS * sizeof *c->reports);
    if (!c->keys) c->keys = rt_alloc(MAX_REPORTS * sizeof *c->keys);
    if (c->reports && c->keys) return true;
    atomic_store(&c->no_memory, true);
    return false;
}

/* What gcc has the lanes of a warp do in step, and its runtime with loads that are not atomic in the PTX, is no matter
 * of the program's. */
static bool is_of_openmp(const struct simt_check *c, enum simt_check_kind k)
{
    if (!simt_function_info(c->launch->function)->is_openmp) return false;
    return k == CHECK_RACE || k == CHECK_BARRIER || k == CHECK_LANE;
}

void simt_check_report(struct simt_check *c, const struct simt_report *report)
{
    struct simt_report r = *report;
    if (is_of_openmp(c, r.kind)) return;
    put_in_order(&r);
    note_distance(c, &r);
    r.count = 1;
    uint64_t key = key_of(&r);
    pthread_mutex_lock(&c->lock);
    struct simt_report *group = find_group(c, key);
    if (group) {
        r.count = group->count + 1;
        r.across_warps = group->across_warps |= r.across_warps;
        r.across_blocks = group->across_blocks |= r.across_blocks;
        if (r.under_way < group->under_way) r.under_way = group->under_way;
        group->under_way = r.under_way;
        if (comes_before(&r, group))
            *group = r;
        else
            group->count = r.count;
    } else if (has_room(c)) {
        c->keys[c->report_count] = key;
        c->reports[c->report_count++] = r;
    }
    pthread_mutex_unlock(&c->lock);
}

static int by_line(const void *x, const void *y)
{
    const struct simt_report *a = x, *b = y;
    if (a->first.line != b->first.line) return a->first.line < b->first.line ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->has_other && b->has_other && a->other.line != b->other.line) return a->other.line < b->other.line ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* Of blocks that malloc gave each thread has its own. */
static bool same_start(const struct simt_report *a, const struct simt_report *b)
{
    return a->in_heap || b->in_heap ? a->in_heap == b->in_heap : a->start == b->start;
}

static bool same_line(const struct simt_party *a, const struct simt_party *b)
{
    return a->line == b->line && a->file == b->file;
}

/* What was read before another thread wrote it is a race: whether it had been written yet depends on what ran first;
 * what another block of the cluster does without a barrier before it races, too. */
static bool is_from_race(const struct simt_check *c, const struct simt_report *r)
{
    bool early = r->kind == CHECK_ABSENT && !r->exited; /* the barrier that is missing there is missing for both */
    if (r->kind != CHECK_UNWRITTEN && !early) return false;
    for (size_t k = 0; k < c->report_count; k++) {
        const struct simt_report *o = &c->reports[k];
        if (o->kind == CHECK_RACE && o->space == r->space && same_start(o, r) &&
            (same_line(&o->first, &r->first) || same_line(&o->other, &r->first)))
            return true;
    }
    return false;
}

static bool same_places(const struct simt_report *a, const struct simt_report *b)
{
    return a->kind == b->kind && a->space == b->space && same_start(a, b) && a->first.line == b->first.line &&
           a->first.file == b->first.file && a->other.line == b->other.line && a->other.file == b->other.file;
}

/* Threads that both read and write in the same lines race in two ways: the read tells more, the write goes with it. */
static void join_writes(struct simt_check *c)
{
    for (size_t k = 0; k < c->report_count; k++) {
        struct simt_report *r = &c->reports[k], *with = NULL;
        bool writes = r->kind == CHECK_RACE && r->first.access == ACCESS_WRITE && r->other.access == ACCESS_WRITE;
        for (size_t j = 0; j < c->report_count && writes && !with; j++)
            if (c->reports[j].other.access == ACCESS_READ && same_places(&c->reports[j], r)) with = &c->reports[j];
        if (!with) continue;
        with->count += r->count;
        with->across_warps |= r->across_warps;
        with->across_blocks |= r->across_blocks;
        r->count = 0;
    }
}

/* Is the write the second half of what `x[i] += 1` does, whose first half is the read? */
static bool is_update(const struct simt_report *read, const struct simt_report *write)
{
    return read->first.access == ACCESS_READ && write->first.access == ACCESS_WRITE && same_places(read, write) &&
           read->address == write->address && read->size == write->size && read->count == write->count &&
           !compare_parties(&read->first, &write->first);
}

/* A wrong place is wrong in one way, however it is touched in a line. */
static void join_updates(struct simt_check *c)
{
    for (size_t k = 0; k < c->report_count; k++)
        for (size_t j = 0; j < c->report_count; j++) {
            struct simt_report *read = &c->reports[j], *write = &c->reports[k];
            bool place = write->kind == CHECK_BOUNDS || write->kind == CHECK_ALIGNMENT || write->kind == CHECK_FREED;
            if (!place || !write->count || !is_update(read, write)) continue;
            read->first.access = ACCESS_UPDATE;
            write->count = 0;
        }
}

/* Whether the lines between the parties of two races have any in common. */
static bool lines_meet(const struct simt_report *a, const struct simt_report *b)
{
    const struct simt_party *p[2][2] = {{&a->first, &a->other}, {&b->first, &b->other}};
    int low[2], high[2];
    for (int k = 0; k < 2; k++) {
        if (p[k][0]->file != a->first.file || p[k][1]->file != a->first.file) return false;
        low[k] = p[k][0]->line < p[k][1]->line ? p[k][0]->line : p[k][1]->line;
        high[k] = p[k][0]->line + p[k][1]->line - low[k];
    }
    return low[0] <= high[1] && low[1] <= high[0];
}

/* Where a barrier of the block is missing for one variable, it is for another whose threads happen to be of one warp.
 */
static void share_barriers(struct simt_check *c)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < c->report_count; k++)
            for (size_t j = 0; j < c->report_count; j++) {
                struct simt_report *r = &c->reports[k], *o = &c->reports[j];
                if (r->kind != CHECK_RACE || r->across_warps || o->kind != CHECK_RACE || !o->across_warps) continue;
                if (r->space != o->space || !lines_meet(r, o)) continue;
                r->across_warps = more = true;
            }
    }
}

static void drop_joined(struct simt_check *c)
{
    size_t kept = 0;
    for (size_t k = 0; k < c->report_count; k++)
        if (c->reports[k].count) c->reports[kept++] = c->reports[k];
    c->report_count = kept;
}

const struct simt_report *simt_check_reports(struct simt_check *c, size_t *count, uint64_t *more)
{
    *more = c->more;
    *count = 0;
    if (!c->report_count) return NULL;
    join_writes(c);
    join_updates(c);
    drop_joined(c);
    share_barriers(c);
    qsort(c->reports, c->report_count, sizeof *c->reports, by_line);
    for (size_t k = c->report_count; k-- > 0;)
        if (is_from_race(c, &c->reports[k]))
            memmove(&c->reports[k], &c->reports[k + 1], (--c->report_count - k) * sizeof *c->reports);
    *count = c->report_count;
    return c->reports;
}
