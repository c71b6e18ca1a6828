/* What the code generator knows of the ops: those it writes itself, by the keys of their rows, and for the others which
 * slots they read and write. */
#include <pthread.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/jit_build.h"

#define EXACT(name, kind, op, detail, flags)                                                                           \
    {                                                                                                                  \
        name, kind, op, detail, NULL, flags                                                                            \
    }
#define ONE(name, kind, op) EXACT(name, kind, op, 0, 0)
#define INT2(name, op)                                                                                                 \
    ONE(name ".u32", JK_INTEGER, op), ONE(name ".s32", JK_INTEGER, op), ONE(name ".u64", JK_INTEGER, op),              \
        ONE(name ".s64", JK_INTEGER, op)
#define BITS(name, op) ONE(name ".b32", JK_INTEGER, op), ONE(name ".b64", JK_INTEGER, op)
#define SHORTS(name, op)                                                                                               \
    EXACT(name ".u16", JK_INTEGER, JI_SHORT, op, 0), EXACT(name ".s16", JK_INTEGER, JI_SHORT, op, 0)
#define FLOATS(name, op) ONE(name ".f32", JK_FLOAT, op), ONE(name ".f64", JK_FLOAT, op)
#define DIRECTED(name, what)                                                                                           \
    EXACT(name, JK_FLOAT, JF_DIRECTED, (what) << 2 | ROUND_DOWN, F_RM),                                                \
        EXACT(name, JK_FLOAT, JF_DIRECTED, (what) << 2 | ROUND_UP, F_RP),                                              \
        EXACT(name, JK_FLOAT, JF_DIRECTED, (what) << 2 | ROUND_TO_ZERO, F_RZ)
#define COMPARE(name, type, kind, immediate) EXACT("setp." name "." type, JK_COMPARE, kind, immediate, 0)
#define COMPARE_INT(name, immediate)                                                                                   \
    COMPARE(name, "u32", JT_U, immediate), COMPARE(name, "u64", JT_U, immediate),                                      \
        COMPARE(name, "s32", JT_S, immediate), COMPARE(name, "s64", JT_S, immediate),                                  \
        COMPARE(name, "u16", JT_U | JT_SHORT, immediate), COMPARE(name, "s16", JT_S | JT_SHORT, immediate)
#define COMPARE_FLOAT(name, immediate) COMPARE(name, "f32", JT_F, immediate), COMPARE(name, "f64", JT_F, immediate)
/* op: 0 global, 1 shared, 2 local; detail: is it signed. */
#define LOAD(name, operands, sign)                                                                                     \
    {"+ld.global." name, JK_LOAD, 0, sign, operands, 0}, {"+ld.global." name "_v", JK_LOAD, 0, sign, operands, 0},     \
        {"+ld.shared." name, JK_LOAD, 1, sign, operands, 0},                                                           \
    {                                                                                                                  \
        "+ld.shared." name "_v", JK_LOAD, 1, sign, operands, 0                                                         \
    }
#define STORE(name, operands)                                                                                          \
    {"+st.global." name, JK_STORE, 0, 0, operands, 0}, {"+st.global." name "_v", JK_STORE, 0, 0, operands, 0},         \
        {"+st.shared." name, JK_STORE, 1, 0, operands, 0},                                                             \
    {                                                                                                                  \
        "+st.shared." name "_v", JK_STORE, 1, 0, operands, 0                                                           \
    }
/* The ops know where local memory is. */
#define LOCAL(type)                                                                                                    \
    {"+ld.local." type "_w", JK_LOAD, 2, 0, "w", 0}, {"+ld.local." type "_q", JK_LOAD, 2, 0, "q", 0},                  \
        {"+st.local." type "_w", JK_STORE, 2, 0, "w", 0},                                                              \
    {                                                                                                                  \
        "+st.local." type "_q", JK_STORE, 2, 0, "q", 0                                                                 \
    }
#define PARAMETER(type)                                                                                                \
    {"+ld.param." type "_w", JK_LOAD, 2, 0, "w", 0},                                                                   \
    {                                                                                                                  \
        "+ld.param." type "_q", JK_LOAD, 2, 0, "q", 0                                                                  \
    }

