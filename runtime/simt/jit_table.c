/* What the code generator knows of the ops: those it writes itself, by the keys of their rows, and for the others which
 * slots they read and write. */
#include <pthread.h>
#include <string.h>
#include "runtime/simt/jit_known.h"

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
#define COMPARE_FLOAT(name, immediate)                                                                                 \
    COMPARE(name, "f32", JT_F, immediate), EXACT("setp." name ".f32", JK_COMPARE, JT_F, immediate, F_FTZ),             \
        COMPARE(name, "f64", JT_F, immediate)
#define FLUSHED(name, op) EXACT(name ".f32", JK_FLOAT, op, 0, F_FTZ)
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
/* The same of local memory, by rows that are of both kinds. */
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
    EXACT("min.u16", JK_INTEGER, JI_SHORT, JI_MIN_U, 0),
    EXACT("max.u16", JK_INTEGER, JI_SHORT, JI_MAX_U, 0),
    EXACT("min.s16", JK_INTEGER, JI_SHORT, JI_MIN_S, 0),
    EXACT("max.s16", JK_INTEGER, JI_SHORT, JI_MAX_S, 0),
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
    FLUSHED("add", JF_ADD),
    FLUSHED("sub", JF_SUB),
    FLUSHED("mul", JF_MUL),
    FLUSHED("div", JF_DIV),
    FLUSHED("fma", JF_FMA),
    FLUSHED("min", JF_MIN),
    FLUSHED("max", JF_MAX),
    FLUSHED("neg", JF_NEG),
    FLUSHED("abs", JF_ABS),
    FLUSHED("sqrt", JF_SQRT),
    FLUSHED("rsqrt", JF_RSQRT),
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
    /* Denormals are zeros that way, too. */
    EXACT("cvt.s32.f32", JK_CONVERT, JC_S32_F32, ROUND_NEAREST, F_RNI | F_FTZ),
    EXACT("cvt.s32.f32", JK_CONVERT, JC_S32_F32, ROUND_TO_ZERO, F_RZI | F_FTZ),
    EXACT("cvt.u32.f32", JK_CONVERT, JC_U32_F32, ROUND_TO_ZERO, F_RZI | F_FTZ),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_NEAREST, F_RNI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_DOWN, F_RMI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_UP, F_RPI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_TO_ZERO, F_RZI),
    EXACT("cvt.f64.f64", JK_FLOAT, JF_ROUND, ROUND_NEAREST, F_RNI),
    EXACT("cvt.f64.f64", JK_FLOAT, JF_ROUND, ROUND_DOWN, F_RMI),
    EXACT("cvt.f64.f64", JK_FLOAT, JF_ROUND, ROUND_UP, F_RPI),
    EXACT("cvt.f64.f64", JK_FLOAT, JF_ROUND, ROUND_TO_ZERO, F_RZI),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_SATURATE, 0, F_SAT),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_NEAREST, F_RNI | F_FTZ),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_DOWN, F_RMI | F_FTZ),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_UP, F_RPI | F_FTZ),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_ROUND, ROUND_TO_ZERO, F_RZI | F_FTZ),
    EXACT("cvt.f32.f32", JK_FLOAT, JF_SATURATE, 0, F_SAT | F_FTZ),
    DIRECTED("add.f32", DIRECTED_ADD),
    DIRECTED("sub.f32", DIRECTED_SUB),
    DIRECTED("mul.f32", DIRECTED_MUL),
    DIRECTED("fma.f32", DIRECTED_FMA),
    EXACT("rcp.f32", JK_FLOAT, JF_RCP_FTZ, 0, F_FTZ),
    EXACT("rcp.f64", JK_FLOAT, JF_RCP_FTZ, 0, F_FTZ),
    EXACT("ex2.f32", JK_FLOAT, JF_POWER, false, 0),
    EXACT("ex2.f32", JK_FLOAT, JF_POWER, true, F_FTZ),
    ONE("copysign.f32", JK_FLOAT, JF_COPYSIGN),
    ONE("cvt.f64.s64", JK_CONVERT, JC_F64_S64),
    EXACT("cvt.s32.f64", JK_CONVERT, JC_S32_F64, ROUND_NEAREST, F_RNI),
    EXACT("cvt.s32.f64", JK_CONVERT, JC_S32_F64, ROUND_DOWN, F_RMI),
    EXACT("cvt.s32.f64", JK_CONVERT, JC_S32_F64, ROUND_UP, F_RPI),
    EXACT("cvt.s32.f64", JK_CONVERT, JC_S32_F64, ROUND_TO_ZERO, F_RZI),
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
#define KEYS 1024
static uint16_t keys[KEYS]; /* natives by the hash of their keys, plus one */
_Static_assert(sizeof natives / sizeof *natives < KEYS * 3 / 4, "what is looked for ends at an empty place, soon");
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
    for (uint32_t h = hash_text(key) % KEYS; keys[h]; h = (h + 1) % KEYS) {
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

static void add_convert(op_function run, const char *operands)
{
    add_op(run, operands, NULL, NULL, true);
}

static void fill_tables(void)
{
    static const struct op_table *const tables[] = {
#ifdef __x86_64__
        &simt_ops_avx2,    &simt_ops_avx512,
#endif
        &simt_ops_integer, &simt_ops_float,  &simt_ops_half, &simt_ops_warp, &simt_ops_memory};
    for (size_t k = 0; k < sizeof natives / sizeof *natives; k++) {
        uint32_t h = hash_text(natives[k].key) % KEYS;
        while (keys[h]) h = (h + 1) % KEYS;
        keys[h] = (uint16_t)(k + 1);
    }
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) add_table(tables[t]);
    add_op(simt_op_convert(PTX_F32, PTX_F32, 0), "ww", NULL, "cvt.f32.f32", true);
    simt_each_convert(add_convert);
}

const struct jit_op *simt_jit_op(op_function run)
{
    pthread_once(&once, fill_tables);
    for (uint32_t h = hash_function(run); ops[h].run; h = (h + 1) % TABLE_SIZE)
        if (ops[h].run == run) return &ops[h];
    return NULL;
}

const struct jit_native *simt_jit_native(const struct jit_op *op, const struct insn *i)
{
    return op->key ? find_native(op->key, i->flags & modifiers) : op->native;
}
