/* Reductions that ask what is true, on the host threads: any, all, counts, the extremes of bools and their places. And
 * sums of integers as they lie in memory, which are as counts are. */
#include "kernels/reduce_host.h"
#include <string.h>

kn_count_true_loop *kn_reduce_count_loop(const struct kn_reduce_pass *p)
{
    const struct kn_program *g = &p->r->program;
    bool asks = p->r->combine == KN_LOGICAL_OR || p->r->combine == KN_LOGICAL_AND;
    int converts = 0;
    if (g->leaves != 1 || !p->plan->linear[0] || g->nodes[0].kind != KN_NODE_ARRAY) return NULL;
    for (int i = 1; i < g->count; i++) converts += g->nodes[i].kind == KN_NODE_CONVERT && g->nodes[i].args[0] == i - 1;
    if (converts != g->count - 1) return NULL;
    bool sums = p->r->combine == KN_ADD && strchr("iu", rt_dtypes[p->r->accumulate].kind) && g->count <= 2;
    if (sums && p->plan->loops->narrow->sum[kn_reduce_leaf_dtype(p)]) /* which is no wider than what is accumulated */
        return p->plan->loops->narrow->sum[kn_reduce_leaf_dtype(p)];
    if (!asks) { /* numbers of bools */
        bool bools = g->nodes[0].dtype == RT_BOOL || (g->count > 1 && g->nodes[1].dtype == RT_BOOL);
        asks = bools && ((p->r->combine == KN_ADD && p->class == KN_I64) || p->r->indices);
    }
    return asks ? p->plan->loops->narrow->count_true[kn_reduce_leaf_dtype(p)] : NULL;
}

bool kn_reduce_asks_for_all(const struct kn_reduce_pass *p)
{
    return p->r->combine == KN_LOGICAL_AND || p->r->combine == KN_MINIMUM;
}

bool kn_reduce_is_decided(const struct kn_reduce_pass *p, size_t item)
{
    size_t decided = __atomic_load_n(&p->decided, __ATOMIC_RELAXED);
    return decided && decided <= item;
}

static bool decide(struct kn_reduce_pass *p, size_t item)
{
    if (p->r->count == 1) __atomic_store_n(&p->decided, item + 1, __ATOMIC_RELAXED);
    return !kn_reduce_asks_for_all(p);
}

/* Whether elements of an item in memory are all true or, of what asks for any, whether there is one. Elements that come
 * after those that decide are not looked at: few at first, since where some decide, these often do. */
#define AT_FIRST 256
#define AT_ONCE  4096
static bool ask(struct kn_reduce_pass *p, size_t item)
{
    bool all = kn_reduce_asks_for_all(p);
    size_t length, size = rt_dtypes[kn_reduce_leaf_dtype(p)].size;
    const char *at = kn_reduce_stored_chunk(p, item, &length);
    if (kn_reduce_is_decided(p, item)) return all;
    for (size_t i = 0, n, most = AT_FIRST; i < length; i += n, most = most < AT_ONCE ? 2 * most : AT_ONCE) {
        n = length - i < most ? length - i : most;
        size_t count = p->count(at + i * size, n);
        if (all ? count != n : count != 0) return decide(p, item);
    }
    return all;
}

size_t kn_first_bool(const char *bools, bool wanted, size_t n)
{
    size_t i = 0;
    const char *at = wanted ? NULL : memchr(bools, 0, n);
    if (!wanted) return at ? (size_t)(at - bools) : n;
    for (uint64_t eight; n - i >= sizeof eight; i += sizeof eight) {
        memcpy(&eight, bools + i, sizeof eight);
        if (eight) break;
    }
    while (i < n && !bools[i]) i++;
    return i;
}

bool kn_reduce_ask_blocks(struct kn_reduce_pass *p, struct kn_walk *w, size_t item)
{
    bool all = kn_reduce_asks_for_all(p);
    for (size_t n; (n = kn_walk_next(w)) > 0; kn_walk_advance(w, n))
        if (kn_first_bool(kn_walk_evaluate(w, n, NULL), !all, n) < n) return decide(p, item);
    return all;
}

int64_t kn_reduce_first_bool(const struct kn_reduce_pass *p, size_t item)
{
    size_t length;
    const char *at = kn_reduce_stored_chunk(p, item, &length);
    size_t i = kn_first_bool(at, !kn_reduce_asks_for_all(p), length);
    return i < length ? (int64_t)i : 0;
}

void kn_reduce_count_item(struct kn_reduce_pass *p, size_t item)
{
    char *to = p->partial + item * p->value;
    if (p->r->combine == KN_ADD) {
        size_t length;
        const char *at = kn_reduce_stored_chunk(p, item, &length);
        int64_t count = (int64_t)p->count(at, length);
        kn_host_loops()->convert[KN_I64][p->r->accumulate](to, &count, 1);
    } else if (p->class == KN_B) {
        *(uint8_t *)to = ask(p, item);
    } else {
        int32_t found = ask(p, item);
        memcpy(to, &found, sizeof found);
    }
}