static const struct jit_native natives[] = {
    INT2("add", JI_ADD),
    INT2("sub", JI_SUB),
    INT2("mul.lo", JI_MUL),
    INT2("mad.lo", JI_MAD),
    BITS("and", JI_AND),
    BITS("or", JI_OR),
    BITS("xor", JI_XOR),
    BITS("not", JI_NOT),
    BITS("shl", JI_SHL),
    BITS("shr", JI_SHR),
    BITS("mov", JI_MOV),
    ONE("shr.u32", JK_INTEGER, JI_SHR),
    ONE("shr.u64", JK_INTEGER, JI_SHR),
    ONE("shr.s32", JK_INTEGER, JI_SAR),
    ONE("shr.s64", JK_INTEGER, JI_SAR),
    ONE("neg.s32", JK_INTEGER, JI_NEG),
    ONE("neg.s64", JK_INTEGER, JI_NEG),
    ONE("abs.s32", JK_INTEGER, JI_ABS),
    ONE("abs.s64", JK_INTEGER, JI_ABS),
    ONE("min.u32", JK_INTEGER, JI_MIN_U),
    ONE("min.u64", JK_INTEGER, JI_MIN_U),
    ONE("max.u32", JK_INTEGER, JI_MAX_U),
    ONE("max.u64", JK_INTEGER, JI_MAX_U),
    ONE("min.s32", JK_INTEGER, JI_MIN_S),
    ONE("min.s64", JK_INTEGER, JI_MIN_S),
    ONE("max.s32", JK_INTEGER, JI_MAX_S),
    ONE("max.s64", JK_INTEGER, JI_MAX_S),
    ONE("mul.wide.u32", JK_INTEGER, JI_WIDE_U),
    ONE("mul.wide.s32", JK_INTEGER, JI_WIDE_S),
    ONE("mad.wide.u32", JK_INTEGER, JI_MAD_WIDE_U),
    ONE("mad.wide.s32", JK_INTEGER, JI_MAD_WIDE_S),
    ONE("mul.hi.u32", JK_INTEGER, JI_HIGH_U),
    ONE("mul.hi.s32", JK_INTEGER, JI_HIGH_S),
    ONE("cvt.u16.u32", JK_INTEGER, JI_LOW_16),
    ONE("cvt.u32.u16", JK_INTEGER, JI_LOW_16),
    ONE("cvt.u32.u8", JK_INTEGER, JI_LOW_8),
    ONE("cvt.s32.s8", JK_INTEGER, JI_SIGN_8),
    ONE("cvt.s32.s16", JK_INTEGER, JI_SIGN_16),
    SHORTS("add", JI_ADD),
    SHORTS("sub", JI_SUB),
    SHORTS("mul.lo", JI_MUL),
    ONE("mul.wide.u16", JK_INTEGER, JI_WIDE_SHORT_U),
    ONE("mul.wide.s16", JK_INTEGER, JI_WIDE_SHORT_S),
    ONE("div.u32", JK_INTEGER, JI_DIV_U),
    ONE("div.s32", JK_INTEGER, JI_DIV_S),
    ONE("rem.u32", JK_INTEGER, JI_REM_U),
    ONE("rem.s32", JK_INTEGER, JI_REM_S),
    ONE("shf.l.wrap.b32", JK_INTEGER, JI_FUNNEL_L),
    ONE("shf.r.wrap.b32", JK_INTEGER, JI_FUNNEL_R),
    BITS("bfi", JI_INSERT),
    ONE("bfe.u32", JK_INTEGER, JI_EXTRACT_U),
    ONE("bfe.s32", JK_INTEGER, JI_EXTRACT_S),
    ONE("popc.b32", JK_INTEGER, JI_COUNT),
    ONE("brev.b32", JK_INTEGER, JI_REVERSE),
    EXACT("clz.b32", JK_INTEGER, JI_LEADING, LEADING_ZEROS, 0),
    EXACT("bfind.u32", JK_INTEGER, JI_LEADING, LEADING_PLACE, 0),
    EXACT("bfind.shiftamt.u32", JK_INTEGER, JI_LEADING, LEADING_SHIFT, 0),
    ONE("prmt.b32", JK_INTEGER, JI_PERMUTE),
    EXACT("dp4a.u32.u32", JK_INTEGER, JI_DOT, 0, 0),
    EXACT("dp4a.s32.u32", JK_INTEGER, JI_DOT, 1, 0),
    EXACT("dp4a.u32.s32", JK_INTEGER, JI_DOT, 2, 0),
    EXACT("dp4a.s32.s32", JK_INTEGER, JI_DOT, 3, 0),
    ONE("cvt.u64.u32", JK_INTEGER, JI_EXTEND_U),
    ONE("cvt.s64.s32", JK_INTEGER, JI_EXTEND_S),
    ONE("cvt.u32.u64", JK_INTEGER, JI_NARROW),
    FLOATS("add", JF_ADD),
    FLOATS("sub", JF_SUB),
    FLOATS("mul", JF_MUL),
    FLOATS("div", JF_DIV),
    FLOATS("fma", JF_FMA),
    FLOATS("min", JF_MIN),
    FLOATS("max", JF_MAX),
    FLOATS("neg", JF_NEG),
    FLOATS("abs", JF_ABS),
    FLOATS("sqrt", JF_SQRT),
    FLOATS("rcp", JF_RCP),
    ONE("rsqrt.f32", JK_FLOAT, JF_RSQRT),
    ONE("cvt.f32.s32", JK_CONVERT, JC_F32_S32),
    ONE("cvt.f32.u32", JK_CONVERT, JC_F32_U32),
    ONE("cvt.f64.s32", JK_CONVERT, JC_F64_S32),
    ONE("cvt.f64.u32", JK_CONVERT, JC_F64_U32),
    ONE("cvt.f64.f32", JK_CONVERT, JC_F64_F32),
    ONE("cvt.f32.f64", JK_CONVERT, JC_F32_F64),
    EXACT("cvt.s32.f32", JK_CONVERT, JC_S32_F32, ROUND_NEAREST, F_RNI),
    EXACT("cvt.s32.f32", JK_CONVERT, JC_S32_F32, ROUND_DOWN, F_RMI),
    EXACT("cvt.s32.f32", JK_CONVERT, JC_S32_F32, ROUND_UP, F_RPI),
    EXACT("cvt.s32.f32", JK_CONVERT, JC_S32_F32, ROUND_TO_ZERO, F_RZI),
    EXACT("cvt.u32.f32", JK_CONVERT, JC_U32_F32, ROUND_TO_ZERO, F_RZI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_NEAREST, F_RNI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_DOWN, F_RMI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_UP, F_RPI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_TO_ZERO, F_RZI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_SATURATE, 0, F_SAT),
    DIRECTED("add.f32", DIRECTED_ADD),
    DIRECTED("sub.f32", DIRECTED_SUB),
    DIRECTED("mul.f32", DIRECTED_MUL),
    DIRECTED("fma.f32", DIRECTED_FMA),
    EXACT("rcp.f32", JK_FLOAT, JF_RCP_FTZ, 0, F_FTZ),
    EXACT("ex2.f32", JK_FLOAT, JF_POWER, false, 0),
    EXACT("ex2.f32", JK_FLOAT, JF_POWER, true, F_FTZ),
    ONE("copysign.f32", JK_FLOAT, JF_COPYSIGN),
    ONE("cvt.f64.s64", JK_CONVERT, JC_F64_S64),
    ONE("cvt.f32.u8", JK_CONVERT, JC_F32_U8),
    ONE("cvt.f32.u16", JK_CONVERT, JC_F32_U16),
    COMPARE_INT("eq", 0),
    COMPARE_INT("lt", 1),
    COMPARE_INT("le", 2),
    COMPARE_INT("ne", 4),
    COMPARE_INT("ge", 5),
    COMPARE_INT("gt", 6),
    COMPARE_FLOAT("eq", 0x00),
    COMPARE_FLOAT("ne", 0x0c),
    COMPARE_FLOAT("lt", 0x11),
    COMPARE_FLOAT("le", 0x12),
    COMPARE_FLOAT("gt", 0x1e),
    COMPARE_FLOAT("ge", 0x1d),
    COMPARE_FLOAT("equ", 0x08),
    COMPARE_FLOAT("neu", 0x04),
    COMPARE_FLOAT("ltu", 0x19),
    COMPARE_FLOAT("leu", 0x1a),
    COMPARE_FLOAT("gtu", 0x16),
    COMPARE_FLOAT("geu", 0x15),
    COMPARE_FLOAT("num", 0x07),
    COMPARE_FLOAT("nan", 0x03),
    ONE("selp.b32", JK_SELECT, 0),
    ONE("selp.b64", JK_SELECT, 0),
    ONE("and.pred", JK_PREDICATE, JI_AND),
    ONE("or.pred", JK_PREDICATE, JI_OR),
    ONE("xor.pred", JK_PREDICATE, JI_XOR),
    ONE("not.pred", JK_PREDICATE, JI_NOT),
    ONE("mov.pred", JK_PREDICATE, JI_MOV),
    LOAD("u8_w", "w", 0),
    LOAD("s8_w", "w", 1),
    LOAD("u16_w", "w", 0),
    LOAD("s16_w", "w", 1),
    LOAD("u32_w", "w", 0),
    LOAD("u8_q", "q", 0),
    LOAD("s8_q", "q", 1),
    LOAD("u16_q", "q", 0),
    LOAD("s16_q", "q", 1),
    LOAD("u32_q", "q", 0),
    LOAD("s32_q", "q", 1),
    LOAD("u64_q", "q", 0),
    STORE("u8_w", "w"),
    STORE("u16_w", "w"),
    STORE("u32_w", "w"),
    STORE("u8_q", "q"),
    STORE("u16_q", "q"),
    STORE("u32_q", "q"),
    STORE("u64_q", "q"),
    LOCAL("u8"),
    LOCAL("u16"),
    LOCAL("u32"),
    LOCAL("u64"),
    LOCAL("s8"),
    LOCAL("s16"),
    LOCAL("s32"),
    PARAMETER("u8"),
    PARAMETER("u16"),
    PARAMETER("u32"),
    PARAMETER("u64"),
    PARAMETER("s8"),
    PARAMETER("s16"),
    PARAMETER("s32"),
    {"+shfl", JK_SHUFFLE, 0, 0, "wwwww", 0},
    {"+vote", JK_VOTE, 0, 0, "pp", 0},
    {"+redux", JK_CALL, 0, 0, "ww--w", 0},
    {"+pack32", JK_INTEGER, JI_PACK, 0, "www", 0},
    {"+pack64", JK_INTEGER, JI_PACK, 0, "qww", 0},
    {"+unpack64", JK_INTEGER, JI_UNPACK, 0, "wq", 0},
    {"+warp_sync", JK_NOP, 0, 0, "-w", 0},
    {"+activemask", JK_CALL, 0, 0, "w", 0},
};

