/* What a call into runtime/ or kernels/ can end with.
 *
 * A function that can fail returns `enum rt_status` (RT_OK is zero) or a pointer that is NULL on failure, and fills the
 * caller's `struct rt_error`. Nothing here prints, aborts or jumps. An error struct starts as all zeros, may be used
 * again and again, and is released with rt_error_clear. Passing NULL for it is allowed and loses the text only. */
#ifndef RT_STATUS_H
#define RT_STATUS_H

#include <stdarg.h>
#include <stddef.h>

/* One row per status: enumerator, the word that users and tests see. */
#define RT_STATUSES(X)                                                                                                 \
    X(RT_OK, "ok")                                                                                                     \
    X(RT_INVALID, "invalid argument")   /* the caller's mistake */                                                     \
    X(RT_NOMEM, "out of memory")        /* host or device memory; the text has the sizes */                            \
    X(RT_MISSING, "not available")      /* a file, library or device that is not there; the text says what to do */    \
    X(RT_UNSUPPORTED, "not supported")  /* something that this version cannot do */                                    \
    X(RT_COMPILE, "compilation failed") /* CUDA C or PTX that was refused; the text is the compiler's log */           \
    X(RT_FAULT, "kernel fault")         /* a kernel stopped at a fault: address, assert, trap */                       \
    X(RT_INTERRUPTED, "interrupted")    /* rt_interrupt was called while the work ran */                               \
    X(RT_DEVICE, "device error")        /* the driver reported something else */                                       \
    X(RT_IO, "input/output error")      /* the operating system refused a file operation */

enum rt_status {
#define X(name, text) name,
    RT_STATUSES(X)
#undef X
};

struct rt_error {
    enum rt_status status;
    char *text;      /* the message, one or more lines, never ending in a newline; NULL while status is RT_OK */
    char small[248]; /* what `text` points to when the message fits or when memory for a longer one is lacking */
};

/* Fills `e` (when not NULL) with a formatted message of any length and returns `status`. */
enum rt_status rt_fail(struct rt_error *e, enum rt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum rt_status rt_failv(struct rt_error *e, enum rt_status status, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Puts "prefix" in front of the message that `e` already holds. */
void rt_error_prefix(struct rt_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Releases the text; `e` is all zeros afterwards. */
void rt_error_clear(struct rt_error *e);

/* "1.5 MiB", as messages tell sizes, in out, which it returns. */
const char *rt_size_text(double bytes, char out[32]);

/* The word for a status, as in RT_STATUSES. */
const char *rt_status_name(enum rt_status status);

#endif
