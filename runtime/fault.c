#include "runtime/fault.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/compile.h"
#include "runtime/excerpt.h"
#include "runtime/simt/heap.h"
#include "runtime/spelling.h"

/* "that is x[1024], and x has 1024 elements" when the address lies near one of the arrays; empty else. */
static void name_element(const struct rt_kernel *k, const struct rt_arg *args, uint64_t address, char *out, size_t size)
{
    uint64_t nearest = 1 << 20; /* bytes; what is further away says little */
    for (size_t i = 0; i < k->entry->param_count; i++) {
        if (args[i].kind != RT_ARG_ARRAY) continue;
        const struct rt_array *a = args[i].as.array;
        const struct rt_param *p = &k->entry->params[i];
        int64_t element = rt_dtypes[a->dtype].size, count = rt_array_size(a);
        uint64_t start = rt_array_address(a), end = start + (uint64_t)(count * element);
        uint64_t distance = address >= end ? address - end : address < start ? start - address : nearest;
        if (!start || distance >= nearest) continue;
        nearest = distance;
        int64_t offset = (int64_t)(address - start);
        int64_t index = offset >= 0 ? offset / element : -((-offset + element - 1) / element);
        const char *plural = count == 1 ? "" : "s";
        if (p->name)
            snprintf(out, size, "\n  that is %s[%lld], and %s has %lld element%s", p->name, (long long)index, p->name,
                     (long long)count, plural);
        else
            snprintf(out, size, "\n  that is element %lld of argument %zu, which has %lld element%s", (long long)index,
                     i + 1, (long long)count, plural);
    }
}

/* ---- the line ---- */
/* Is the star at s an operator of one operand, as in "= *p", "return *p" and "(*p"? */
static bool is_unary(const char *from, const char *s)
{
    while (s > from && s[-1] == ' ') s--;
    if (s - from >= 6 && strncmp(s - 6, "return", 6) == 0) return true;
    return s == from || !(rt_in_name(s[-1]) || strchr(")]", s[-1]));
}

/* Is the word an argument that is an array, and never set to anything else in the source? */
static bool is_sound(const struct rt_kernel *k, const struct rt_arg *args, const char *word, size_t n)
{
    bool array = false;
    for (size_t i = 0; i < k->entry->param_count && !array; i++) {
        const char *name = k->entry->params[i].name;
        array = args[i].kind == RT_ARG_ARRAY && name && strlen(name) == n && strncmp(name, word, n) == 0 &&
                rt_array_address(args[i].as.array);
    }
    const char *first = k->program->text;
    for (const char *s = first; array && *s; s++) {
        if (strncmp(s, word, n) != 0 || (s > first && rt_in_name(s[-1])) || rt_in_name(s[n])) continue;
        const char *next = s + n + strspn(s + n, " \t");
        array = !(*next == '=' && next[1] != '=') && !(strchr("+-", *next) && *next && strchr("+-=", next[1]) &&
                                                       next[1] && !(next[0] == '-' && next[1] == '>'));
    }
    return array;
}

/* The pointer that a statement follows, from `at` of a line on: the place of the name of p in *p, p[i] and p->x, and
 * its length, where one only can have been null. NULL: there is none, or there are several, or it is a member. */
static const char *find_followed(const struct rt_kernel *k, const struct rt_arg *args, const char *at, size_t *length)
{
    const char *found = NULL, *end = at + strcspn(at, ";\n");
    *length = 0;
    for (const char *s = at; s < end; s++) {
        if (!(isalpha((unsigned char)*s) || *s == '_')) {
            while (s < end && isdigit((unsigned char)*s) && rt_in_name(s[1])) s++; /* a number such as 1e3f */
            continue;
        }
        const char *word = s, *before = s;
        while (s + 1 < end && rt_in_name(s[1])) s++;
        size_t n = (size_t)(s + 1 - word);
        while (before > at && before[-1] == ' ') before--;
        bool star = before > at && before[-1] == '*' && is_unary(at, before - 1);
        if (before - at > 1 && before[-1] == '*' && before[-2] == ')') return NULL; /* a product, or a cast */
        bool follows = s[1] == '[' || (s[1] == '-' && s[2] == '>') || star;
        bool member = before > at && (before[-1] == '.' || (before[-1] == '>' && before - at > 1 && before[-2] == '-'));
        if (!follows || (found && n == *length && strncmp(found, word, n) == 0)) continue;
        if (!member && is_sound(k, args, word, n)) continue;
        if (found || member) return NULL;
        found = word;
        *length = n;
    }
    return found;
}

/* Where a fault was seen in the kernel's own source: its line without the blanks in front. */
struct scene {
    const char *line; /* NULL: not known, or not of the kernel's own source */
    size_t length;
    int column;       /* in it, from 1; 0: not known */
    const char *name; /* of the pointer that was followed, in the line; NULL: not known */
    size_t name_length;
};