/* ---- finding an op by its function ---- */
#define TABLE_SIZE 4096
static struct jit_op ops[TABLE_SIZE];
static uint16_t keys[512]; /* natives by the hash of their keys, plus one */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_text(const char *s)
{
    uint32_t h = 2166136261u;
    for (; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ h >> 15;
}
static uint32_t hash_function(op_function f)
{
    uint64_t n = (uint64_t)(uintptr_t)f * 0x9e3779b97f4a7c15u;
    return (uint32_t)(n >> 40) % TABLE_SIZE;
}

/* The flags by which natives of one key differ. */
static const uint32_t modifiers = F_FTZ | F_SAT | F_ROUND | F_RNI | F_RZI | F_RMI | F_RPI | F_NAN | F_XORSIGN | F_RELU;

static const struct jit_native *find_native(const char *key, uint32_t flags)
{
    for (uint32_t h = hash_text(key) % 512; keys[h]; h = (h + 1) % 512) {
        const struct jit_native *n = &natives[keys[h] - 1];
        if (!strcmp(n->key, key) && n->flags == flags) return n;
    }
    return NULL;
}

/* With a key: what it is depends on the instruction's flags. */
static void add_op(op_function run, const char *operands, const struct jit_native *native, const char *key, bool plain)
{
    if (!run) return;
    uint32_t h = hash_function(run);
    while (ops[h].run && ops[h].run != run) h = (h + 1) % TABLE_SIZE;
    if (ops[h].run && (ops[h].native || !native)) return;
    ops[h] = (struct jit_op){run, operands, native, key, plain};
}

static bool is_vector_table(const struct op_table *t)
{
#ifdef __x86_64__
    return t == &simt_ops_avx2 || t == &simt_ops_avx512;
#else
    (void)t;
    return false;
#endif
}

static void add_table(const struct op_table *t)
{
    for (size_t k = 0; k < t->count; k++) {
        const struct op_row *row = &t->rows[k];
        bool flushes = !row->flagged && (row->flags & F_FTZ);
        const struct jit_native *n = find_native(row->key, flushes ? F_FTZ : 0);
        const char *operands = row->operands[0] ? row->operands : n ? n->operands : NULL;
        /* Rows of the same key elsewhere that have flags mean .cc, .sat or .ftz. */
        bool vector = is_vector_table(t), native = vector || row->key[0] == '+' || !row->flags;
        bool plain = row->operands[0] && row->key[0] != '+' && t != &simt_ops_warp && t != &simt_ops_memory;
        plain |= n && (n->kind == JK_LOAD || n->kind == JK_STORE || n->kind == JK_CALL || n->kind == JK_INTEGER) &&
                 strcmp(row->key, "+redux") && strcmp(row->key, "+activemask");
        bool directed = t == &simt_ops_float;
        add_op(row->run, operands, native && !directed ? n : NULL, directed ? row->key : NULL, plain);
        add_op(row->flagged, operands, NULL, vector ? row->key : NULL, plain);
    }
}

static void fill_tables(void)
{
    static const struct op_table *const tables[] = {
#ifdef __x86_64__
        &simt_ops_avx2,    &simt_ops_avx512,
#endif
        &simt_ops_integer, &simt_ops_float,  &simt_ops_half, &simt_ops_warp, &simt_ops_memory};
    for (size_t k = 0; k < sizeof natives / sizeof *natives; k++) {
        uint32_t h = hash_text(natives[k].key) % 512;
        while (keys[h]) h = (h + 1) % 512;
        keys[h] = (uint16_t)(k + 1);
    }
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) add_table(tables[t]);
    add_op(simt_op_convert(PTX_F32, PTX_F32, 0), "ww", NULL, "cvt.f32.f32", true);
    add_op(simt_op_convert(PTX_F64, PTX_S64, 0), "qq", NULL, "cvt.f64.s64", true);
}

