/* The functions that device code calls and nobody defines: vprintf, __assertfail, malloc and free. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/exec.h"
#include "runtime/simt/heap.h"

#define MAX_FORMAT   4096
#define MAX_FIELD    4096
#define OUTPUT_LIMIT (1u << 20) /* bytes kept back before they are written */

int simt_builtin_find(const char *name)
{
    static const char *const names[BUILTIN_COUNT] = {"vprintf", "__assertfail", "malloc", "free"};
    for (int k = 0; k < BUILTIN_COUNT; k++)
        if (!strcmp(names[k], name)) return k;
    return -1;
}

/* ---- output ---- */
static void print(const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
}

static void (*print_by)(const char *text, size_t bytes) = print;

void simt_print_by(void (*other)(const char *text, size_t bytes))
{
    print_by = other;
}

void simt_output_flush(struct output *o)
{
    if (!o->length) return;
    print_by(o->text, o->length);
    o->length = 0;
}

struct text { /* what one call prints */
    char *bytes;
    size_t length, capacity;
};

static void append(struct text *t, const char *s, size_t n)
{
    if (!n) return;
    if (t->length + n > t->capacity) {
        size_t capacity = (t->length + n) * 2 + 256;
        char *p = rt_realloc(t->bytes, capacity);
        if (!p) return; /* out of memory: the rest of the line is lost */
        t->bytes = p;
        t->capacity = capacity;
    }
    memcpy(t->bytes + t->length, s, n);
    t->length += n;
}

static void print_out(struct run *r, const struct text *t)
{
    if (!t->length) return;
    pthread_mutex_lock(r->lock);
    struct output *o = &r->output;
    if (o->length + t->length > o->capacity) {
        size_t capacity = o->capacity * 2 + t->length + 4096;
        char *p = rt_realloc(o->text, capacity);
        if (p) {
            o->text = p;
            o->capacity = capacity;
        }
    }
    if (o->length + t->length <= o->capacity) {
        memcpy(o->text + o->length, t->bytes, t->length);
        o->length += t->length;
    } else {
        simt_output_flush(o);
        print_by(t->bytes, t->length);
    }
    if (o->length > OUTPUT_LIMIT) simt_output_flush(o);
    pthread_mutex_unlock(r->lock);
}

/* ---- printf ---- */
struct arguments { /* the buffer of values: each at its natural alignment */
    struct warp *w;
    int lane;
    uint64_t at;    /* generic address */
    uint32_t count; /* of those read */
};

static bool next_value(struct arguments *a, uint32_t size, uint64_t *value)
{
    const struct insn read = {.d2 = a->w->worker->program->cache_count};
    a->at = (a->at + size - 1) & ~(uint64_t)(size - 1);
    const void *p = simt_lane_address(a->w, &read, a->lane, PTX_GENERIC, a->at, size, false);
    if (!p) return false;
    *value = 0;
    memcpy(value, p, size);
    a->at += size;
    a->count++;
    return true;
}

/* One conversion: flags, width, precision and length are collected into a host format without surprises. */
struct conversion {
    char spec[64];
    size_t length;
    bool wide;       /* l, ll, z, j, t */
    char short_kind; /* h or H for hh */
    char kind;
};

static bool read_conversion(const char **format, struct arguments *a, struct conversion *c)
{
    const char *s = *format;
    memset(c, 0, sizeof *c);
    c->spec[c->length++] = '%';
    for (; *s && strchr("-+ #0123456789.*", *s); s++) {
        if (*s == '*') {
            uint64_t v;
            if (!next_value(a, 4, &v)) return false;
            int n = (int)(uint32_t)v;
            if (n > MAX_FIELD) n = MAX_FIELD;
            if (n < -MAX_FIELD) n = -MAX_FIELD;
            char number[16];
            size_t k = (size_t)snprintf(number, sizeof number, "%d", n);
            if (n < 0 && c->spec[c->length - 1] == '.') { /* as if it were not there */
                c->length--;
                continue;
            }
            for (size_t j = 0; j < k && c->length < 40; j++) c->spec[c->length++] = number[j];
        } else if (c->length < 40) {
            c->spec[c->length++] = *s;
        }
    }
    for (; *s && strchr("hljztL", *s); s++) {
        if (*s == 'h') c->short_kind = c->short_kind ? 'H' : 'h';
        if (*s != 'h' && *s != 'L') c->wide = true;
    }
    c->kind = *s;
    *format = *s ? s + 1 : s;
    return true;
}

