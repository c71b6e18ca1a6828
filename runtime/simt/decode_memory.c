/* Loads, stores, atomics and addresses: which op moves the bytes, and where the address comes from. */
#include <stdio.h>
#include <string.h>
#include "runtime/simt/decode.h"

static uint64_t window_of(enum ptx_space space)
{
    return space == PTX_SHARED  ? SIMT_SHARED_BASE
           : space == PTX_LOCAL ? SIMT_LOCAL_BASE
           : space == PTX_PARAM ? SIMT_PARAM_BASE
                                : 0;
}

static bool read_space(const char *word, enum ptx_space *space)
{
    static const struct {
        const char *name;
        enum ptx_space space;
    } names[] = {
        {"global", PTX_GLOBAL},    {"shared", PTX_SHARED}, {"shared::cta", PTX_SHARED}, {"shared::cluster", PTX_SHARED},
        {"local", PTX_LOCAL},      {"const", PTX_CONST},   {"param", PTX_PARAM},        {"param::entry", PTX_PARAM},
        {"param::func", PTX_PARAM}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!strcmp(names[k].name, word)) {
            *space = names[k].space;
            return true;
        }
    return false;
}

bool simt_decode_cvta(struct decoder *d, const struct shape *s)
{
    enum ptx_space space = PTX_GENERIC;
    bool to = simt_has_word(s, "to");
    for (int k = 0; k < s->word_count; k++) read_space(s->words[k], &space);
    if (space == PTX_GENERIC || s->type_count != 1 || ptx_type_size(s->types[0]) != 8)
        return simt_decode_unsupported(d);
    uint32_t a, base, out;
    if (!simt_want_operands(d, 2, 2) || !simt_source(d, &d->in->operands[1], 'q', PTX_U64, &a) ||
        !simt_constant(d, window_of(space), 'q', &base) || !simt_destination(d, &d->in->operands[0], 'q', &out))
        return false;
    struct insn *i = simt_emit_key(d, !window_of(space) ? "mov.b64" : to ? "sub.u64" : "add.u64");
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->b = base;
    i->d = out;
    return true;
}

/* ---- memory ---- */
#define COMPLETE_BYTES "mbarrier::complete_tx::bytes"
struct access {
    enum ptx_space space;
    enum ptx_type type;
    uint32_t count, flags;
    uint32_t base; /* slot */
    int64_t imm;
    bool entry_param;
};

/* st.async and red.async are done at once, as if nobody had looked before; what they count off at an mbarrier is an
 * instruction of its own. */
static bool is_async(const struct shape *s)
{
    return simt_has_word(s, "async");
}
static bool is_async_word(const char *word)
{
    return !strcmp(word, "async") || !strcmp(word, COMPLETE_BYTES) || !strcmp(word, "mmio");
}
static bool counts_bytes(const struct shape *s)
{
    return is_async(s) && simt_has_word(s, COMPLETE_BYTES);
}

static uint32_t order_of(const char *word)
{
    return (strcmp(word, "acquire") && strcmp(word, "acq_rel") ? 0 : F_ACQUIRE) |
           (strcmp(word, "release") && strcmp(word, "acq_rel") ? 0 : F_RELEASE);
}

/* v2, v4 and v8: so many elements. */
static bool read_count(const char *word, uint32_t *count)
{
    if (word[0] != 'v' || !word[1] || !strchr("248", word[1]) || word[2]) return false;
    *count = (uint32_t)(word[1] - '0');
    return true;
}

