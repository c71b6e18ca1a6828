/* What the software GPU reports in numbers, put into words: where it was, what happened, what else was there, what to
 * do. */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/excerpt.h"
#include "runtime/memory.h"
#include "runtime/module.h"
#include "runtime/report_inside.h"

/* ---- where ---- */
void rt_copy_line(const char *text, int line, char *out, size_t size, int *indent)
{
    const char *s = text;
    while (--line > 0 && (s = strchr(s, '\n'))) s++;
    *indent = 0;
    out[0] = 0;
    if (!s) return;
    size_t skip = strspn(s, " \t"), n = strcspn(s + skip, "\n");
    while (n > 0 && strchr(" \t\r", s[skip + n - 1])) n--;
    if (n >= size)
        for (n = size - 1; n > 0 && ((unsigned char)s[skip + n] & 0xC0) == 0x80;) n--; /* whole characters */
    memcpy(out, s + skip, n);
    out[n] = 0;
    *indent = (int)skip;
}

static const char *access_name(enum simt_access a)
{
    static const char *const names[] = {[ACCESS_READ] = "read",
                                        [ACCESS_WRITE] = "write",
                                        [ACCESS_ATOMIC] = "atomic",
                                        [ACCESS_FREE] = "free",
                                        [ACCESS_UPDATE] = "read and write"};
    return names[a];
}

static bool is_own(const struct rt_scene *x, const struct simt_party *p)
{
    return x->program && (!p->file || rt_is_source_name(p->file));
}

const char *rt_report_text_of(const struct rt_scene *x, const struct simt_party *p)
{
    return is_own(x, p) ? x->program->text : x->read && p->file ? x->read(x->reader, p->file) : NULL;
}

static void read_party(const struct rt_scene *x, const struct simt_party *p, struct rt_party *out)
{
    const struct rt_program *program = x->program;
    *out = (struct rt_party){.access = access_name(p->access)};
    memcpy(out->thread, p->thread, sizeof out->thread);
    memcpy(out->block, p->block, sizeof out->block);
    if (p->line <= 0) return;
    bool own = is_own(x, p);
    const char *text = rt_report_text_of(x, p);
    int indent;
    snprintf(out->file, sizeof out->file, "%s", own ? program->name : p->file ? p->file : "");
    out->line = p->line + (own ? program->first_line - 1 : 0);
    if (!text) return;
    rt_copy_line(text, p->line, out->source, sizeof out->source, &indent);
    if (p->column > indent && (size_t)(p->column - indent) <= strlen(out->source)) out->column = p->column - indent;
}

/* ---- what ---- */
const char *rt_past_verb(const struct rt_party *p)
{
    if (!p->access) return "";
    if (rt_frees(p)) return "freed";
    if (*p->access == 'r') return strchr(p->access, ' ') ? "read and written" : "read";
    return *p->access == 'w' ? "written" : "updated by an atomic";
}

/* What to do about an index of shared memory, or any that is just one too large or has left its type. */
static void advise_bounds(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out)
{
    const char *launch = x->program ? "k(grid, block, bytes)(...)" : "<<<grid, block, bytes>>>";
    const char *one = "is it < where it says <=, or is a check of the index missing?";
    int64_t threads = (int64_t)x->block[0] * x->block[1] * x->block[2];
    bool shared = r->space == PTX_SHARED, past = out->index >= out->length, just = out->index == out->length;
    char first[128], last[128];
    rt_describe_index(out, 0, first, sizeof first);
    rt_describe_index(out, out->length - 1, last, sizeof last);
    if (shared && out->length == 0)
        snprintf(
            out->hint, sizeof out->hint,
            "the bytes of an extern __shared__ array stand in the launch's configuration, behind grid and block: %s",
            launch);
    else if (shared && r->dynamic && past && out->index < (int64_t)r->bytes)
        snprintf(out->hint, sizeof out->hint,
                 "the launch gives it %llu bytes, by %s: is that a number of elements?%s%s",
                 (unsigned long long)r->bytes, launch, just ? " If not, " : "", just ? one : "");
    else if (shared && r->dynamic && past && out->length == (int64_t)r->bytes) /* bytes, mostly of several arrays */
        snprintf(out->hint, sizeof out->hint,
                 "the launch gives it %llu bytes, by %s: are those enough for all that the kernel keeps there?%s%s",
                 (unsigned long long)r->bytes, launch, just ? " If so, " : "", just ? one : "");
    else if (shared && past && threads > out->length && (int64_t)r->count >= (threads - out->length) / 2)
        snprintf(out->hint, sizeof out->hint,
                 "the block has %lld threads, and %s %lld elements: is it the block that the kernel is written for?",
                 (long long)threads, out->name, (long long)out->length);
    else if (just)
        snprintf(out->hint, sizeof out->hint, "the last element is %s: %s", last, one);
    else if (out->index >> 31 == 1 && out->length >> 31 == 0)
        snprintf(out->hint, sizeof out->hint,
                 "%lld is %lld as an unsigned number, which threadIdx.x is, too: is a check missing that the index is "
                 "not below 0?",
                 (long long)out->index, (long long)out->index - (INT64_C(1) << 32));
    else if (out->index >= INT32_MIN && out->index < INT32_MIN / 64)
        snprintf(out->hint, sizeof out->hint,
                 "an int that grows past 2147483647 goes on from -2147483648: larger indices are long long, as in "
                 "(long long)row * width + column");
    else if (out->index < 0 && out->index >= -out->length)
        snprintf(out->hint, sizeof out->hint,
                 "the first element is %s: is a check missing that the index is not below 0?", first);
}

