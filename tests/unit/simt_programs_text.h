/* The text of random PTX programs as it grows, and its computations: arithmetic of all types over registers, immediates
 * and places. Floats are kept from being NaN, as NaNs differ in their bits. */
#ifndef SIMT_PROGRAMS_TEXT_H
#define SIMT_PROGRAMS_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/simt/simt.h"

enum {
    GEN_WORDS = 1024,  /* of the input, each 4 bytes; programs index up to here */
    GEN_MARGIN = 64,   /* and may reach this many words farther */
    GEN_SLOT = 256,    /* bytes of a thread's own output */
    GEN_SCRATCH = 192, /* offset in it of 64 bytes to write and read while it runs */
    GEN_CELLS = 64,    /* 8-byte cells for atomics */
    GEN_FRESH = 1500,  /* temporaries */
    GEN_TILE = 1024    /* words of shared memory, at least as many as threads */
};

struct gen {
    char text[1 << 17];
    size_t length;
    uint64_t seed;
    int labels, depth, left; /* left: statements that may still be written */
    int fresh, now[2][4]; /* names given to temporaries, and what %i0 to %i3 and %a0 to %a3 are called at the moment */
    bool together;        /* all threads of the block come here */
    bool in_function;
    bool plain;  /* only what compilers make of simple kernels */
    bool blocks; /* statements as LLVM writes them, too */
    const char *helper;
};

static inline uint32_t gen_random(struct gen *g, uint32_t n)
{
    g->seed ^= g->seed << 13, g->seed ^= g->seed >> 7, g->seed ^= g->seed << 17;
    return (uint32_t)((g->seed * 0x9e3779b97f4a7c15u) >> 33) % n;
}

static inline __attribute__((format(printf, 2, 3))) void gen_put(struct gen *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(g->text + g->length, sizeof g->text - g->length, format, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof g->text - g->length) g->length += (size_t)n;
}

/* What compilers write assigns most registers once only, and the software GPU sees more in such code. So the
 * temporaries of a piece of text from `start` on get new names with each assignment; in a piece with branches, once. */
static inline int gen_new_name(struct gen *g)
{
    return g->fresh < GEN_FRESH - 1 ? ++g->fresh : g->fresh;
}
static inline int *gen_temporary(struct gen *g, const char *s)
{
    bool temporary = s[0] == '%' && (s[1] == 'i' || s[1] == 'a') && s[2] >= '0' && s[2] <= '3';
    return temporary ? &g->now[s[1] == 'a'][s[2] - '0'] : NULL;
}
static inline void gen_rename(struct gen *g, size_t start)
{
    static char piece[1 << 14];
    size_t length = g->length - start;
    if (length >= sizeof piece) return;
    memcpy(piece, g->text + start, length);
    piece[length] = 0;
    g->length = start;
    bool once = strstr(piece, "bra") != NULL;
    for (int k = 0; once && k < 8; k++) g->now[k / 4][k % 4] = gen_new_name(g);
    const char *end;
    for (const char *s = piece; *s; s = end) { /* an instruction each */
        const char *opcode = s + strspn(s, " \n{");
        bool guarded = *opcode == '@';
        end = s + strcspn(s, ";");
        end += *end == ';';
        if (guarded) opcode += strcspn(opcode, " ") + 1;
        const char *result = opcode + strcspn(opcode, " ;");
        result += *result == ' ';
        int *written = opcode < end && result < end ? gen_temporary(g, result) : NULL;
        int fresh = written && !guarded && !once ? gen_new_name(g) : 0;
        for (; s < end; s++) {
            const int *name = gen_temporary(g, s);
            if (!name) {
                gen_put(g, "%c", *s);
                continue;
            }
            gen_put(g, "%%%c%d", s[1], s == result && fresh ? fresh : *name);
            s += 2;
        }
        if (fresh) *written = fresh;
    }
}

/* ---- computations ---- */
/* Capitals are destinations, small letters sources: r b32, q b64, h b16, f f32, d f64, p predicate, and for sources x y
 * the registers of r and q without immediates, s a shift, b a number below 256. */