static bool read_access(struct decoder *d, const struct shape *s, struct access *x)
{
    static const char *const waiting[] = {"volatile", "relaxed", "acquire", "release", "cv", "mmio"};
    static const char *const scopes[] = {"weak", "cta", "cluster", "gpu", "sys"};
    static const char *const caches[] = {"ca", "cg", "cs", "lu", "wb", "wt", "nc"};
    static const char *const advice[] = {"L1::evict_normal", "L1::evict_unchanged",
                                         "L1::evict_first",  "L1::evict_last",
                                         "L1::no_allocate",  "L2::64B",
                                         "L2::128B",         "L2::256B",
                                         "L2::evict_first",  "L2::evict_last",
                                         "L2::evict_normal", "L2::cache_hint"};
    *x = (struct access){.space = PTX_GENERIC, .count = 1};
    for (int k = 0; k < s->word_count; k++) {
        const char *w = s->words[k];
        if (ONE_OF(w, waiting))
            x->flags |= F_SPIN | order_of(w);
        else if (!read_space(w, &x->space) && !read_count(w, &x->count) && !(is_async(s) && is_async_word(w)) &&
                 !ONE_OF(w, scopes) && !ONE_OF(w, caches) && !ONE_OF(w, advice))
            return simt_decode_unsupported(d);
    }
    if (s->type_count != 1 || s->flags || s->types[0] == PTX_PRED) return simt_decode_unsupported(d);
    x->type = s->types[0];
    if (x->type == PTX_B128 && x->count > 1) return simt_decode_unsupported(d);
    if (x->space == PTX_GENERIC) x->flags |= F_GENERIC;
    if (x->space == PTX_CONST) x->space = PTX_GLOBAL;
    return true;
}

/* The address operand: a base register (or zero) and an offset. Shared and local addresses have 32 bits. */
static bool read_address(struct decoder *d, const struct ptx_operand *o, struct access *x)
{
    struct ptx_operand reg = {.kind = PTX_OP_REG, .reg = o->reg};
    struct symbol sym = {.space = PTX_GENERIC};
    if (o->kind != PTX_OP_ADDRESS) return simt_decode_fail(d, RT_COMPILE, "%s: expected an address", d->in->opcode);
    x->imm = o->imm;
    if (o->symbol) {
        if (!simt_find_symbol(d, o->symbol, &sym))
            return simt_decode_fail(d, RT_COMPILE, "%s is not defined in this module", o->symbol);
        x->imm += (int64_t)sym.value;
        if (sym.frame) x->flags |= F_FRAME;
        x->entry_param = sym.entry_param;
        if (x->space == PTX_GENERIC) {
            x->imm += (int64_t)window_of(sym.space);
            if (sym.frame) return simt_decode_unsupported(d);
        }
        if (x->space == PTX_PARAM && !sym.entry_param) x->space = PTX_LOCAL;
    } else if (x->space == PTX_PARAM) {
        x->entry_param = d->f->is_entry;
        if (!d->f->is_entry) x->space = PTX_LOCAL;
    }
    bool wide = x->space == PTX_GLOBAL || x->space == PTX_GENERIC;
    char have = o->symbol || o->reg < 0 ? 0 : simt_operand_class(d, &reg);
    if (o->symbol && o->reg >= 0) return simt_decode_unsupported(d);
    if (!have)
        return o->reg >= 0 && !o->symbol ? simt_decode_unsupported(d) : simt_constant(d, 0, wide ? 'q' : 'w', &x->base);
    if (!simt_source(d, &reg, have, PTX_NONE, &x->base)) return false;
    if (have == 'p' || (wide && have != 'q'))
        return simt_decode_fail(d, RT_COMPILE, "%s: expected a register of 64 bits as address", d->in->opcode);
    return wide || have == 'w' || simt_narrow(d, o->reg, &x->base);
}

bool simt_address(struct decoder *d, const struct ptx_operand *o, enum ptx_space space, struct simt_address *out)
{
    struct access x = {.space = space, .flags = space == PTX_GENERIC ? F_GENERIC : 0};
    if (!read_address(d, o, &x)) return false;
    *out = (struct simt_address){.base = x.base, .imm = x.imm, .flags = x.flags};
    return true;
}

static bool read_elements(struct decoder *d, const struct ptx_operand *o, struct access *x, bool store, char *class,
                          uint32_t *slots)
{
    const struct ptx_operand *items = simt_is_vector(o) ? o->items : o;
    size_t n = simt_is_vector(o) ? o->item_count : 1;
    if (x->type == PTX_B128) { /* two of 64 bits */
        x->type = PTX_B64;
        x->count = 2;
        *class = 'q';
        return store ? simt_wide_source(d, o, slots) : simt_wide_destination(d, o, slots);
    }
    if (n != x->count) return simt_decode_fail(d, RT_COMPILE, "%s: expected %u elements", d->in->opcode, x->count);
    *class = simt_class_of(x->type);
    for (size_t k = 0; k < n && *class == 'w'; k++)
        if (simt_operand_class(d, &items[k]) == 'q') *class = 'q';
    for (size_t k = 0; k < n; k++) {
        bool ok = store ? simt_source(d, &items[k], *class, x->type, &slots[k])
                        : simt_destination(d, &items[k], *class, &slots[k]);
        if (!ok) return false;
    }
    return true;
}

