/* What a report says of a race, and what to do about it. */
#include <stdio.h>
#include <string.h>
#include "runtime/module.h"
#include "runtime/report_inside.h"
#include "runtime/spelling.h"

/* A walk through C code, word by word and sign by sign, without comments and literals. */
struct walk {
    const char *at, *line_start;
    int line;
    size_t bytes; /* of the word or sign at `at` */
};

static bool walk_on(struct walk *w)
{
    const char *end = w->at + w->bytes;
    for (;;) {
        for (; w->at < end; w->at++)
            if (*w->at == '\n') w->line++, w->line_start = w->at + 1;
        size_t passed = rt_comment_or_literal(end);
        if (!passed) passed = strspn(end, " \t\r\n");
        if (!passed) break;
        end += passed;
    }
    for (w->bytes = 0; rt_in_name(w->at[w->bytes]);) w->bytes++;
    if (!w->bytes) w->bytes = *w->at != '\0';
    return w->bytes > 0;
}

static bool walk_is(const struct walk *w, const char *word)
{
    return strlen(word) == w->bytes && !memcmp(w->at, word, w->bytes);
}

/* Follows the outermost loop in braces that begins up to line `last`: *loop is the depth of its braces, 0 outside. */
struct nesting {
    int depth, loop, parens;
    bool heading; /* behind "for", "while" or "do": the next brace outside of parentheses is the loop's */
};

static void nest(struct nesting *n, const struct walk *w, int last)
{
    bool head = walk_is(w, "for") || walk_is(w, "while") || walk_is(w, "do");
    n->parens += walk_is(w, "(") - walk_is(w, ")");
    if (walk_is(w, "{")) {
        n->depth++;
        if (n->heading && !n->parens && !n->loop && w->line <= last) n->loop = n->depth;
    } else if (walk_is(w, "}")) {
        if (n->loop == n->depth) n->loop = 0;
        n->depth--;
    }
    if (head)
        n->heading = true;
    else if (!n->parens && !walk_is(w, ")"))
        n->heading = false;
}

/* Whether a barrier of the block stands between the two in the kernel's source, in a loop around both, so that it
 * orders them but for the loop's next pass. One behind an `if` in its line doesn't count. */
static bool barrier_between(const struct rt_scene *x, const struct rt_party *a, const struct rt_party *b)
{
    const struct rt_program *p = x->program;
    if (!p || strcmp(a->file, p->name) != 0 || strcmp(b->file, p->name) != 0) return false;
    const struct rt_party *low = a->line < b->line ? a : b, *high = low == a ? b : a;
    struct walk w = {p->text, p->text, p->first_line, 0};
    struct nesting n = {0};
    bool barrier = false;
    int condition = -1; /* the line of the last `if` */
    while (walk_on(&w) && w.line <= high->line) {
        int column = (int)(w.at - w.line_start) + 1;
        if (w.line == high->line && column >= high->column) break;
        nest(&n, &w, low->line);
        if (walk_is(&w, "if")) condition = w.line;
        bool behind = w.line > low->line || (w.line == low->line && low->column && column > low->column);
        barrier |= behind && w.line != condition && w.bytes >= 13 && !memcmp(w.at, "__syncthreads", 13);
    }
    return n.loop && barrier;
}

/* A plain read of what an atomic function updates. */
static bool reads_updated(const struct rt_party *read, const struct rt_party *update)
{
    return !strcmp(read->access, "read") && !strcmp(update->access, "atomic");
}

/* One above the update or in its line: mostly it decides whether to. */
static bool is_guess(const struct rt_party *read, const struct rt_party *update)
{
    return reads_updated(read, update) && !strcmp(read->file, update->file) && read->line <= update->line;
}

/* Written by cuda::memcpy_async or that of cooperative groups: by plain stores, or by copies beside the threads. */
static bool is_copy(const struct rt_party *p)
{
    const char *call = strstr(p->source, "memcpy_async(");
    return call && (call == p->source || !rt_in_name(call[-1])) && !strcmp(p->access, "write");
}

static const char copy_hint[] =
    "memcpy_async is over behind a wait (arrive_and_wait(), consumer_wait(), cooperative_groups::wait(); with "
    "__syncthreads() where each thread waits for its own copy), and may copy there again behind all readers "
    "(consumer_release())";