const struct jit_op *simt_jit_op(op_function run)
{
    pthread_once(&once, fill_tables);
    for (uint32_t h = hash_function(run); ops[h].run; h = (h + 1) % TABLE_SIZE)
        if (ops[h].run == run) return &ops[h];
    return NULL;
}

/* ---- one instruction ---- */
/* The slot's number; 0xffff when the frame has no such slot, or it is used as two kinds. */
static uint16_t slot_at(struct jit *j, uint32_t offset, char class)
{
    if (offset >= j->function->frame_bytes || offset % 4) return 0xffff;
    uint16_t *k = &j->slot_of[offset / 4];
    if (*k == 0xffff) {
        if (j->slot_count == j->slot_capacity) return 0xffff;
        *k = (uint16_t)j->slot_count++;
        j->slots[*k] = (struct jit_slot){.offset = offset, .class = class};
    }
    if (class && j->slots[*k].class && j->slots[*k].class != class) return 0xffff;
    if (class) j->slots[*k].class = class;
    return *k;
}

static bool add_read(struct jit *j, struct jit_insn *n, uint32_t offset, char class)
{
    uint16_t k = slot_at(j, offset, class);
    if (k == 0xffff || n->read_count == JIT_READS) return false;
    n->reads[n->read_count++] = k;
    return true;
}
static bool add_write(struct jit *j, struct jit_insn *n, uint32_t offset, char class)
{
    if (offset == SLOT_SINK) return true;
    uint16_t k = slot_at(j, offset, class);
    if (k == 0xffff || n->write_count == JIT_WRITES) return false;
    n->writes[n->write_count++] = k;
    return true;
}

