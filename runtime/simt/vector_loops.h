/* The loops of the vector ops: part of vector_ops.h. */
typedef uint32_t u32 __attribute__((may_alias));
typedef int32_t s32 __attribute__((may_alias));
typedef uint64_t u64 __attribute__((may_alias));
typedef int64_t s64 __attribute__((may_alias));
typedef float f32 __attribute__((may_alias));
typedef double f64 __attribute__((may_alias));
typedef uint16_t u16 __attribute__((may_alias));
typedef int16_t s16 __attribute__((may_alias));

#define IVDEP _Pragma("GCC ivdep")
/* Runs the statement for every lane l of the mask. */
#define LANES(m, ...)                                                                                                  \
    if (__builtin_expect((m) == FULL, 1)) {                                                                            \
        IVDEP for (int l = 0; l < SIMT_WARP; l++)                                                                      \
        {                                                                                                              \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    } else {                                                                                                           \
        IVDEP for (int l = 0; l < SIMT_WARP; l++) if ((m) >> l & 1)                                                    \
        {                                                                                                              \
            __VA_ARGS__;                                                                                               \
        }                                                                                                              \
    }
/* Gives each lane l of the mask m the value of the expression in d[l], after the declarations. All lanes are computed,
 * a partial warp's beside the register: one loop for the compiler to vectorise where each op would have two. */
#define RESULT(T, declarations, expr)                                                                                  \
    T held[SIMT_WARP], *to = __builtin_expect(m == FULL, 1) ? d : held;                                                \
    IVDEP for (int l = 0; l < SIMT_WARP; l++)                                                                          \
    {                                                                                                                  \
        declarations;                                                                                                  \
        to[l] = (expr);                                                                                                \
    }                                                                                                                  \
    if (to == held) put_##T(d, held, m);
#define PUT(name, T)                                                                                                   \
    static __attribute__((noinline)) void name(void *to, const void *from, uint32_t m)                                 \
    {                                                                                                                  \
        T *d = to;                                                                                                     \
        const T *s = from;                                                                                             \
        IVDEP for (int l = 0; l < SIMT_WARP; l++) d[l] = m >> l & 1 ? s[l] : d[l];                                     \
    }
PUT(put_u32, u32)
PUT(put_u64, u64)
#define put_s32     put_u32
#define put_f32     put_u32
#define put_s64     put_u64
#define put_f64     put_u64

#define OP(name)    static enum event name(char *R, const struct insn *i, uint32_t m, struct warp *w)
#define UNUSED_WARP (void)w

#define UNARY(name, DT, AT, expr)                                                                                      \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        DT *d = (DT *)(R + i->d);                                                                                      \
        const AT *a = (const AT *)(R + i->a);                                                                          \
        RESULT(DT, AT x = a[l], expr)                                                                                  \
        return EV_NEXT;                                                                                                \
    }
#define BINARY(name, DT, AT, BT, expr)                                                                                 \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        DT *d = (DT *)(R + i->d);                                                                                      \
        const AT *a = (const AT *)(R + i->a);                                                                          \
        const BT *b = (const BT *)(R + i->b);                                                                          \
        RESULT(DT, AT x = a[l]; BT y = b[l], expr)                                                                     \
        return EV_NEXT;                                                                                                \
    }
#define TERNARY(name, DT, AT, CT, expr)                                                                                \
    OP(name)                                                                                                           \
    {                                                                                                                  \
        UNUSED_WARP;                                                                                                   \
        DT *d = (DT *)(R + i->d);                                                                                      \
        const AT *a = (const AT *)(R + i->a);                                                                          \
        const AT *b = (const AT *)(R + i->b);                                                                          \
        const CT *c = (const CT *)(R + i->c);                                                                          \
        RESULT(DT, AT x = a[l]; AT y = b[l]; CT z = c[l], expr)                                                        \
        return EV_NEXT;                                                                                                \
    }