/* What to do about a race; `where` says where a barrier would stand. */
static void advise_race(const struct simt_report *r, struct rt_report *out, bool one_line, const char *where)
{
    const char *barrier = r->across_warps ? "__syncthreads()" : "__syncwarp()";
    bool one_place = one_line && out->first.column && out->first.column == out->other.column;
    bool guess = is_guess(&out->first, &out->other) || is_guess(&out->other, &out->first);
    if (one_line && strcmp(out->first.access, out->other.access) == 0)
        snprintf(out->hint, sizeof out->hint, "let one thread write, or use an atomic function such as atomicAdd");
    else if (r->across_blocks && r->fenced_in_block)
        snprintf(out->hint, sizeof out->hint,
                 "a fence of block scope, such as __threadfence_block(), orders for threads of its own block: others "
                 "need __threadfence()");
    else if (!r->across_blocks && (is_copy(&out->first) || is_copy(&out->other)))
        snprintf(out->hint, sizeof out->hint, "%s", copy_hint);
    else if (one_place && !guess) /* x[i]++, x[i] += y */
        snprintf(out->hint, sizeof out->hint,
                 "threads update the same element, and updates get lost: use an atomic function such as atomicAdd%s",
                 r->across_blocks ? "; where a lock guards the update, it needs __threadfence()" : "");
    else if (r->in_cluster)
        snprintf(out->hint, sizeof out->hint,
                 "blocks of a cluster meet at cluster.sync() (barrier.cluster.arrive and .wait), which is missing%s",
                 where);
    else if (r->across_blocks && r->cooperative)
        snprintf(out->hint, sizeof out->hint, "blocks of a cooperative grid meet at grid.sync(), which is missing%s",
                 where);
    else if (r->across_blocks && (reads_updated(&out->first, &out->other) || reads_updated(&out->other, &out->first)))
        snprintf(
            out->hint, sizeof out->hint,
            "blocks are not ordered: read what others update by an atomic function, too, as atomicAdd(p, 0), or in "
            "another launch, when it is complete");
    else if (r->across_blocks)
        snprintf(out->hint, sizeof out->hint,
                 "blocks are not ordered: use atomic functions (with __threadfence() for what goes with them), or two "
                 "launches");
    else if (r->space == PTX_GLOBAL && r->in_grid)
        snprintf(out->hint, sizeof out->hint,
                 "threads of several blocks are ordered by atomic functions or two launches; where only threads of one "
                 "block meet, __syncthreads() is missing%s",
                 where);
    else if (guess)
        snprintf(out->hint, sizeof out->hint,
                 "%s is missing%s; a read that only decides about the update can go: the atomic function returns what "
                 "was there",
                 barrier, where);
    else if (one_line)
        snprintf(out->hint, sizeof out->hint,
                 "%s is missing%s; where threads update the same element, use an atomic function such as atomicAdd",
                 barrier, where);
    else
        snprintf(out->hint, sizeof out->hint, "%s%s is missing%s%s",
                 r->across_warps ? "" : "lanes of a warp are not in step: ", barrier, where,
                 !r->across_warps && r->in_warps ? "; or __syncthreads(), where other warps come there, too" : "");
}

/* Two atomics, of which one is so for its block alone. */
static void describe_scope(struct rt_report *out, const char *what, bool one_line)
{
    const struct rt_party *a = &out->first, *b = &out->other;
    if (one_line && a->access == b->access)
        snprintf(out->message, sizeof out->message, "%s %s by several blocks, though its scope is a block", what,
                 rt_past_verb(a));
    else if (one_line)
        snprintf(out->message, sizeof out->message, "%s %s and %s by several blocks, though the scope is a block", what,
                 rt_past_verb(a), rt_past_verb(b));
    else
        snprintf(out->message, sizeof out->message,
                 "%s %s here and %s in line %d by another block, though the scope of one of them is a block", what,
                 rt_past_verb(a), rt_past_verb(b), b->line);
    snprintf(
        out->hint, sizeof out->hint,
        "atomics of block scope (atomicAdd_block, thread_scope_block, .cta) are atomic among the threads of one block: "
        "use those of the device, such as atomicAdd or thread_scope_device");
}