static const char *const gen_integer[] = {
    "add.s32 R, r, r",
    "sub.s32 R, r, r",
    "mul.lo.s32 R, r, r",
    "mad.lo.s32 R, r, r, r",
    "add.u32 R, r, r",
    "mul.hi.u32 R, r, r",
    "mul.hi.s32 R, r, r",
    "mad.hi.u32 R, r, r, r",
    "mul.wide.s32 Q, r, r",
    "mul.wide.u32 Q, r, r",
    "mad.wide.s32 Q, r, r, q",
    "mad.wide.u32 Q, r, r, q",
    "add.s64 Q, q, q",
    "sub.s64 Q, q, q",
    "mul.lo.s64 Q, q, q",
    "mad.lo.s64 Q, q, q, q",
    "mul.hi.u64 Q, q, q",
    "mul.hi.s64 Q, q, q",
    "and.b32 R, r, r",
    "or.b32 R, r, r",
    "xor.b32 R, r, r",
    "not.b32 R, r",
    "and.b64 Q, q, q",
    "or.b64 Q, q, q",
    "xor.b64 Q, q, q",
    "shl.b32 R, r, s",
    "shr.u32 R, r, s",
    "shr.s32 R, r, s",
    "shl.b64 Q, q, s",
    "shr.u64 Q, q, s",
    "shr.s64 Q, q, s",
    "min.s32 R, r, r",
    "max.s32 R, r, r",
    "min.u32 R, r, r",
    "max.u32 R, r, r",
    "min.s64 Q, q, q",
    "max.u64 Q, q, q",
    "abs.s32 R, r",
    "neg.s32 R, r",
    "neg.s64 Q, q",
    "abs.s64 Q, q",
    "selp.b32 R, r, r, p",
    "selp.b64 Q, q, q, p",
    "selp.s32 R, r, r, p",
    "cvt.u64.u32 Q, x",
    "cvt.s64.s32 Q, x",
    "cvt.u32.u64 R, y",
    "cvt.u32.u8 R, x",
    "cvt.s32.s8 R, x",
    "cvt.s32.s16 R, x",
    "cvt.u16.u32 H, x",
    "cvt.u32.u16 R, h",
    "cvt.s32.s16 R, h",
    "cvt.u64.u16 Q, h",
    "cvt.s64.s16 Q, h",
    "add.s16 H, h, h",
    "sub.s16 H, h, h",
    "mul.lo.s16 H, h, h",
    "mul.wide.u16 R, h, h",
    "mul.wide.u16 R, h, 8",
    "mul.wide.s16 R, h, h",
    "mad.lo.s16 H, h, h, h",
    "shl.b16 H, h, s",
    "shr.u16 H, h, s",
    "shr.s16 H, h, s",
    "min.s16 H, h, h",
    "max.u16 H, h, h",
    "xor.b16 H, h, h",
    "and.b16 H, h, h",
    "popc.b32 R, r",
    "popc.b64 R, q",
    "clz.b32 R, r",
    "clz.b64 R, q",
    "brev.b32 R, r",
    "bfind.u32 R, r",
    "bfind.s32 R, r",
    "bfe.u32 R, r, s, s",
    "bfe.s32 R, r, s, s",
    "bfi.b32 R, r, r, s, s",
    "bfi.b64 Q, q, q, s, s",
    "prmt.b32 R, r, r, r",
    "prmt.b32 R, r, r, 30212", /* two bytes of each */
    "prmt.b32 R, x, x, 291",   /* backwards */
    "prmt.b32 R, r, r, 56789", /* a byte with its sign */
    "prmt.b32 R, x, r, 47922", /* two bytes with their sign */
    "dp4a.s32.s32 R, r, r, r",
    "dp4a.u32.u32 R, x, r, r",
    "dp4a.s32.u32 R, x, x, r",
    "dp4a.u32.s32 R, r, x, x",
    "lop3.b32 R, r, r, r, b",
    "shf.l.wrap.b32 R, r, r, s",
    "shf.r.wrap.b32 R, r, r, s",
    "shf.l.clamp.b32 R, r, r, s",
    "shf.r.clamp.b32 R, r, r, s",
    "div.s32 R, r, r",
    "rem.s32 R, r, r",
    "div.u32 R, r, r",
    "rem.u32 R, r, r",
    "div.s64 Q, q, q",
    "rem.u64 Q, q, q",
    "sad.u32 R, r, r, r",
    "add.sat.s32 R, r, r",
    "mov.b32 R, r",
    "mov.b64 Q, q",
    "mov.b64 Q, {x, x}",
    "mov.b64 {R, R}, y",
    "mov.b32 R, {h, h}",
    "mov.u32 R, %tid.x",
    "mov.u32 R, %tid.y",
    "mov.u32 R, %ntid.x",
    "mov.u32 R, %ctaid.x",
    "mov.u32 R, %laneid",
    "mov.u32 R, %nctaid.x",
    "mov.u32 R, %tid.z",
    "mad.lo.s32 R, %gid, i, r",
    "mad.lo.s32 R, %tidl, i, i",
    "sub.s32 R, i, %tidl",
    "add.s32 R, %gid, i",
    "mul.wide.s32 Q, R, i",
    "mul.wide.u32 Q, R, i",
    "shl.b32 R, %tidl, s",
    "cvt.s64.s32 Q, %gid",
    "cvt.u64.u32 Q, R",
    "setp.C.s32 P, r, r",
    "setp.C.u32 P, r, r",
    "setp.C.s32 P, r, i",
    "setp.C.s64 P, q, q",
    "setp.C.u64 P, q, q",
    "setp.C.s32 P|P, r, r",
    "setp.C.and.s32 P, r, r, p",
    "setp.C.or.u32 P|P, r, r, p",
    "setp.C.xor.s32 P, r, r, !p",
    "setp.C.s16 P, h, h",
    "setp.C.u16 P, h, h",
    "setp.C.u32 P, %tidl, i",
    "setp.C.s32 P, %gid, i",
    "setp.eq.b32 P, r, r",
    "and.pred P, p, p",
    "or.pred P, p, p",
    "xor.pred P, p, p",
    "not.pred P, p",
    "mov.pred P, p",
};
static const char *const gen_float[] = {
    "add.f32 F, f, f",        "sub.f32 F, f, f",       "mul.f32 F, f, f",       "fma.rn.f32 F, f, f, f",
    "add.rn.f32 F, f, f",     "div.rn.f32 F, f, f",    "sqrt.rn.f32 F, f",      "rcp.rn.f32 F, f",
    "min.f32 F, f, f",        "max.f32 F, f, f",       "neg.f32 F, f",          "abs.f32 F, f",
    "add.rz.f32 F, f, f",     "mul.rm.f32 F, f, f",    "fma.rp.f32 F, f, f, f", "fma.rm.f32 F, f, f, f",
    "cvt.sat.f32.f32 F, f",   "copysign.f32 F, f, f",  "rcp.rn.ftz.f32 F, f",   "cvt.rn.f64.s64 D, q",
    "cvt.rmi.s32.f32 R, f",   "cvt.rpi.s32.f32 R, f",  "cvt.rni.f32.f32 F, f",  "cvt.rzi.f32.f32 F, f",
    "add.ftz.f32 F, f, f",    "mul.ftz.f32 F, f, f",   "mul.sat.f32 F, f, f",   "fma.rn.ftz.f32 F, f, f, f",
    "cvt.rn.f32.s32 F, r",    "cvt.rn.f32.u32 F, r",   "cvt.rn.f32.s64 F, q",   "cvt.rzi.s32.f32 R, f",
    "cvt.rni.s32.f32 R, f",   "cvt.rzi.u32.f32 R, f",  "cvt.rmi.s64.f32 Q, f",  "cvt.rpi.f32.f32 F, f",
    "cvt.rmi.f32.f32 F, f",   "cvt.f64.f32 D, f",      "cvt.rn.f32.f64 F, d",   "cvt.rn.f64.s32 D, r",
    "cvt.rn.f64.u64 D, q",    "cvt.rzi.s32.f64 R, d",  "add.f64 D, d, d",       "sub.f64 D, d, d",
    "mul.f64 D, d, d",        "fma.rn.f64 D, d, d, d", "div.rn.f64 D, d, d",    "sqrt.rn.f64 D, d",
    "min.f64 D, d, d",        "max.f64 D, d, d",       "neg.f64 D, d",          "mov.f32 F, f",
    "mov.b32 F, r",           "mov.b32 R, f",          "mov.b64 Q, d",          "selp.f32 F, f, f, p",
    "selp.f64 D, d, d, p",    "setp.E.f32 P, f, f",    "setp.E.f64 P, d, d",    "setp.E.and.f32 P|P, f, f, p",
    "setp.E.ftz.f32 P, f, f", "cvt.rn.f32.u16 F, h",   "cvt.rn.f32.u8 F, r",
};
#define GEN_COUNT(array)   ((uint32_t)(sizeof(array) / sizeof *(array)))
#define GEN_PICK(g, array) array[gen_random(g, GEN_COUNT(array))]

