/* How a trace reads in a terminal. */
#include <stdio.h>
#include <string.h>
#include "lang/fold.h"
#include "lang/profile.h"
#include "lang/trace.h"

#define WIDE_TRACE  112 /* columns; with less, lanes and changes of a step stand below its line */
#define MOST_SOURCE 42  /* characters of a source line */
#define LISTED      4   /* values of lanes that follow no rule */
#define MOST_RUNS   8   /* of a step's elements of shared memory */

/* ---- values ---- */
static void put(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(char *out, size_t size, const char *format, ...)
{
    size_t n = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + n, size - n, format, args);
    va_end(args);
}

static int64_t as_integer(const struct simt_debug_variable *v, uint64_t bits)
{
    int unused = 64 - 8 * (int)v->size;
    return v->kind == SIMT_VALUE_SIGNED ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

/* A pointer into an argument is named by it. */
static void put_pointer(const struct lg_trace *t, uint64_t address, char *out, size_t size)
{
    for (size_t k = 0; k < t->array_count; k++) {
        const struct lg_trace_array *a = &t->arrays[k];
        if (!a->name || address < a->address || address - a->address > a->bytes) continue;
        if ((address - a->address) % a->element) continue;
        put(out, size, "&%s[%llu]", a->name, (unsigned long long)((address - a->address) / a->element));
        return;
    }
    put(out, size, "0x%llx", (unsigned long long)address);
}

static void put_scalar(const struct lg_trace *t, const struct simt_debug_variable *v, uint64_t bits, char *out,
                       size_t size)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    switch (v->kind) {
    case SIMT_VALUE_BOOL: put(out, size, "%s", bits ? "true" : "false"); return;
    case SIMT_VALUE_POINTER: put_pointer(t, bits, out, size); return;
    case SIMT_VALUE_FLOAT:
        memcpy(&f, &low, sizeof f);
        memcpy(&d, &bits, sizeof d);
        put(out, size, "%.6g", v->size == 4 ? (double)f : d);
        return;
    case SIMT_VALUE_UNSIGNED: put(out, size, "%llu", (unsigned long long)bits); return;
    default: put(out, size, "%lld", (long long)as_integer(v, bits));
    }
}

static double as_number(const struct simt_debug_variable *v, uint64_t bits)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return v->kind != SIMT_VALUE_FLOAT ? (double)as_integer(v, bits) : v->size == 4 ? (double)f : d;
}

/* first, first + step .. last: numbers that rise or fall evenly from lane to lane. */
static bool is_even(const struct simt_debug_variable *v, const struct simt_trace_value *value, double *step)
{
    int first = __builtin_ctz(value->lanes), previous = -1, lanes = __builtin_popcount(value->lanes);
    if (v->kind == SIMT_VALUE_BOOL || lanes < 3) return false;
    for (int l = first; l < 32; l++) {
        if (!(value->lanes >> l & 1)) continue;
        if (previous >= 0) {
            double d = as_number(v, value->bits[l]) - as_number(v, value->bits[previous]);
            if (previous == first) *step = d;
            if (d != *step || d == 0) return false;
        }
        previous = l;
    }
    return true;
}

static bool are_same(const struct simt_trace_value *v)
{
    uint64_t first = v->bits[__builtin_ctz(v->lanes)];
    for (int l = 0; l < 32; l++)
        if (v->lanes >> l & 1 && v->bits[l] != first) return false;
    return true;
}

/* Adds the values of a variable; `shown`: only of these lanes, one by one. */
static void put_values(const struct lg_trace *t, const struct simt_debug_variable *variable,
                       const struct simt_trace_value *v, uint32_t shown, char *out, size_t size)
{
    int first = __builtin_ctz(v->lanes), last = 31 - __builtin_clz(v->lanes), listed = 0;
    uint32_t rest = v->lanes & (v->lanes - 1), wanted = shown ? v->lanes & shown : v->lanes;
    double step = 0;
    if (!wanted || (are_same(v) && !shown)) {
        if (wanted) put_scalar(t, variable, v->bits[first], out, size);
        if (!wanted) put(out, size, "(not of these lanes)");
    } else if (!shown && is_even(variable, v, &step)) {
        put_scalar(t, variable, v->bits[first], out, size);
        bool one = step == 1 && variable->kind != SIMT_VALUE_FLOAT;
        put(out, size, one ? ".." : ", ");
        if (!one) put_scalar(t, variable, v->bits[__builtin_ctz(rest)], out, size);
        if (!one) put(out, size, " .. ");
        put_scalar(t, variable, v->bits[last], out, size);
    } else {
        for (int l = 0; l < 32; l++) {
            if (!(wanted >> l & 1)) continue;
            if (!shown && listed == LISTED) {
                put(out, size, " ...");
                break;
            }
            if (listed++) put(out, size, " ");
            put_scalar(t, variable, v->bits[l], out, size);
        }
    }
}