static void find_scene(const struct rt_kernel *k, const struct rt_arg *args, const struct simt_fault *f,
                       struct scene *out)
{
    const struct rt_program *p = k->program;
    *out = (struct scene){0};
    if (f->line <= 0 || (f->file[0] && !rt_is_source_name(f->file))) return;
    const char *s = p->text;
    for (int line = f->line; s && --line > 0;) s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL;
    if (!s) return;
    size_t indent = strspn(s, " \t"), n = strcspn(s, "\r\n");
    if (indent >= n) return;
    out->line = s + indent;
    out->length = n - indent;
    out->column = f->column > (int)indent && f->column <= (int)n ? f->column - (int)indent : 0;
    if (!out->column) return;
    const char *at = out->line + out->column - 1;
    size_t kernel = strlen(k->entry->name);
    bool whole = strncmp(at, k->entry->name, kernel) == 0; /* of a kernel of one line the compiler knows no more */
    if (whole) out->column = 0;
    if (!f->null) return;
    out->name = find_followed(k, args, at, &out->name_length);
    if (out->name) out->column = (int)(out->name - out->line) + 1;
}

/* The line in front of a newline, with a caret below the place in it. */
static void write_scene(const struct scene *s, int line, char *out, size_t size)
{
    *out = 0;
    if (!s->line) return;
    *out = '\n';
    rt_write_excerpt(line, s->line, s->length, s->column, 1, out + 1, size - 1);
}

static void note_place(const struct rt_program *p, const struct simt_fault *f, const struct scene *s,
                       struct rt_findings *out)
{
    struct rt_party *at = &out->fault;
    bool own = !f->file[0] || rt_is_source_name(f->file);
    *at = (struct rt_party){.line = f->line <= 0 ? 0 : f->line + (own ? p->first_line - 1 : 0), .column = s->column};
    if (at->line) snprintf(at->file, sizeof at->file, "%s", own ? p->name : f->file);
    int indent;
    if (s->line) rt_copy_line(p->text, f->line, at->source, sizeof at->source, &indent);
    memcpy(at->thread, f->thread, sizeof at->thread);
    memcpy(at->block, f->block, sizeof at->block);
    out->faulted = true;
}

enum rt_status rt_fault_report(const struct rt_kernel *k, const struct rt_arg *args, const struct simt_fault *f,
                               struct rt_findings *findings, struct rt_error *e)
{
    const struct rt_program *p = k->program;
    const char *name = strncmp(f->kernel, k->entry->mangled, sizeof f->kernel - 1) == 0 ? k->entry->name : f->kernel;
    char place[256] = "", element[200] = "", excerpt[RT_EXCERPT_TEXT + 1], pointer[80] = "";
    const bool interrupted = f->kind == SIMT_FAULT_INTERRUPTED;
    if (interrupted && f->line <= 0) return rt_fail(e, RT_INTERRUPTED, "interrupted in kernel %s", name);
    if (f->line > 0 && (!f->file[0] || rt_is_source_name(f->file)))
        snprintf(place, sizeof place, "%.200s:%d: ", p->name, f->line + p->first_line - 1);
    else if (f->line > 0)
        snprintf(place, sizeof place, "%s:%d: ", f->file, f->line);
    struct scene scene;
    find_scene(k, args, f, &scene);
    if (findings && !interrupted) note_place(p, f, &scene, findings);
    write_scene(&scene, f->line + p->first_line - 1, excerpt, sizeof excerpt);
    if (scene.name)
        snprintf(pointer, sizeof pointer, ": %.*s", (int)(scene.name_length < 60 ? scene.name_length : 60), scene.name);
    struct simt_block chunk;
    bool live; /* what malloc gave out is near no array, wherever it lies */
    if (f->kind == SIMT_FAULT_ADDRESS && !f->null && !simt_heap_find(f->address, &chunk, &live))
        name_element(k, args, f->address, element, sizeof element);
    char what[sizeof f->text];
    snprintf(what, sizeof what, "%s", f->text);
    if (element[0]) what[f->access_length] = 0; /* the array says more than what lies next to the address */
    char *text = rt_map_positions(what, p->name, p->first_line);
    enum rt_status ended = f->kind == SIMT_FAULT_NOMEM ? RT_NOMEM : interrupted ? RT_INTERRUPTED : RT_FAULT;
    enum rt_status status = rt_fail(e, ended, "%s%s%s%s\n  in kernel %s, block (%u, %u, %u), thread (%u, %u, %u)%s",
                                    place, text ? text : what, pointer, excerpt, name, f->block[0], f->block[1],
                                    f->block[2], f->thread[0], f->thread[1], f->thread[2], element);
    free(text);
    return status;
}
