/* Which of a plan's operations are computed by machine code: groups whose values nobody else wants. The code of a group
 * depends on its operations alone, and is kept for all plans to come. */
#include "kernels/code.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "kernels/host.h"
#include "runtime/host.h"
#include "runtime/memory.h"

#define MOST_CHAINS 4096 /* that are kept; each has a page of memory */
#define BUCKETS     1024
#define LEAST_NODES 6     /* of groups whose code is tried for */
#define LEAST_WORK  32768 /* results of operations from which on it pays to look for code */

_Static_assert(KN_OP_COUNT < KN_CHAIN_NUMBER && KN_CODE_NODES <= KN_CHAIN_INPUT, "an item's bytes hold them");

/* ---- the code of chains ---- */

struct kept {
    struct kept *next;
    struct kn_chain chain;
    kn_code_loop *run; /* NULL where there is none, which is not tried again */
};
static struct kept *buckets[BUCKETS];
static size_t chains;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int forced = -1;

size_t kn_force_code(int on)
{
    atomic_store(&forced, on);
    pthread_mutex_lock(&lock);
    const size_t n = chains;
    pthread_mutex_unlock(&lock);
    return n;
}

_Static_assert(sizeof(struct kn_chain) % sizeof(uint32_t) == 0, "it is hashed by words");
static size_t bucket_of(const struct kn_chain *c)
{
    const unsigned char *bytes = (const unsigned char *)c;
    uint64_t h = 0;
    for (size_t k = 0; k < sizeof *c; k += 4) {
        uint32_t word;
        memcpy(&word, bytes + k, 4);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
    }
    return h >> 32 & (BUCKETS - 1);
}

static kn_code_loop *code_of(const struct kn_chain *c)
{
    size_t size;
    const int bits = rt_host_level() == RT_V4 ? 512 : 256;
    struct kept **bucket = &buckets[bucket_of(c)], *k;
    pthread_mutex_lock(&lock);
    for (k = *bucket; k && memcmp(&k->chain, c, sizeof *c) != 0;) k = k->next;
    if (!k && chains < MOST_CHAINS && (k = rt_alloc(sizeof *k))) {
        *k = (struct kept){*bucket, *c, kn_chain_compile(c, bits, &size)};
        *bucket = k;
        chains++;
    }
    kn_code_loop *run = k ? k->run : NULL;
    pthread_mutex_unlock(&lock);
    return run;
}

/* ---- groups ---- */

#define NOBODY  (-1)
#define SEVERAL (-2) /* or somebody who is in no group */

struct search {
    const struct kn_plan *plan;
    const struct kn_program *program;
    short owner[KN_MAX_NODES]; /* the root of the group that alone wants a node; of a member its own */
    bool member[KN_MAX_NODES];
    int8_t type[KN_MAX_NODES]; /* of roots: enum rt_dtype of the group's numbers; -1: not known */
    short size[KN_MAX_NODES];  /* of roots */
};

/* How integers of a dtype lie in the plan's blocks; 0: not as code takes them. */
static int integers(const struct kn_plan *plan, enum rt_dtype t)
{
    static const uint8_t kinds[RT_DTYPE_COUNT] = {[RT_INT8] = KN_CHAIN_INT8,
                                                  [RT_UINT8] = KN_CHAIN_UINT8,
                                                  [RT_INT16] = KN_CHAIN_INT16,
                                                  [RT_UINT16] = KN_CHAIN_UINT16,
                                                  [RT_INT32] = KN_CHAIN_INT32};
    return kinds[t] && !kn_plan_as_stored(plan, t) ? kinds[kn_classes[kn_class_of(t)].dtype] : kinds[t];
}

/* Numbers of a dtype can be in a group: floats, and integers where they lie in blocks as in memory. */
static bool is_number(const struct kn_plan *plan, enum rt_dtype t)
{
    if (t == RT_FLOAT32 || t == RT_FLOAT64) return true;
    return (t == RT_UINT32 || integers(plan, t)) && kn_plan_as_stored(plan, t);
}

/* A conversion of truths, or to float32 of integers that it holds. */
static bool makes_numbers(const struct kn_plan *plan, const struct kn_node *n)
{
    if (n->kind != KN_NODE_CONVERT || !is_number(plan, n->dtype)) return false;
    const enum rt_dtype from = plan->program->nodes[n->args[0]].dtype;
    return from == RT_BOOL || (n->dtype == RT_FLOAT32 && integers(plan, from));
}

/* The operation as chains have it. */
static enum kn_op op_of(const struct kn_node *n)
{
    if (n->dtype != RT_BOOL) return n->op;
    switch (n->op) {
    case KN_BITWISE_AND: return KN_LOGICAL_AND;
    case KN_BITWISE_OR: return KN_LOGICAL_OR;
    case KN_BITWISE_XOR: return KN_LOGICAL_XOR;
    case KN_BITWISE_NOT: return KN_LOGICAL_NOT;
    default: return n->op;
    }
}

/* Whether the node can be in a group, and of which numbers: *type is -1 where it says nothing of them. */
static bool is_able(const struct kn_plan *plan, const struct kn_node *n, int *type)
{
    const struct kn_program *p = plan->program;
    *type = (int)n->dtype;
    if (makes_numbers(plan, n)) return true;
    if (n->kind != KN_NODE_OP) return false;
    const enum rt_dtype first = p->nodes[n->args[0]].dtype, t = n->dtype == RT_BOOL ? first : n->dtype;
    if (t != RT_BOOL && !is_number(plan, t)) return false;
    *type = t == RT_BOOL ? -1 : (int)t;
    switch (kn_chain_kind(op_of(n), t)) {
    case KN_CHAIN_NUMBERS: return t != RT_BOOL && first == n->dtype;
    case KN_CHAIN_CHOOSES: return t != RT_BOOL && first == RT_BOOL;
    case KN_CHAIN_COMPARES: return t != RT_BOOL;
    case KN_CHAIN_LOGIC: return n->dtype == RT_BOOL && first == RT_BOOL;
    default: return false;
    }
}