/* "4 bytes before", "4 bytes past the end of"; what begins inside reaches out. */
static void describe_distance(const struct simt_report *r, char *text, size_t size)
{
    uint64_t end = r->start + r->bytes;
    if (r->address < r->start)
        snprintf(text, size, "%llu bytes before", (unsigned long long)(r->start - r->address));
    else if (r->address < end)
        snprintf(text, size, "reaching %llu bytes past the end of", (unsigned long long)(r->address + r->size - end));
    else
        snprintf(text, size, "%llu bytes past the end of", (unsigned long long)(r->address - end));
}

static void describe_bounds(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out,
                            const char *what)
{
    const char *verb = rt_past_verb(&out->first);
    char *text = out->message, block[100], length[100], distance[100];
    size_t size = sizeof out->message;
    rt_describe_length(out, length, sizeof length);
    describe_distance(r, distance, sizeof distance);
    if (r->in_heap && r->bytes) {
        rt_describe_block(r, out, block, sizeof block);
        snprintf(text, size, "%u bytes %s, %s %s", r->size, verb, distance, block);
        return;
    }
    if (rt_is_null(r) && out->has_index)
        snprintf(text, size, "%s %s, but %s is %s", what, verb, out->name, x->program ? "nil" : "a null pointer");
    else if (rt_is_null(r))
        snprintf(text, size, "%s %s, through a null pointer", what, verb);
    else if (r->in_view)
        snprintf(text, size, "%s %s, %s is a view of %lld element%s", what, verb, out->name, (long long)out->length,
                 out->length == 1 ? "" : "s");
    else if (out->has_index)
        snprintf(text, size, "%s %s, %s has %s", what, verb, out->name, length);
    else if (r->space == PTX_LOCAL)
        snprintf(text, size, "%s %s, beyond the thread's local memory", what, verb);
    else if (r->space == PTX_SHARED)
        snprintf(text, size, "%s %s, beyond the block's shared memory", what, verb);
    else if (r->bytes)
        snprintf(text, size, "%s %s, %s an allocation of %llu", what, verb, distance, (unsigned long long)r->bytes);
    else
        snprintf(text, size, "%s %s, where nothing is allocated", what, verb);
    if (r->space == PTX_LOCAL && !out->has_index && !rt_is_null(r))
        snprintf(out->hint, sizeof out->hint,
                 "an array that the kernel declares, such as float v[4], is indexed beyond its end");
    if (out->has_index && (out->length > 0 || r->space == PTX_SHARED)) advise_bounds(x, r, out);
}

static unsigned linear(const struct rt_scene *x, const unsigned t[3])
{
    const unsigned *b = x->block;
    return t[0] + b[0] * (t[1] + b[1] * t[2]);
}

/* Where the other party is, behind some words; nothing where no line is known, as of code without -lineinfo. */
static const char *other_line(const struct rt_report *out, const char *words, char text[40])
{
    snprintf(text, 40, out->other.line > 0 ? "%s line %d" : "", words, out->other.line);
    return text;
}

static void describe_barrier(const struct simt_report *r, struct rt_report *out)
{
    char line[40];
    const char *others = r->by_way ? "have ended" : r->exited ? "have returned" : "wait at another one";
    snprintf(out->message, sizeof out->message, "threads wait at a barrier here while others of their block %s%s",
             others, other_line(out, r->by_way ? ", by way of" : " in", line));
    snprintf(out->hint, sizeof out->hint,
             "all threads of a block must come to the same __syncthreads(): put it outside of the condition%s",
             r->exited ? ", and let no thread return before it" : "");
}