static void put_variable(const struct lg_trace *t, const struct simt_trace_value *v, char *out, size_t size)
{
    const struct simt_debug_variable *variable = &t->result->debug->variables[v->variable];
    snprintf(out, size, "%s = ", variable->name);
    put_values(t, variable, v, t->shown, out, size);
}

/* ---- shared memory ---- */
static bool is_shown(const struct lg_trace *t, const struct simt_trace_cell *c)
{
    return !t->shown || (t->shown & c->lanes);
}

/* How many elements from c on rise evenly: 32 at most, and two only when they are neighbours. */
static uint32_t run_of(const struct lg_trace *t, const struct simt_trace_cell *c, uint32_t room)
{
    uint32_t n = 1, step = room > 1 ? c[1].index - c[0].index : 0;
    while (n < 32 && n < room && c[n].array == c->array && c[n].size == c->size && c[n].kind == c->kind &&
           c[n].index - c[n - 1].index == step && is_shown(t, &c[n]))
        n++;
    return n == 2 && step != 1 ? 1 : n;
}

/* The elements from *at on that belong together, and sets *at behind them; "" when there are no more in the step. */
static void put_run(const struct lg_trace *t, const struct simt_trace_step *s, uint32_t *at, char *out, size_t size)
{
    const struct simt_trace_cell *cells = t->result->cells + s->first_cell;
    *out = 0;
    while (*at < s->cell_count && !is_shown(t, &cells[*at])) ++*at;
    if (*at >= s->cell_count) return;
    const struct simt_trace_cell *c = &cells[*at];
    const struct simt_trace_array *a = &t->result->arrays[c->array];
    uint32_t n = run_of(t, c, s->cell_count - *at), step = n > 1 ? c[1].index - c[0].index : 1;
    struct simt_debug_variable element = {.name = a->name, .kind = c->kind, .size = c->size};
    struct simt_trace_value v = {.lanes = UINT32_MAX >> (32 - n)};
    for (uint32_t k = 0; k < n; k++) v.bits[k] = c[k].bits;
    snprintf(out, size, "%.60s", a->name);
    if (n > 1 && step == 1)
        put(out, size, "[%u..%u]", c->index, c[n - 1].index);
    else if (n > 1)
        put(out, size, "[%u, %u .. %u]", c->index, c[1].index, c[n - 1].index);
    else if (a->bytes > c->size)
        put(out, size, "[%u]", c->index);
    put(out, size, " = ");
    put_values(t, &element, &v, 0, out, size);
    *at += n;
}

bool lg_trace_change_text(const struct lg_trace *t, const struct simt_trace_step *s, struct lg_trace_change *at,
                          char *out, size_t size)
{
    if (at->value < s->value_count) {
        put_variable(t, &t->result->values[s->first_value + at->value++], out, size);
        return true;
    }
    if (at->runs > MOST_RUNS) return false;
    put_run(t, s, &at->cell, out, size);
    if (*out && at->runs++ == MOST_RUNS) snprintf(out, size, "...");
    return *out;
}

/* ---- parts ---- */
void lg_trace_title(const struct lg_trace *t, char *out, size_t size)
{
    const unsigned *b = t->launch.block, *at = t->request.block;
    unsigned first = t->request.warp * 32;
    uint32_t exists = t->result->exists ? t->result->exists : 1;
    unsigned last = first + 31 - (unsigned)__builtin_clz(exists);
    snprintf(out, size, "block (%u, %u, %u), warp %u, threads (%u, %u, %u) to (%u, %u, %u)", at[0], at[1], at[2],
             t->request.warp, first % b[0], first / b[0] % b[1], first / b[0] / b[1], last % b[0], last / b[0] % b[1],
             last / b[0] / b[1]);
}

bool lg_trace_rest(const struct lg_trace *t, size_t shown, char *out, size_t size)
{
    unsigned long long all = t->result->all_steps;
    if (shown >= all) return false;
    if (shown < t->result->step_count)
        snprintf(out, size, "and %llu more steps, which print(...) shows", all - shown);
    else
        snprintf(out, size, "and %llu more steps; gpu.trace(...){steps = %llu} keeps them", all - shown, all);
    return true;
}

const char *lg_trace_source(const struct lg_trace *t, const struct simt_trace_step *s, size_t *length)
{
    const char *text = lg_source_line(t->kernel->program->text, s->line, length);
    size_t blanks = text ? strspn(text, " \t") : 0;
    if (!text) return NULL;
    if (blanks > *length) blanks = *length;
    *length -= blanks;
    return text + blanks;
}

/* ---- the text ---- */
static size_t indent_of(const struct simt_trace_step *s)
{
    return s->depth < 4 ? 2 * s->depth : 8;
}