/* By the letters of a row: first the destination, then a, b, c and extra. '-' is none. */
static bool add_operands(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    const uint32_t from[] = {i->a, i->b, i->c, i->extra};
    size_t count = strlen(letters);
    if (count > 5) return false;
    for (size_t k = 1; k < count; k++)
        if (letters[k] != '-' && !add_read(j, n, from[k - 1], letters[k])) return false;
    return letters[0] == '-' || add_write(j, n, i->d, letters[0]);
}

static bool add_memory(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    const uint32_t *data = i->count == 1 ? &i->d : j->program->extra + i->extra;
    n->wide = letters[0] == 'q';
    n->kind = i->flags & F_STORE ? JK_STORE : JK_LOAD; /* local memory's ops do both */
    if (!add_read(j, n, i->a, n->op ? 'w' : 'q')) return false;
    for (int k = 0; k < i->count; k++)
        if (!(n->kind == JK_LOAD ? add_write(j, n, data[k], letters[0]) : add_read(j, n, data[k], letters[0])))
            return false;
    if ((i->flags & F_SPIN) || n->op == 2) n->kind = JK_CALL;
    return true;
}

static bool add_atomic(struct jit *j, struct jit_insn *n, bool shared)
{
    const struct insn *i = n->i;
    char class = simt_class_of((enum ptx_type)i->type);
    return class != 'x' && add_read(j, n, i->a, shared ? 'w' : 'q') && add_read(j, n, i->b, class) &&
           (!i->c || add_read(j, n, i->c, class)) && (i->extra || add_write(j, n, i->d, class));
}