static void describe_read(const struct simt_report *r, unsigned lane, struct rt_report *out)
{
    unsigned read = r->reads - 1;
    bool named = r->lanes >> read & 1;
    int n = snprintf(out->message, sizeof out->message, "lane %u reads lane %u, which ", lane, read);
    const char *way = !named ? "the mask must name all lanes that take part, and those must come here"
                      : r->exited
                          ? "let no thread return before, and those without work give what changes nothing, such as 0"
                          : "make blocks of whole warps, or give a smaller width";
    if (named)
        snprintf(out->message + n, sizeof out->message - (size_t)n, r->exited ? "has ended" : "has no thread");
    else
        snprintf(out->message + n, sizeof out->message - (size_t)n, "is not in its mask 0x%08x", r->lanes);
    snprintf(out->hint, sizeof out->hint, "what it gets is undefined: %s", way);
}

static void describe_lane(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out)
{
    unsigned lane = linear(x, out->first.thread) % 32;
    if (r->reads) {
        describe_read(r, lane, out);
        return;
    }
    if (r->has_other) {
        char line[40];
        snprintf(out->message, sizeof out->message, "lane %u waits here with the mask 0x%08x for lane %u, which is %s",
                 lane, r->lanes, linear(x, out->other.thread) % 32,
                 *other_line(out, "in", line) ? line : "somewhere else");
        snprintf(out->hint, sizeof out->hint,
                 "all lanes of the mask must execute the same operation: call it outside of the condition, or with a "
                 "mask of the lanes that are there");
        return;
    }
    snprintf(out->message, sizeof out->message, "lane %u executes this with the mask 0x%08x, which lacks it", lane,
             r->lanes);
    snprintf(out->hint, sizeof out->hint, "the mask must name every lane that comes here");
}

static void describe_freed(const struct simt_report *r, struct rt_report *out, const char *what)
{
    const char *verb = rt_past_verb(&out->first);
    char line[40];
    if (r->has_other)
        snprintf(out->message, sizeof out->message, "%s %s after it was freed%s", what, verb,
                 other_line(out, " in", line));
    else if (r->bytes)
        snprintf(out->message, sizeof out->message, "%s %s in memory that was freed (an allocation of %llu bytes)",
                 what, verb, (unsigned long long)r->bytes);
    else
        snprintf(out->message, sizeof out->message, "%s %s in memory that was freed, or that malloc never gave out",
                 what, verb);
}

static void describe_free(const struct simt_report *r, struct rt_report *out)
{
    char block[100], line[40];
    uint64_t into = r->address - r->start;
    rt_describe_block(r, out, block, sizeof block);
    if (r->has_other)
        snprintf(out->message, sizeof out->message, "%s is freed twice%s", block,
                 other_line(out, ", here and in", line));
    else if (r->freed_twice)
        snprintf(out->message, sizeof out->message, "%s was freed before", block);
    else if (r->in_heap && r->bytes && into < r->bytes)
        snprintf(out->message, sizeof out->message, "free of an address %llu bytes behind the start of %s",
                 (unsigned long long)into, block);
    else if (r->in_heap)
        snprintf(out->message, sizeof out->message, "free of 0x%llx, which was freed before, or malloc did not return",
                 (unsigned long long)r->address);
    else if (out->has_index)
        snprintf(out->message, sizeof out->message, "free of the address of %s[%lld], which malloc did not return",
                 out->name, (long long)out->index);
    else
        snprintf(out->message, sizeof out->message, "free of 0x%llx, which malloc did not return",
                 (unsigned long long)r->address);
    snprintf(out->hint, sizeof out->hint, "free what malloc or new returned in a kernel, once");
}

static void describe_absent(const struct simt_report *r, struct rt_report *out, const char *what)
{
    const char *verb = rt_past_verb(&out->first);
    if (r->exited) {
        char line[40];
        snprintf(out->message, sizeof out->message, "%s of another block %s here, which may have ended%s by then", what,
                 verb, other_line(out, " in", line));
        snprintf(
            out->hint, sizeof out->hint,
            "a block's shared memory goes when it ends: cluster.sync() is missing behind the last access of others");
        return;
    }
    snprintf(out->message, sizeof out->message, "%s of another block %s here, which may not have started yet", what,
             verb);
    snprintf(out->hint, sizeof out->hint, "cluster.sync() is missing before the first access to other blocks");
}

static void describe_unwritten(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out,
                               const char *what)
{
    snprintf(out->message, sizeof out->message, "%s read, but never written", what);
    if (r->space == PTX_SHARED)
        snprintf(out->hint, sizeof out->hint,
                 "shared memory begins without values: a thread has to write each element before the barrier in front "
                 "of the read");
    else if (out->has_index && !r->in_heap && x->program)
        snprintf(out->hint, sizeof out->hint, "gpu.empty gives an array without values: gpu.zeros, or %s:fill(0)",
                 out->name);
    else if (out->has_index && !r->in_heap)
        snprintf(out->hint, sizeof out->hint, "cudaMalloc gives memory without values: cudaMemset, or a copy into it");
}