static size_t characters(const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) n += (text[i] & 0xC0) != 0x80;
    return n;
}

static size_t source_width(const struct lg_trace *t, size_t limit)
{
    size_t most = 6;
    for (uint32_t k = 0; k < t->result->step_count; k++) {
        size_t length = 0;
        const char *text = lg_trace_source(t, &t->result->steps[k], &length);
        size_t n = text ? characters(text, length) + indent_of(&t->result->steps[k]) : 0;
        if (n > most) most = n;
    }
    return most < limit ? most : limit;
}

static void add_source(luaL_Buffer *b, const struct lg_trace *t, const struct simt_trace_step *s, size_t width)
{
    size_t length = 0, column = indent_of(s);
    const char *text = lg_trace_source(t, s, &length);
    size_t all = text ? characters(text, length) + column : column;
    for (size_t i = 0; i < column; i++) luaL_addchar(b, i % 2 ? ' ' : '>');
    for (size_t i = 0; text && i < length; i++) {
        bool starts = (text[i] & 0xC0) != 0x80;
        if (starts && all > width && column == width - 3) {
            luaL_addstring(b, "...");
            return;
        }
        column += starts;
        luaL_addchar(b, (unsigned char)text[i] < 32 || text[i] == 127 ? ' ' : text[i]);
    }
    for (; column < width; column++) luaL_addchar(b, ' ');
}

static void add_changes(luaL_Buffer *b, const struct lg_trace *t, const struct simt_trace_step *s, int margin,
                        int columns)
{
    size_t room = (size_t)(columns - margin - 2), used = 0;
    struct lg_trace_change at = {0};
    for (char text[160]; lg_trace_change_text(t, s, &at, text, sizeof text);) {
        size_t n = characters(text, strlen(text));
        if (used && used + 3 + n > room) {
            lg_add_format(b, "\n%*s|", margin, "");
            used = 0;
        }
        lg_add_format(b, used ? "   %s" : " %s", text);
        used += (used ? 3 : 0) + n;
    }
}

static void write_lanes(const struct simt_trace_step *s, char out[33])
{
    for (int l = 0; l < 32; l++) out[l] = s->lanes >> l & 1 ? '#' : '.';
    out[32] = 0;
}

/* The step's line, and below it the lanes and what changed. */
static void add_narrow_step(luaL_Buffer *b, const struct lg_trace *t, const struct simt_trace_step *s, unsigned number,
                            int columns)
{
    char lanes[33];
    write_lanes(s, lanes);
    lg_add_format(b, "\n%5u %5d  ", number, s->line + t->kernel->program->first_line - 1);
    add_source(b, t, s, (size_t)columns - 13);
    lg_add_format(b, "\n      %s", lanes);
    struct lg_trace_change at = {0};
    char first[160];
    if (!lg_trace_change_text(t, s, &at, first, sizeof first)) return;
    lg_add_format(b, "\n%*s|", 5, "");
    add_changes(b, t, s, 5, columns);
}

void lg_push_trace_text(lua_State *L, const struct lg_trace *t)
{
    const struct simt_trace *r = t->result;
    char text[200], lanes[33];
    luaL_Buffer b;
    int shown = lg_columns(L), columns = shown && shown < LG_WIDE ? shown : LG_WIDE;
    bool narrow = columns < WIDE_TRACE;
    size_t width = source_width(t, narrow ? (size_t)columns - 13 : MOST_SOURCE);
    luaL_buffinit(L, &b);
    lg_trace_title(t, text, sizeof text);
    lg_add_format(&b, "trace of %.300s: ", t->kernel->entry->name);
    lg_add_folded(&b, text, strlen(text), (int)strlen(t->kernel->entry->name) + 11, 2, shown);
    if (narrow)
        luaL_addstring(&b, "\n\n step  line  source, lanes, changes");
    else
        lg_add_format(&b, "\n\n%5s %5s  %-32s  %-*s | changes", "step", "line", "lanes", (int)width, "source");
    for (uint32_t k = 0; k < r->step_count; k++) {
        const struct simt_trace_step *s = &r->steps[k];
        if (narrow) {
            add_narrow_step(&b, t, s, k + 1, columns);
            continue;
        }
        write_lanes(s, lanes);
        lg_add_format(&b, "\n%5u %5d  %s  ", k + 1, s->line + t->kernel->program->first_line - 1, lanes);
        add_source(&b, t, s, width);
        luaL_addstring(&b, " |");
        add_changes(&b, t, s, (int)width + 48, columns);
    }
    if (lg_trace_rest(t, r->step_count, text, sizeof text)) {
        luaL_addchar(&b, '\n');
        lg_add_folded(&b, text, strlen(text), 0, 2, shown);
    }
    luaL_pushresult(&b);
}
