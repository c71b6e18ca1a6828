/* Random valid programs whose words are then exchanged for others, so that most still parse and many load: the bytes
 * are the generator's seed, and each four after it an exchange. */
#include "tests/fuzz/fuzz_kernel.h"
#include "tests/unit/simt_programs_run.h"

static const char *const words[] = {
    "0",
    "1",
    "-1",
    "31",
    "32",
    "64",
    "255",
    "4096",
    "0x7fffffff",
    "0x80000000",
    "0xffffffff",
    "0x7fffffffffffffff",
    "0xffffffffffffffff",
    "0f7fc00000",
    "0f80000000",
    "%r0",
    "%q0",
    "%h0",
    "%f0",
    "%d0",
    "%p0",
    "%in",
    "%mine",
    "%a0",
    "%tid.x",
    "%laneid",
    "%clock64",
    "_",
    "tile",
    "stack",
    "hist",
    "helper",
    "k",
    "pa",
    "in",
    "global",
    "shared",
    "local",
    "param",
    "const",
    "generic",
    "u8",
    "s8",
    "u16",
    "s16",
    "b16",
    "f16",
    "bf16",
    "u32",
    "s32",
    "b32",
    "f32",
    "tf32",
    "f16x2",
    "u64",
    "s64",
    "b64",
    "f64",
    "b128",
    "pred",
    "v2",
    "v4",
    "v8",
    "rn",
    "rz",
    "rni",
    "rzi",
    "ftz",
    "sat",
    "approx",
    "full",
    "wide",
    "hi",
    "lo",
    "sync",
    "and",
    "or",
    "xor",
    "cc",
    "eq",
    "ltu",
    "nan",
    "add",
    "sub",
    "mul",
    "mad",
    "madc",
    "fma",
    "div",
    "rem",
    "min",
    "max",
    "shl",
    "shr",
    "mov",
    "cvt",
    "cvta",
    "ld",
    "st",
    "atom",
    "red",
    "shfl",
    "vote",
    "match",
    "redux",
    "bar",
    "bra",
    "brx",
    "call",
    "ret",
    "exit",
    "trap",
    "setp",
    "selp",
    "slct",
    "set",
    "prmt",
    "lop3",
    "bfi",
    "bfe",
    "dp4a",
    "popc",
    "sqrt",
    "rsqrt",
    "sin",
    "ex2",
    "copysign",
    "testp",
    "isspacep",
    "activemask",
    "nanosleep",
    "membar",
    "wmma",
    "mma",
    "ldmatrix",
    "cp",
    "mbarrier",
    "tex",
    "sust",
    "cas",
    "exch",
    "inc",
    "volatile",
    "uni",
    "aligned",
    "idx",
    "to",
    "reg",
    "align",
    "extern",
    "entry",
    "func",
    "visible",
    "branchtargets",
    "vprintf",
    "malloc",
    "free",
    "__assertfail",
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '%';
}
/* The word at or after `at`, round the end; its length in *n. */
static size_t find_word(const char *text, size_t length, size_t at, size_t *n)
{
    while (at > 0 && is_word(text[at - 1])) at--;
    while (at < length && !is_word(text[at])) at++;
    for (*n = 0; at + *n < length && is_word(text[at + *n]); ++*n) {
    }
    return at;
}
/* Registers of one class, numbers, what follows a dot, and other words are of a kind each. */
static int kind_of(const char *word, char before)
{
    if (word[0] == '%') return word[1];
    return word[0] >= '0' && word[0] <= '9' ? 1 : before == '.' ? 2 : 3;
}
/* Puts one word in the place of another: mostly one of its kind from elsewhere in the text, or one of the list. */
static void exchange(struct gen *g, const uint8_t b[4])
{
    char with[64];
    size_t n, m, at = find_word(g->text, g->length, (size_t)(b[0] << 8 | b[1]) * g->length >> 16, &n);
    int kind = at ? kind_of(g->text + at, g->text[at - 1]) : 3;
    uint32_t choice = (uint32_t)(b[2] << 8 | b[3]);
    if (b[2] % 4) {
        size_t from = 0;
        for (int k = 0; k < 20; k++, choice = choice * 40503 + 1) {
            from = find_word(g->text, g->length, (choice & 0xffff) * g->length >> 16, &m);
            if (b[2] % 4 == 1 || (from && kind_of(g->text + from, g->text[from - 1]) == kind)) break;
        }
        snprintf(with, sizeof with, "%.*s", m < sizeof with ? (int)m : (int)sizeof with - 1, g->text + from);
    } else {
        snprintf(with, sizeof with, "%s", words[choice % (sizeof words / sizeof *words)]);
    }
    m = strlen(with);
    if (g->length - n + m >= sizeof g->text) return;
    memmove(g->text + at + m, g->text + at + n, g->length - at - n);
    memcpy(g->text + at, with, m);
    g->length = g->length - n + m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gen g;
    uint32_t seed = 0;
    if (size < 4 || size > 4 + 4 * 16) return 0;
    memcpy(&seed, data, 4);
    gen_program(&g, seed, 1 + (int)(seed % 12), false);
    for (size_t k = 4; k + 4 <= size; k += 4) exchange(&g, data + k);
    kernel_load_and_run(g.text, g.length);
    return 0;
}