static void describe_report(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out)
{
    char what[160];
    rt_describe_place(r, out, what, sizeof what);
    switch (r->kind) {
    case CHECK_BOUNDS: describe_bounds(x, r, out, what); break;
    case CHECK_ALIGNMENT:
        snprintf(out->message, sizeof out->message, "%u bytes %s at %s, whose address is not a multiple of %u", r->size,
                 rt_past_verb(&out->first), what, r->size);
        break;
    case CHECK_FREED: describe_freed(r, out, what); break;
    case CHECK_FREE: describe_free(r, out); break;
    case CHECK_UNWRITTEN: describe_unwritten(x, r, out, what); break;
    case CHECK_RACE: rt_describe_race(x, r, out, what); break;
    case CHECK_ABSENT: describe_absent(r, out, what); break;
    case CHECK_BARRIER: describe_barrier(r, out); break;
    case CHECK_LANE: describe_lane(x, r, out); break;
    case CHECK_DIVISION: snprintf(out->message, sizeof out->message, "an integer is divided by zero"); break;
    }
}

static void read_report(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out)
{
    *out = (struct rt_report){.kind = simt_check_kind_name(r->kind), .has_other = r->has_other, .count = r->count};
    read_party(x, &r->first, &out->first);
    if (r->has_other) read_party(x, &r->other, &out->other);
    if (r->in_heap) read_party(x, &r->given, &out->given);
    if (r->first.access != ACCESS_NONE)
        out->space = r->space == PTX_SHARED ? "shared" : r->space == PTX_LOCAL ? "local" : "global";
    rt_name_place(x, r, out);
    rt_aim_caret(x->entry->name, r, out->name, &out->first);
    if (r->has_other) rt_aim_caret(x->entry->name, r, out->name, &out->other);
    describe_report(x, r, out);
}

enum rt_status rt_findings_read(const struct rt_scene *x, struct simt_check *c, struct rt_findings *out,
                                struct rt_error *e)
{
    size_t count;
    *out = (struct rt_findings){.faulted = out->faulted, .fault = out->fault};
    const struct simt_report *all = simt_check_reports(c, &count, &out->more);
    if (!count) return RT_OK;
    out->items = rt_calloc(count, sizeof *out->items);
    if (!out->items) return rt_fail(e, RT_NOMEM, "out of memory for what the checks of %s found", x->entry->name);
    for (out->count = 0; out->count < count; out->count++) read_report(x, &all[out->count], &out->items[out->count]);
    return RT_OK;
}

void rt_findings_clear(struct rt_findings *f)
{
    free(f->items);
    *f = (struct rt_findings){0};
}

/* ---- as text ---- */
struct writer {
    char *at;
    size_t left;
    int length;
};

static void add(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(w->at, w->left, format, args);
    va_end(args);
    size_t done = (size_t)n < w->left ? (size_t)n : w->left ? w->left - 1 : 0;
    w->at += done;
    w->left -= done;
    w->length += n;
}

static void add_source(struct writer *w, const struct rt_party *p)
{
    char text[RT_EXCERPT_TEXT];
    if (!*p->source) return;
    rt_write_excerpt(p->line, p->source, strlen(p->source), p->column, 1, text, sizeof text);
    add(w, "\n%s", text);
}

static void add_thread(struct writer *w, const unsigned v[3])
{
    add(w, "(%u, %u, %u)", v[0], v[1], v[2]);
}

int rt_report_text(const struct rt_report *r, const char *kernel, char *buffer, size_t size)
{
    struct writer w = {buffer, size, 0};
    const struct rt_party *a = &r->first, *b = &r->other;
    if (a->line > 0) add(&w, "%s:%d: ", a->file, a->line);
    add(&w, "%s: %s", r->kind, r->message);
    if (r->count > 1) add(&w, " (%llu times)", (unsigned long long)r->count);
    add_source(&w, a);
    if (r->has_other && (b->line != a->line || b->column != a->column)) add_source(&w, b);
    add(&w, "\n  in kernel %s, block ", kernel);
    add_thread(&w, a->block);
    add(&w, ", thread ");
    add_thread(&w, a->thread);
    if (r->has_other && memcmp(a->block, b->block, sizeof a->block) != 0) {
        add(&w, " and block ");
        add_thread(&w, b->block);
        add(&w, ", thread ");
        add_thread(&w, b->thread);
    } else if (r->has_other) {
        add(&w, " and thread ");
        add_thread(&w, b->thread);
    }
    if (*r->hint) add(&w, "\n  hint: %s", r->hint);
    return w.length;
}