/* Conversions and atomics are not in the tables: the words of the instruction tell. */
static bool add_by_name(struct jit *j, struct jit_insn *n, const char *opcode)
{
    char words[96], *save = NULL;
    enum ptx_type types[2] = {PTX_NONE, PTX_NONE};
    int type_count = 0;
    bool shared = false;
    strncpy(words, opcode, sizeof words - 1);
    words[sizeof words - 1] = 0;
    for (char *w = strtok_r(words, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
        enum ptx_type t = ptx_type_find(w);
        if (t != PTX_NONE && type_count < 2) types[type_count++] = t;
        shared |= !strncmp(w, "shared", 6);
    }
    n->kind = JK_CALL;
    if (!strcmp(words, "atom") || !strcmp(words, "red")) return add_atomic(j, n, shared);
    if (strcmp(words, "cvt") || type_count != 2 || n->i->b || n->i->c) return false; /* or of more than one source */
    char to = simt_class_of(types[0]), from = simt_class_of(types[1]);
    n->plain = true;
    return (to == 'w' || to == 'q') && (from == 'w' || from == 'q') && add_read(j, n, n->i->a, from) &&
           add_write(j, n, n->i->d, to);
}

static bool describe_compare(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    n->wide = letters[1] == 'q';
    n->is_short = n->op & JT_SHORT;
    n->op &= JT_SHORT - 1;
    return add_read(j, n, i->a, letters[1]) && add_read(j, n, i->b, letters[2]) &&
           (i->mode == 0 || i->mode == 4 || add_read(j, n, i->c, 'p')) && add_write(j, n, i->d, 'p') &&
           (i->mode == 0 || add_write(j, n, i->d2, 'p'));
}

static bool describe_control(struct jit *j, struct jit_insn *n)
{
    const struct insn *i = n->i;
    bool plain = i->guard == SLOT_TRUE && !i->guard_flip;
    n->kind = JK_LEAVE;
    if (i->run == simt_op_bra) {
        n->kind = JK_BRANCH;
        return add_read(j, n, i->guard, 'p');
    }
    if (i->run == simt_op_exit || i->run == simt_op_ret) {
        if (plain) n->kind = JK_EXIT;
    } else if (i->run == simt_op_nop) {
        n->kind = simt_jit_is_watched(j, i) ? JK_CALL : JK_NOP;
    } else if (i->run == simt_op_barrier) {
        if (plain && (i->flags & F_UNIFORM) && !i->mode && !i->b) n->kind = JK_BARRIER;
        return n->kind == JK_BARRIER && add_read(j, n, i->a, 'w');
    } else if (i->run == simt_op_special) {
        n->kind = i->mode < SR_CLOCK || i->mode > SR_GLOBALTIMER_HI ? JK_SPECIAL : JK_CALL;
        n->wide = i->size == 8;
        return add_write(j, n, i->d, n->wide ? 'q' : 'w');
    } else if (i->run == simt_op_yield) {
        n->kind = JK_CALL;
    } else if (i->run == simt_op_local_address) {
        n->kind = JK_CALL;
        return add_write(j, n, i->d, i->size == 8 ? 'q' : 'w');
    } else {
        return false;
    }
    return plain || n->kind == JK_NOP;
}

static bool is_control(op_function run)
{
    return run == simt_op_bra || run == simt_op_exit || run == simt_op_ret || run == simt_op_brx ||
           run == simt_op_call || run == simt_op_barrier || run == simt_op_trap || run == simt_op_nop ||
           run == simt_op_yield || run == simt_op_special || run == simt_op_local_address;
}

static bool is_memory_row(const struct jit_op *op)
{
    return op->native && (op->native->kind == JK_LOAD || op->native->kind == JK_STORE);
}

static bool is_constant(struct jit *j, uint32_t offset)
{
    uint16_t s = slot_at(j, offset, 0);
    return s != 0xffff && j->slots[s].fixed && j->slots[s].form.kind == FORM_CONST;
}

/* An exchange among all lanes that is known by now needs no call: for a full warp nobody has to wait. */
static bool describe_exchange(struct jit *j, struct jit_insn *n, const char *letters)
{
    const struct insn *i = n->i;
    uint32_t members = n->kind == JK_NOP ? i->a : i->extra;
    bool full = is_constant(j, members) && (uint32_t)j->slots[slot_at(j, members, 0)].form.step == FULL, ok;
    if (n->kind == JK_VOTE) {
        ok = add_read(j, n, i->a, 'p') && add_read(j, n, i->extra, 'w') && add_write(j, n, i->d, i->mode ? 'p' : 'w');
    } else {
        ok = add_operands(j, n, letters);
        if (n->kind == JK_SHUFFLE) ok = ok && add_write(j, n, i->d2, 'p');
        full &= n->kind == JK_NOP || (is_constant(j, i->b) && is_constant(j, i->c));
    }
    n->whole = n->kind == JK_NOP && full && i->guard == SLOT_TRUE;
    if (!full || i->guard != SLOT_TRUE || simt_jit_is_watched(j, i)) n->kind = JK_CALL;
    return ok;
}

static bool describe_op(struct jit *j, struct jit_insn *n, const struct jit_op *op)
{
    const struct jit_native *native = op->key ? find_native(op->key, n->i->flags & modifiers) : op->native;
    n->kind = JK_CALL;
    if (native) {
        n->kind = native->kind;
        n->op = native->op;
        n->detail = native->detail;
    }
    if (is_memory_row(op)) return add_memory(j, n, op->operands);
    if (n->kind == JK_SHUFFLE || n->kind == JK_VOTE || n->kind == JK_NOP) return describe_exchange(j, n, op->operands);
    if (n->kind == JK_COMPARE || !strncmp(op->operands, "pww", 3) || !strncmp(op->operands, "pqq", 3))
        return describe_compare(j, n, op->operands);
    n->wide = op->operands[0] == 'q';
    if (!add_operands(j, n, op->operands)) return false;
    if (n->kind == JK_INTEGER && n->op == JI_UNPACK) return n->i->d2 == n->i->d || add_write(j, n, n->i->d2, 'w');
    if (simt_jit_is_watched(j, n->i) || !simt_jit_can_compute(j, n)) n->kind = JK_CALL;
    if (n->i->d2 == SLOT_SINK || n->kind != JK_CALL) return true;
    return add_read(j, n, n->i->d2, 0) && add_write(j, n, n->i->d2, 0); /* perhaps some lanes only */
}

/* May its op be called where the warp has no splits, and for any of its lanes? */
static bool is_plain(const struct jit_insn *n, const struct jit_op *op)
{
    if (n->i->memory == MEMORY_ATOMIC || n->i->flags & F_SPIN || n->whole) return false;
    if (n->i->run == simt_op_special || n->i->run == simt_op_nop || n->i->run == simt_op_local_address) return true;
    return n->plain || (op && op->plain);
}

static void describe_one(struct jit *j, struct jit_insn *n, const struct insn *i, const struct place *at)
{
    *n = (struct jit_insn){.i = i};
    /* The words of an atomic tell more than a row of vector_atomic.h, if it has one. */
    const struct jit_op *op = is_control(i->run) || i->memory == MEMORY_ATOMIC ? NULL : simt_jit_op(i->run);
    bool known = is_control(i->run)   ? describe_control(j, n)
                 : op && op->operands ? describe_op(j, n, op)
                 : op                 ? false
                                      : add_by_name(j, n, at->opcode);
    if (!known) {
        n->read_count = n->write_count = 0;
        if (n->kind != JK_LEAVE) n->kind = JK_UNKNOWN;
        if (is_control(i->run)) n->kind = JK_LEAVE;
    }
    n->plain = known && is_plain(n, op);
    if (n->kind == JK_BRANCH || n->kind == JK_UNKNOWN || n->kind == JK_LEAVE) return;
    /* What it writes keeps its other lanes: those are read. */
    n->guarded = i->guard != SLOT_TRUE;
    bool partial = n->guarded || (n->kind == JK_CALL && !i->memory && simt_jit_is_watched(j, i));
    if (!partial) return;
    if (n->guarded) n->kind = n->kind == JK_NOP ? JK_NOP : JK_CALL;
    bool ok = !n->guarded || add_read(j, n, i->guard, 'p');
    for (int k = 0; k < n->write_count; k++) ok &= add_read(j, n, j->slots[n->writes[k]].offset, 0);
    if (!ok) {
        n->kind = JK_UNKNOWN;
        n->plain = false;
        n->read_count = n->write_count = 0;
    }
}

static void describe_from(struct jit *j, uint32_t first)
{
    for (uint32_t k = first; k < j->count; k++)
        describe_one(j, &j->code[k], &j->program->code[j->first + k], &j->program->places[j->first + k]);
}

/* Registers that only the setup writes, and with an immediate, are as good as immediates. */
static bool find_constants(struct jit *j)
{
    bool found = false;
    for (uint32_t k = j->start; k < j->count; k++)
        for (int w = 0; w < j->code[k].write_count; w++) j->slots[j->code[k].writes[w]].rewritten = true;
    for (uint32_t k = j->start; k-- > 0;)
        for (int w = 0; w < j->code[k].write_count; w++) {
            struct jit_slot *s = &j->slots[j->code[k].writes[w]];
            s->rewritten |= s->written;
            s->written = true;
        }
    for (uint32_t k = 0; k < j->start; k++) {
        const struct jit_insn *n = &j->code[k];
        if (n->kind != JK_INTEGER || n->op != JI_MOV || n->write_count != 1) continue;
        struct jit_slot *from = &j->slots[n->reads[0]], *to = &j->slots[n->writes[0]];
        if (to->rewritten || !from->fixed || from->form.kind != FORM_CONST) continue;
        to->fixed = found = true;
        to->form = from->form;
    }
    return found;
}

bool simt_jit_describe(struct jit *j)
{
    const struct function *f = j->function;
    j->first = f->setup;
    j->count = f->end - f->setup;
    j->start = f->start - f->setup;
    j->code = rt_calloc(j->count + 1, sizeof *j->code);
    j->slot_capacity = f->frame_bytes / 4 < 4000 ? f->frame_bytes / 4 : 4000;
    if (j->slot_capacity > 2 + f->const_count + 8 * j->count) j->slot_capacity = 2 + f->const_count + 8 * j->count;
    j->slots = rt_calloc(j->slot_capacity + 1, sizeof *j->slots);
    j->slot_of = rt_alloc((f->frame_bytes / 4 + 1) * sizeof *j->slot_of);
    if (!j->code || !j->slots || !j->slot_of) return false;
    memset(j->slot_of, 0xff, (f->frame_bytes / 4 + 1) * sizeof *j->slot_of);
    if (slot_at(j, SLOT_TRUE, 'p')) return false;
    j->slots[0].fixed = true;
    j->slots[0].form = (struct jit_form){FORM_CONST, -1, 0};
    for (uint32_t k = 0; k < f->const_count; k++) {
        const struct constant *c = &j->program->constants[f->const_first + k];
        uint16_t s = slot_at(j, c->slot, c->wide ? 'q' : 'w');
        if (s == 0xffff) continue;
        j->slots[s].fixed = true;
        j->slots[s].form = (struct jit_form){FORM_CONST, c->wide ? (int64_t)c->value : (int32_t)c->value, 0};
    }
    describe_from(j, 0);
    if (find_constants(j)) describe_from(j, j->start);
    return true;
}