static void want(struct search *s, const struct kn_node *n, short by)
{
    for (int k = 0; k < kn_node_arity(n); k++) {
        short *owner = &s->owner[n->args[k]];
        *owner = *owner == NOBODY || *owner == by ? by : SEVERAL;
    }
}

/* From the result to the leaves: each node joins the group that alone wants it and has fewer than `most`, or begins
 * one. */
static void find(struct search *s, int most)
{
    const struct kn_program *p = s->program;
    for (int i = 0; i < p->count; i++) s->owner[i] = NOBODY;
    s->owner[p->count - 1] = SEVERAL;
    for (int i = p->count; i-- > 0;) {
        const struct kn_node *n = &p->nodes[i];
        int type;
        s->member[i] = false;
        if (s->owner[i] == NOBODY) continue;
        if (kn_node_answer(p, n) >= 0) continue;
        if (!is_able(s->plan, n, &type)) {
            want(s, n, SEVERAL);
            continue;
        }
        const short root = s->owner[i];
        if (root < 0 || (type >= 0 && s->type[root] >= 0 && s->type[root] != type) || s->size[root] >= most) {
            s->owner[i] = (short)i;
            s->type[i] = (int8_t)type;
            s->size[i] = 0;
        } else if (type >= 0) {
            s->type[root] = (int8_t)type;
        }
        s->member[i] = true;
        s->size[s->owner[i]]++;
        want(s, n, s->owner[i]);
    }
}

/* The place of an operand from outside among the group's inputs, equal numbers at one; -1: there is no room. */
static int input_of(const struct kn_plan *plan, int node, struct kn_group *g, struct kn_chain *c)
{
    const struct kn_node *nodes = plan->program->nodes, *n = &nodes[node];
    const bool same = n->dtype == (enum rt_dtype)c->type && kn_plan_is_fixed(plan, n);
    const bool number = same && n->kind == KN_NODE_NUMBER;
    char bytes[sizeof *g->number] = {0};
    if (number) kn_fill_stored(bytes, n->dtype, &n->number, 1);
    for (int k = 0; k < g->inputs; k++) {
        const bool other = number && (g->same >> k & 1) && nodes[g->input[k]].kind == KN_NODE_NUMBER;
        if (g->input[k] == node || (other && memcmp(bytes, g->number[k], sizeof bytes) == 0)) return k;
    }
    if (g->inputs == KN_CODE_INPUTS) return -1;
    c->input[g->inputs] = (uint8_t)(n->dtype == RT_BOOL                  ? KN_CHAIN_TRUTHS
                                    : same                               ? KN_CHAIN_SAME
                                    : n->dtype == (enum rt_dtype)c->type ? KN_CHAIN_STREAM
                                                                         : integers(plan, n->dtype));
    g->same |= (uint32_t)same << g->inputs;
    memcpy(g->number[g->inputs], bytes, sizeof bytes);
    g->input[g->inputs] = (short)node;
    return g->inputs++;
}

static bool describe(const struct search *s, int root, struct kn_group *g, struct kn_chain *c)
{
    uint8_t place[KN_MAX_NODES];
    memset(c, 0, sizeof *c);
    g->inputs = 0;
    g->same = 0;
    c->type = (uint8_t)s->type[root];
    for (int i = 0; i <= root; i++) {
        const struct kn_node *n = &s->program->nodes[i];
        if (!s->member[i] || s->owner[i] != root) continue;
        struct kn_chain_item *item = &c->item[c->count];
        item->op = n->kind == KN_NODE_OP ? (uint8_t)op_of(n) : KN_CHAIN_NUMBER;
        for (int k = 0; k < kn_node_arity(n); k++) {
            const int arg = n->args[k];
            if (s->member[arg] && s->owner[arg] == root) {
                item->arg[k] = place[arg];
                continue;
            }
            const int input = input_of(s->plan, arg, g, c);
            if (input < 0) return false;
            item->arg[k] = (uint8_t)(KN_CHAIN_INPUT + input);
        }
        place[i] = c->count++;
    }
    c->inputs = g->inputs;
    return true;
}

/* False when some group had no code, which smaller ones may have. */
static bool take_groups(struct kn_plan *plan, const struct search *s)
{
    bool all = true;
    plan->group_count = 0;
    for (int i = s->program->count; i-- > 0 && plan->group_count < KN_CODE_GROUPS;) {
        struct kn_group *g = &plan->groups[plan->group_count];
        struct kn_chain c;
        if (!s->member[i] || s->owner[i] != i || s->size[i] < 2 || s->type[i] < 0) continue;
        g->root = (short)i;
        if (describe(s, i, g, &c) && (g->run = code_of(&c)))
            plan->group_count++;
        else
            all = false;
    }
    return all;
}

void kn_plan_find_groups(struct kn_plan *plan, int64_t times)
{
    const int on = atomic_load(&forced);
    const struct kn_program *p = plan->program;
    plan->group_count = 0;
    if (on == 0 || p->count < 3 || rt_host_level() < RT_V3) return;
    if (on < 0 && plan->space.size * times * (p->count - p->leaves) < LEAST_WORK) return;
    struct search s;
    s.plan = plan;
    s.program = p;
    for (int most = KN_CODE_NODES; most >= LEAST_NODES; most /= 2) {
        find(&s, most);
        if (take_groups(plan, &s)) return;
    }
}