/* Widths as in "%999999d" would make megabytes of one field: they are cut. */
static void limit_numbers(struct conversion *c)
{
    for (size_t k = 1; k < c->length;) {
        if (c->spec[k] < '0' || c->spec[k] > '9') {
            k++;
            continue;
        }
        size_t end = k;
        while (end < c->length && c->spec[end] >= '0' && c->spec[end] <= '9') end++;
        if (end - k > 4) {
            memmove(c->spec + k + 3, c->spec + end, c->length - end);
            c->length -= end - k - 3;
            end = k + 3;
        }
        k = end;
    }
}

/* Bytes of the argument that a conversion takes; 0: it is none. */
static uint32_t argument_bytes(const struct conversion *c)
{
    if (!c->kind) return 0;
    if (c->kind == 'c') return 4;
    if (strchr("diuxXo", c->kind)) return c->wide ? 8 : 4;
    return strchr("pseEfFgGaA", c->kind) ? 8 : 0;
}

static long long signed_of(const struct conversion *c, uint64_t v)
{
    return c->wide ? (long long)v : c->short_kind == 'h' ? (int16_t)v : c->short_kind == 'H' ? (int8_t)v : (int32_t)v;
}

static unsigned long long unsigned_of(const struct conversion *c, uint64_t v)
{
    return c->short_kind == 'h' ? (uint16_t)v : c->short_kind == 'H' ? (uint8_t)v : v;
}

static double real_of(uint64_t v)
{
    double x;
    memcpy(&x, &v, sizeof x);
    return isnan(x) ? NAN : x; /* the sign is the host's: a GPU's NaN of floats has none */
}

static bool print_conversion(struct text *t, struct arguments *a, struct conversion *c)
{
    char field[MAX_FIELD + 512], string[MAX_FORMAT];
    uint32_t bytes = argument_bytes(c);
    uint64_t v;
    int n;
    limit_numbers(c);
    if (!bytes) { /* as the device does: what is no conversion is printed as it stands */
        append(t, c->spec, c->length);
        if (c->kind) append(t, &c->kind, 1);
        return true;
    }
    if (!next_value(a, bytes, &v)) return false;
    sprintf(c->spec + c->length, "%s%c", strchr("diuxXo", c->kind) ? "ll" : "", c->kind);
    switch (c->kind) {
    case 'd':
    case 'i': n = snprintf(field, sizeof field, c->spec, signed_of(c, v)); break;
    case 'u':
    case 'x':
    case 'X':
    case 'o': n = snprintf(field, sizeof field, c->spec, unsigned_of(c, v)); break;
    case 'c': n = snprintf(field, sizeof field, c->spec, (int)(unsigned char)v); break;
    case 'p': n = snprintf(field, sizeof field, c->spec, (void *)(uintptr_t)v); break;
    case 's':
        strcpy(string, "(null)");
        if (v && !simt_lane_string(a->w, a->lane, v, string, sizeof string)) return false;
        n = snprintf(field, sizeof field, c->spec, string);
        break;
    default: n = snprintf(field, sizeof field, c->spec, real_of(v));
    }
    if (n > 0) append(t, field, (size_t)n < sizeof field ? (size_t)n : sizeof field - 1);
    return true;
}

static bool format_all(struct text *t, const char *format, struct arguments *a)
{
    while (*format) {
        size_t plain = strcspn(format, "%");
        append(t, format, plain);
        format += plain;
        if (!*format) break;
        format++;
        if (*format == '%') {
            append(t, format++, 1);
            continue;
        }
        struct conversion c;
        if (!read_conversion(&format, a, &c) || !print_conversion(t, a, &c)) return false;
    }
    return true;
}