/* A load must not overwrite its address between elements. */
static bool protect_base(struct decoder *d, struct access *x, const uint32_t *slots)
{
    bool wide = x->space == PTX_GLOBAL || x->space == PTX_GENERIC, clash = false;
    for (uint32_t k = 0; k < x->count; k++) clash |= slots[k] == x->base;
    if (!clash || x->count == 1) return true;
    uint32_t copy;
    struct insn *i;
    if (!simt_temp(d, wide ? 'q' : 'w', &copy) || !(i = simt_emit_key(d, wide ? "mov.b64" : "mov.b32"))) return false;
    i->a = x->base;
    i->d = copy;
    x->base = copy;
    return true;
}

/* How many bytes of the element the program looks at, or of its first part that has them; 0: none. */
static uint32_t wanted_bytes(const struct decoder *d, const struct access *x, uint32_t element)
{
    uint32_t size = (uint32_t)ptx_type_size(x->type), bytes = size;
    uint32_t used = d->in->used_bytes >> element * size & (uint32_t)((UINT64_C(1) << size) - 1);
    if (!d->in->used_bytes) return size;
    while (bytes > 1 && !(used >> bytes / 2)) bytes /= 2;
    return used ? bytes : 0;
}

/* How many elements from this one on are read together: they are wanted whole and begin at a multiple of their size. */
static uint32_t whole_elements(const struct decoder *d, const struct access *x, uint32_t element)
{
    uint32_t n = x->count;
    for (uint32_t k = element; k < element + n; k++) {
        while (n > 1 && (element % n || (k < element + n && wanted_bytes(d, x, k) < ptx_type_size(x->type)))) n /= 2;
    }
    return n;
}

/* One op for `count` elements from the k-th on, or for the first bytes of one. */
static bool emit_access(struct decoder *d, const struct access *x, bool store, char class, const uint32_t *slots,
                        uint32_t count, uint32_t k, uint32_t size)
{
    const struct ptx_operand *addr = &d->in->operands[store ? 0 : 1];
    uint32_t extra = 0, element = (uint32_t)ptx_type_size(x->type);
    bool is_signed = !store && x->type >= PTX_S8 && x->type <= PTX_S64 && size < (class == 'q' ? 8 : 4);
    const char *where = x->space == PTX_SHARED ? "shared" : x->space == PTX_LOCAL ? "local" : "global";
    if (x->entry_param) where = "param";
    bool several = count > 1 && (x->space == PTX_GENERIC || x->space == PTX_GLOBAL || x->space == PTX_SHARED);
    char key[48];
    snprintf(key, sizeof key, "+%s.%s.%c%u_%c%s", store ? "st" : "ld", where, is_signed ? 's' : 'u', size * 8, class,
             several ? "_v" : "");
    if (count > 1 && !simt_extra(d, slots, count, &extra)) return false;
    struct insn *i = simt_emit_key(d, key);
    if (!simt_guard(d, i)) return false;
    i->a = x->base;
    i->imm = x->imm + (int64_t)k * element;
    i->d = slots[0];
    i->extra = extra;
    i->count = (uint8_t)count;
    i->size = (uint8_t)size;
    i->flags = x->flags | (store ? F_STORE : 0) | (addr->reg < 0 || addr->symbol ? F_UNIFORM : 0) |
               (class == 'q' ? F_WIDE : 0) | (d->in->is_eager ? F_EAGER : 0);
    i->type = (uint8_t)x->type;
    i->memory = store ? MEMORY_STORE : MEMORY_LOAD;
    i->space = (uint8_t)(x->entry_param ? PTX_PARAM : x->space);
    i->d2 = d->program->cache_count++;
    return true;
}

