#include "runtime/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

static const char *const names[] = {
#define X(name, text) text,
    RT_STATUSES(X)
#undef X
};

const char *rt_status_name(enum rt_status status)
{
    if ((size_t)status >= sizeof names / sizeof names[0]) return "unknown status";
    return names[status];
}

static void drop_text(struct rt_error *e)
{
    if (e->text && e->text != e->small) free(e->text);
    e->text = NULL;
}

/* Cuts `small` to whole UTF-8 characters and marks that something is missing. */
static void mark_cut(char *text, size_t size)
{
    size_t end = size - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
    memcpy(text + end, "...", sizeof "...");
}

static void trim_newlines(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r')) text[--n] = '\0';
}

/* The message is formatted before the old text is dropped, because the arguments may point into it. */
enum rt_status rt_failv(struct rt_error *e, enum rt_status status, const char *format, va_list args)
{
    if (!e) return status;
    char small[sizeof e->small];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(small, sizeof small, format, args);
    char *large = NULL;
    if (length < 0) {
        snprintf(small, sizeof small, "%s (its message could not be formatted)", rt_status_name(status));
    } else if ((size_t)length >= sizeof small) {
        large = rt_alloc((size_t)length + 1);
        if (large) {
            vsnprintf(large, (size_t)length + 1, format, again);
        } else {
            mark_cut(small, sizeof small);
        }
    }
    va_end(again);
    drop_text(e);
    e->status = status;
    if (large) {
        e->text = large;
    } else {
        memcpy(e->small, small, sizeof small);
        e->text = e->small;
    }
    trim_newlines(e->text);
    return status;
}

enum rt_status rt_fail(struct rt_error *e, enum rt_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rt_failv(e, status, format, args);
    va_end(args);
    return status;
}

void rt_error_prefix(struct rt_error *e, const char *format, ...)
{
    if (!e || !e->text) return;
    char prefix[512];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    rt_fail(e, e->status, "%s%s", prefix, e->text);
}

void rt_error_clear(struct rt_error *e)
{
    if (!e) return;
    drop_text(e);
    memset(e, 0, sizeof *e);
}

const char *rt_size_text(double bytes, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++) bytes /= 1024;
    snprintf(out, 32, !unit || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return out;
}