static inline void gen_immediate(struct gen *g, char class)
{
    static const uint32_t words[] = {0,          1,          2,          3,          4,          5,
                                     7,          8,          31,         32,         33,         64,
                                     255,        1023,       0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                                     0xfffffff0, 0xfffffffe, 0x40000000, 0xffffffe1, 12345,      0x55555555};
    static const uint64_t longs[] = {0,
                                     1,
                                     4,
                                     8,
                                     64,
                                     0xffffffff,
                                     0x100000000,
                                     0x8000000000000000,
                                     0xffffffffffffffff,
                                     0xfffffffffffffff8,
                                     0x7fffffffffffffff,
                                     0x123456789abcdef};
    static const uint32_t floats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f000000,
                                      0x00000001, 0x007fffff, 0x00800000, 0x4b800000, 0x4f000000,
                                      0xcf000000, 0x3dcccccd, 0x7149f2ca, 0x40490fdb};
    switch (class) {
    case 'q': gen_put(g, "0x%llx", (unsigned long long)GEN_PICK(g, longs)); break;
    case 'f': gen_put(g, "0f%08x", GEN_PICK(g, floats)); break;
    case 'd': gen_put(g, "0d%08x%08x", 0x3f000000 + gen_random(g, 1 << 24), gen_random(g, 1u << 31)); break;
    case 'h': gen_put(g, "0x%x", GEN_PICK(g, words) & 0xffff); break;
    case 's': gen_put(g, "%u", gen_random(g, 40)); break;
    case 'b': gen_put(g, "%u", gen_random(g, 256)); break;
    case 'i': gen_put(g, "%d", (int)GEN_PICK(g, words)); break;
    default: gen_put(g, "0x%x", GEN_PICK(g, words)); break;
    }
}
static inline uint32_t gen_register_count(char class)
{
    return class == 'r' ? 10 : class == 'h' || class == 'd' ? 3 : 5;
}
static inline void gen_register(struct gen *g, char class)
{
    gen_put(g, "%%%c%u", class, gen_random(g, gen_register_count(class)));
}
static const char *const gen_places[] = {"%tx",  "%ty",  "%cx",  "%nx",  "%lane", "%tidl",
                                         "%gid", "%gid", "%gid", "%bid", "%nt",   "%bid"};