/* A touch of what something that was begun earlier still reads or writes. */
static void describe_under_way(const struct simt_report *r, struct rt_report *out, const char *what)
{
    static const char *const hints[] = {
        [UNDER_WAY_COPY] = "cp.async is under way until its thread waits: __pipeline_wait_prior() or "
                           "cp.async.wait_group is missing, with __syncthreads() behind it where other threads read",
        [UNDER_WAY_FETCH] =
            "cp.async reads its source until its thread waits: who writes there must come behind "
            "__pipeline_wait_prior() or cp.async.wait_group, with __syncthreads() between where it is another thread",
        [UNDER_WAY_BULK] =
            "cp.async.bulk (st.async, red.async) is under way until the phase of its mbarrier is over: let each thread wait "
            "for it (mbarrier.try_wait), or one, with __syncthreads() behind it; who copies to a "
            "place again must come behind its readers",
        [UNDER_WAY_PRODUCT] =
            "tcgen05.mma reads its factors until the phase of an mbarrier is over at which a tcgen05.commit behind it "
            "arrives: who writes there must have waited for it (mbarrier.try_wait), or come behind __syncthreads() "
            "with one that has",
        [UNDER_WAY_SUMS] =
            "the sums of tcgen05.mma are there when the phase of the mbarrier is over that a tcgen05.commit behind it "
            "arrives at: let each thread wait for it (mbarrier.try_wait), or one, with __syncthreads() behind it",
        [UNDER_WAY_SOURCE] = "cp.async.bulk reads its source until it is waited for: cp.async.bulk.wait_group.read "
                             "in the thread that began it is missing, with __syncthreads() behind it where other "
                             "threads write",
        [UNDER_WAY_LOAD] =
            "cp.async.bulk reads its source until the phase of its mbarrier is over: who writes there "
            "must have waited for it (mbarrier.try_wait), or come behind __syncthreads() with one that has",
        [UNDER_WAY_STORE] = "cp.async.bulk writes to global memory until it is waited for: cp.async.bulk.wait_group "
                            "(without .read) in the thread that began it is missing, with __syncthreads() behind "
                            "it where other threads read"};
    bool product = r->under_way == UNDER_WAY_PRODUCT || r->under_way == UNDER_WAY_SUMS;
    bool reads = r->under_way == UNDER_WAY_SOURCE || r->under_way == UNDER_WAY_LOAD ||
                 r->under_way == UNDER_WAY_FETCH || r->under_way == UNDER_WAY_PRODUCT;
    snprintf(out->message, sizeof out->message, "%s %s in line %d while the %s begun here may still %s it", what,
             rt_past_verb(&out->other), out->other.line, product ? "product" : "copy", reads ? "read" : "write");
    bool copy = r->under_way == UNDER_WAY_COPY && is_copy(&out->first);
    snprintf(out->hint, sizeof out->hint, "%s", copy ? copy_hint : hints[r->under_way]);
}

/* Nothing orders the two. */
static void describe_unordered(struct rt_report *out, const char *what, bool one_line)
{
    const struct rt_party *a = &out->first, *b = &out->other;
    if (one_line && a->access == b->access)
        snprintf(out->message, sizeof out->message, "%s %s by several threads, with nothing that orders them", what,
                 rt_past_verb(a));
    else if (one_line)
        snprintf(out->message, sizeof out->message, "%s %s and %s by different threads, with nothing that orders them",
                 what, rt_past_verb(a), rt_past_verb(b));
    else
        snprintf(out->message, sizeof out->message,
                 "%s %s here and %s in line %d by another thread, with nothing that orders them", what, rt_past_verb(a),
                 rt_past_verb(b), b->line);
}

/* Where a barrier between two lines would stand, as the hint goes on; "" where they have one number in two files. */
static void tell_place(const struct rt_scene *x, const struct rt_party *a, const struct rt_party *b, char *out,
                       size_t size)
{
    int low = a->line < b->line ? a->line : b->line, high = a->line + b->line - low;
    if (barrier_between(x, a, b))
        snprintf(out, size, " behind line %d, before the loop comes to line %d again", high, low);
    else if (low < high)
        snprintf(out, size, " between lines %d and %d", low, high);
    else
        *out = '\0';
}

void rt_describe_race(const struct rt_scene *x, const struct simt_report *r, struct rt_report *out, const char *what)
{
    const struct rt_party *a = &out->first, *b = &out->other;
    bool one_line = a->line == b->line && !strcmp(a->file, b->file);
    char where[80] = " between reading and writing";
    if (r->under_way) {
        describe_under_way(r, out, what);
    } else if (r->of_block) {
        describe_scope(out, what, one_line);
    } else {
        describe_unordered(out, what, one_line);
        if (!one_line) tell_place(x, a, b, where, sizeof where);
        advise_race(r, out, one_line, where);
    }
}