/* ---- arguments of the call ---- */
static char *local_of(struct warp *w, uint32_t lane, uint32_t offset)
{
    return w->local + (size_t)lane * w->worker->local_bytes + w->local_base + offset;
}
uint64_t simt_call_argument(struct warp *w, const struct call_site *c, uint32_t lane, uint32_t k)
{
    uint64_t v = 0;
    if (k < c->arg_count) memcpy(&v, local_of(w, lane, c->arg_offset[k]), c->arg_size[k] < 8 ? c->arg_size[k] : 8);
    return v;
}
static void answer(struct warp *w, const struct call_site *c, uint32_t lane, uint64_t v)
{
    if (c->return_count)
        memcpy(local_of(w, lane, c->return_offset[0]), &v, c->return_size[0] < 8 ? c->return_size[0] : 8);
}

static enum event call_vprintf(struct warp *w, const struct call_site *c, uint32_t m)
{
    struct text t = {0};
    enum event ev = EV_NEXT;
    EACH_LANE(l, m)
    {
        char format[MAX_FORMAT];
        struct arguments a = {.w = w, .lane = (int)l, .at = simt_call_argument(w, c, l, 1)};
        size_t start = t.length;
        if (!simt_lane_string(w, (int)l, simt_call_argument(w, c, l, 0), format, sizeof format) ||
            !format_all(&t, format, &a)) {
            t.length = start;
            ev = EV_FAULT;
            break;
        }
        answer(w, c, l, a.count);
    }
    if (t.length) print_out(w->worker->run, &t);
    free(t.bytes);
    return ev;
}

/* __assertfail(message, file, line, function, character size): the fault says what the source says. */
static enum event call_assertfail(struct warp *w, const struct call_site *c, uint32_t m)
{
    int lane = __builtin_ctz(m);
    char message[256], file[128], function[128];
    if (!simt_lane_string(w, lane, simt_call_argument(w, c, (uint32_t)lane, 0), message, sizeof message) ||
        !simt_lane_string(w, lane, simt_call_argument(w, c, (uint32_t)lane, 1), file, sizeof file) ||
        !simt_lane_string(w, lane, simt_call_argument(w, c, (uint32_t)lane, 3), function, sizeof function))
        return EV_FAULT;
    simt_fault_set(w, lane, SIMT_FAULT_ASSERT, "assertion `%s' failed in %s", message, function);
    struct simt_fault *f = &w->worker->fault;
    memcpy(f->file, file, sizeof file);
    memcpy(f->assertion, message, sizeof message);
    memcpy(f->function, function, sizeof function);
    f->first = (unsigned)w->index * SIMT_WARP;
    f->lanes = m;
    f->line = (int)simt_call_argument(w, c, (uint32_t)lane, 2);
    f->column = 0;
    return EV_FAULT;
}

static enum event call_malloc(struct warp *w, const struct call_site *c, uint32_t m)
{
    struct simt_observer *o = w->worker->observer;
    EACH_LANE(l, m)
    {
        uint64_t bytes = simt_call_argument(w, c, l, 0), address = simt_heap_malloc(bytes);
        if (address && o && o->gave) o->gave(o, w, l, address, bytes);
        answer(w, c, l, address);
    }
    return EV_NEXT;
}

static enum event call_free(struct warp *w, const struct call_site *c, uint32_t m)
{
    struct worker *k = w->worker;
    EACH_LANE(l, m)
    {
        uint64_t address = simt_call_argument(w, c, l, 0);
        if (!address || simt_heap_free(address)) continue;
        simt_fault_set(w, (int)l, SIMT_FAULT_ADDRESS,
                       "free of 0x%llx, which malloc did not return in a kernel or which was freed before",
                       (unsigned long long)address);
        k->fault.address = address;
        k->fault.access_length = strlen(k->fault.text);
        return EV_FAULT;
    }
    memset(k->ranges, 0, (k->program->cache_count + 1) * sizeof *k->ranges); /* they may hold what was freed */
    return EV_NEXT;
}

enum event simt_builtin_call(struct warp *w, const struct call_site *c, uint32_t m)
{
    switch (-2 - c->function) {
    case BUILTIN_VPRINTF: return call_vprintf(w, c, m);
    case BUILTIN_ASSERTFAIL: return call_assertfail(w, c, m);
    case BUILTIN_MALLOC: return call_malloc(w, c, m);
    default: return call_free(w, c, m);
    }
}