static inline void gen_source(struct gen *g, char letter)
{
    if ((letter == 'x' || letter == 'r') && gen_random(g, 4) == 0) {
        gen_put(g, "%s", GEN_PICK(g, gen_places));
    } else if (letter == 'x' || letter == 'y' || letter == 'p') {
        gen_register(g, letter == 'x' ? 'r' : letter == 'y' ? 'q' : 'p');
    } else if (strchr("bi", letter) || (letter == 's' && gen_random(g, 4)) || gen_random(g, 5) == 0) {
        gen_immediate(g, letter);
    } else {
        gen_register(g, letter == 's' ? 'r' : letter);
    }
}
/* Keeps a float that was just written from being NaN or infinite. */
static inline void gen_tame(struct gen *g, const char *reg, const char *guard)
{
    bool wide = reg[1] == 'd';
    const char *t = wide ? "f64" : "f32";
    gen_put(g, " %smax.%s %s, %s, %s;", guard, t, reg, reg, wide ? "0dC7E0000000000000" : "0fF149F2CA");
    gen_put(g, " %smin.%s %s, %s, %s;", guard, t, reg, reg, wide ? "0d47E0000000000000" : "0f7149F2CA");
}
static inline void gen_computation(struct gen *g, const char *pattern)
{
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    static const char *const float_compares[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",
                                                 "equ", "neu", "ltu", "leu", "gtu", "geu"};
    char written[2][16] = {"", ""}, guard[16] = "";
    int n = 0;
    if (gen_random(g, 6) == 0)
        snprintf(guard, sizeof guard, "@%s%%p%u ", gen_random(g, 2) ? "!" : "", gen_random(g, 5));
    gen_put(g, "%s", guard);
    const char *operands = strchr(pattern, ' ');
    for (const char *s = pattern; *s; s++) {
        bool alone = s > operands && (s[1] < 'a' || s[1] > 'z') && s[-1] != '%' && (s[-1] < 'a' || s[-1] > 'z');
        if (s < operands && *s == 'C') {
            gen_put(g, "%s", GEN_PICK(g, compares));
        } else if (s < operands && *s == 'E') {
            gen_put(g, "%s", GEN_PICK(g, float_compares));
        } else if (s > operands && *s == '%') { /* a name as it stands */
            for (; *s && *s != ','; s++) gen_put(g, "%c", *s);
            s--;
        } else if (alone && strchr("RQHFDP", *s)) {
            char class = (char)(*s + 'a' - 'A'), name[16];
            uint32_t k = gen_random(g, gen_register_count(class));
            snprintf(name, sizeof name, "%%%c%u", class, k);
            if (n == 1 && !strcmp(name, written[0]))
                snprintf(name, sizeof name, "%%%c%u", class, (k + 1) % gen_register_count(class));
            if (n < 2) snprintf(written[n++], sizeof written[0], "%s", name);
            gen_put(g, "%s", name);
        } else if (alone && strchr("rqhfdpxysbi", *s)) {
            gen_source(g, *s);
        } else {
            gen_put(g, "%c", *s);
        }
    }
    gen_put(g, ";");
    /* A guarded write may leave the guard behind changed, so what follows does not rely on it. */
    if (written[0][1] == 'f' || written[0][1] == 'd') gen_tame(g, written[0], "");
    gen_put(g, "\n");
}
static inline void gen_compute(struct gen *g)
{
    gen_computation(g, gen_random(g, 3) ? GEN_PICK(g, gen_integer) : GEN_PICK(g, gen_float));
}

#endif