bool simt_decode_memory(struct decoder *d, const struct shape *s)
{
    struct access x;
    bool store = d->in->opcode[0] == 's';
    bool hint = simt_has_word(s, "L2::cache_hint"), counts = counts_bytes(s); /* a policy, or an mbarrier, behind */
    if (store && simt_has_word(s, "bulk")) return simt_decode_store_bulk(d, s);
    if (is_async(s) && !store) return simt_decode_unsupported(d);
    if (!read_access(d, s, &x) || !simt_want_operands(d, 2u + hint + counts, 2u + hint + counts)) return false;
    uint32_t slots[8] = {0};
    char class = 'w';
    if (!read_address(d, &d->in->operands[store ? 0 : 1], &x) ||
        !read_elements(d, &d->in->operands[store ? 1 : 0], &x, store, &class, slots) ||
        (!store && !protect_base(d, &x, slots)))
        return false;
    if (x.entry_param && store) return simt_decode_fail(d, RT_COMPILE, "a kernel's parameters cannot be written");
    for (uint32_t k = 0, n; k < x.count; k += n) {
        uint32_t bytes = wanted_bytes(d, &x, k);
        n = whole_elements(d, &x, k);
        if (bytes > 0 && !emit_access(d, &x, store, class, slots + k, n, k, bytes)) return false;
    }
    return !counts || simt_emit_complete(d, &d->in->operands[2], x.count * (uint32_t)ptx_type_size(x.type));
}

/* ---- atomics ---- */
struct atomic {
    struct access at;
    enum ptx_type type;
    const char *operation;
    op_function run;
    uint8_t mode;
    bool reduction, hint;
};

static bool read_atomic(struct decoder *d, const struct shape *s, struct atomic *x)
{
    static const char *const others[] = {"relaxed", "acquire", "release", "acq_rel", "cta",
                                         "cluster", "gpu",     "sys",     "noftz",   "L2::cache_hint"};
    *x = (struct atomic){.at = {.space = PTX_GENERIC, .count = 1}, .reduction = !strcmp(d->in->opcode, "red")};
    x->hint = simt_has_word(s, "L2::cache_hint");
    for (int k = 0; k < s->word_count; k++) {
        const char *w = s->words[k];
        x->at.flags |= order_of(w);
        if (read_space(w, &x->at.space) || read_count(w, &x->at.count) || ONE_OF(w, others) ||
            (x->reduction && is_async(s) && is_async_word(w)))
            continue;
        if (x->operation) return simt_decode_unsupported(d);
        x->operation = w;
    }
    enum ptx_space space = x->at.space;
    if (!x->operation || s->type_count != 1) return simt_decode_unsupported(d);
    if (space != PTX_GENERIC && space != PTX_GLOBAL && space != PTX_SHARED) return simt_decode_unsupported(d);
    x->type = s->types[0];
    if (space == PTX_GENERIC) x->at.flags |= F_GENERIC;
    x->run = simt_op_atomic(x->operation, x->type, space == PTX_SHARED, &x->mode);
    return x->run ? true : simt_decode_unsupported(d);
}

/* Does anything look at what the instruction returns? */
static bool is_wanted(const struct decoder *d, const struct ptx_operand *to)
{
    return to->kind == PTX_OP_REG && to->reg >= 0 && (size_t)to->reg < d->f->reg_count && d->wanted[to->reg];
}

/* The op of an addition: in shared memory, or by a tally (2 + *tally is the instruction's `extra`). */
static void find_addition(struct decoder *d, const struct atomic *x, bool wanted, op_function *run, uint32_t *extra)
{
    bool shared = x->at.space == PTX_SHARED, wide = ptx_type_size(x->type) == 8;
    bool real = x->type == PTX_F32 || x->type == PTX_F64, integer = x->type < PTX_F16 || x->type > PTX_F64;
    char key[32];
    if (strcmp(x->operation, "add") || (!real && !integer)) return;
    if (shared) {
        snprintf(key, sizeof key, "+shared.add.%s%s", real ? "f" : "", wide ? "64" : "32");
        simt_find_row(d, key, 0, run);
    } else if (integer && !wanted && !d->plain && d->tally_count < TALLIES &&
               !(x->at.flags & (F_ACQUIRE | F_RELEASE))) {
        simt_find_row(d, wide ? "+tally.64" : "+tally.32", 0, run);
        *extra = 2 + d->tally_count++;
    }
}

static struct insn *emit_atomic(struct decoder *d, const struct atomic *x, bool wanted)
{
    op_function run = x->run;
    uint32_t extra = !wanted;
    find_addition(d, x, wanted, &run, &extra);
    struct insn *i = simt_emit(d, run);
    if (!simt_guard(d, i)) return NULL;
    i->a = x->at.base;
    i->imm = x->at.imm;
    i->flags = x->at.flags | F_STORE | (simt_class_of(x->type) == 'q' ? F_WIDE : 0);
    i->type = (uint8_t)x->type;
    i->size = (uint8_t)ptx_type_size(x->type);
    i->mode = x->mode;
    i->extra = extra;
    i->memory = MEMORY_ATOMIC;
    i->space = (uint8_t)x->at.space;
    i->d2 = d->program->cache_count++;
    return i;
}

/* exch and cas of 128 bits: operands are pairs of slots. */
static bool decode_wide_atomic(struct decoder *d, const struct atomic *x, const struct ptx_operand *o, bool cas)
{
    uint32_t slots[6] = {0}, extra;
    if (!simt_wide_source(d, &o[2], slots + 2) || (cas && !simt_wide_source(d, &o[3], slots + 4)) ||
        !simt_wide_destination(d, &o[0], slots) || !simt_extra(d, slots, 6, &extra))
        return false;
    struct insn *i = emit_atomic(d, x, true);
    if (!i) return false;
    i->c = extra; /* an index, not a slot: i->extra says that no vector takes the result */
    i->extra = 1;
    return true;
}

bool simt_decode_atomic(struct decoder *d, const struct shape *s)
{
    struct atomic x;
    if (!read_atomic(d, s, &x) || !x.operation) return false;
    const struct ptx_operand *o = d->in->operands;
    bool cas = !strcmp(x.operation, "cas"), vector = x.at.count > 1;
    size_t first = x.reduction ? 0 : 1, count = first + 2 + cas + x.hint + counts_bytes(s);
    if (!simt_want_operands(d, count, count) || !read_address(d, &o[first], &x.at)) return false;
    if (x.type == PTX_B128) return decode_wide_atomic(d, &x, o, cas);
    const struct ptx_operand *b = vector ? o[first + 1].items : &o[first + 1], *to = vector ? o[0].items : &o[0];
    if (vector && (o[first + 1].item_count != x.at.count || (first && o[0].item_count != x.at.count)))
        return simt_decode_fail(d, RT_COMPILE, "%s: expected %u elements", d->in->opcode, x.at.count);
    char class = simt_class_of(x.type);
    for (uint32_t k = 0; k < x.at.count; k++, x.at.imm += (int64_t)ptx_type_size(x.type)) {
        uint32_t out = SLOT_SINK, slot, c = 0;
        bool wanted = !x.reduction && is_wanted(d, &to[k]);
        if (!simt_source(d, &b[k], class, x.type, &slot) ||
            (cas && !simt_source(d, &o[first + 2], class, x.type, &c)) ||
            (wanted && !simt_destination(d, &to[k], class, &out)))
            return false;
        struct insn *i = emit_atomic(d, &x, wanted);
        if (!i) return false;
        i->b = slot;
        i->c = c;
        i->d = out;
    }
    return !counts_bytes(s) || simt_emit_complete(d, &o[2], x.at.count * (uint32_t)ptx_type_size(x.type));
}

/* isspacep.space p, address. */
bool simt_decode_isspacep(struct decoder *d, const struct shape *s)
{
    enum ptx_space space = PTX_GENERIC;
    uint32_t a, p;
    if (s->word_count != 1 || !read_space(s->words[0], &space) || !simt_want_operands(d, 2, 2))
        return simt_decode_unsupported(d);
    if (!simt_source(d, &d->in->operands[1], 'q', PTX_U64, &a) || !simt_destination(d, &d->in->operands[0], 'p', &p))
        return false;
    struct insn *i = simt_emit_key(d, "+isspacep");
    if (!simt_guard(d, i)) return false;
    i->d = p;
    i->a = a;
    i->imm = (int64_t)(window_of(space) ? window_of(space) : SIMT_GLOBAL_BASE);
    return true;
}
