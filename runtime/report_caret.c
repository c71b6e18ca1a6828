/* Where in its line of source a report points: at the array, division or barrier that it is about. */
#include <string.h>
#include "runtime/report_inside.h"
#include "runtime/spelling.h"

/* The identifier in a text, from `from` on, but no member of something; NULL when it is not there. */
static const char *find_name(const char *from, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = from; (s = strstr(s, name)); s += n) {
        bool member = s > from && (s[-1] == '.' || (s[-1] == '>' && s - from > 1 && s[-2] == '-'));
        if (!member && (s == from || !rt_in_name(s[-1])) && !rt_in_name(s[n])) return s;
    }
    return NULL;
}

/* Is it `int s[64]`, the word before it a type? */
static bool is_declared(const char *from, const char *s)
{
    static const char *const words[] = {"return", "else", "do", "case", "delete"};
    const char *end = s;
    while (end > from && end[-1] == ' ') end--;
    const char *start = end;
    while (start > from && rt_in_name(start[-1])) start--;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k]) == (size_t)(end - start) && !strncmp(words[k], start, strlen(words[k]))) return false;
    return start < end;
}

/* Behind an array's name: is the element only written (x[i] = ...), read and written (x[i] += ..., x[i]++), or read? */
static enum simt_access use_of(const char *s)
{
    int depth = 0;
    for (s += strspn(s, " "); *s && (depth > 0 || *s == '['); s++) {
        depth += (*s == '[') - (*s == ']');
        if (!depth) s += strspn(s + 1, " ");
    }
    if (*s == '=') return s[1] == '=' ? ACCESS_READ : ACCESS_WRITE;
    bool twice = *s && s[1] == *s && strchr("+-<>", *s); /* ++ -- <<= >>= */
    bool assigns = *s && strchr("+-*/%&|^", *s) && s[1] == '=';
    return assigns || (twice && (strchr("+-", *s) || s[2] == '=')) ? ACCESS_UPDATE : ACCESS_READ;
}

/* The element that is used so, whatever its array is called; NULL when there is none, or elements of several arrays
 * are. */
static const char *find_any_element(const char *from, enum simt_access use)
{
    const char *found = NULL;
    size_t length = 0;
    for (const char *s = from; *s;) {
        const char *end = s;
        while (rt_in_name(*end)) end++;
        if (*end == '[' && end > s && use_of(end) == use) {
            if (found && (length != (size_t)(end - s) || strncmp(found, s, length) != 0)) return NULL;
            if (!found) found = s, length = (size_t)(end - s);
        }
        s = end > s ? end : s + 1;
    }
    return found;
}

/* The place of the text that names the array in the way that it was touched; the first that names it, when none does.
 * Where the text only does the opposite with it, as `b[i] = a[i]` behind a swap of a and b, another pointer leads
 * there. */
static const char *find_element(const char *from, const char *name, bool writes)
{
    const char *first = NULL, *update = NULL, *assigned = NULL;
    enum simt_access wanted = writes ? ACCESS_WRITE : ACCESS_READ;
    for (const char *s = from; (s = find_name(s, name)); s += strlen(name)) {
        if (is_declared(from, s)) continue;
        if (!first) first = s;
        enum simt_access use = use_of(s + strlen(name));
        if (use == wanted) return s;
        if (use == ACCESS_UPDATE && !update) update = s;
    }
    if (update || !first) return update;
    if (writes) assigned = find_any_element(from, ACCESS_WRITE);
    bool opposite = writes ? assigned && assigned < first && first[strlen(name)] == '[' && first[-1] != '&'
                           : first[strlen(name)] == '[';
    return opposite ? find_any_element(from, wanted) : first;
}

static const char *find_division(const char *from)
{
    for (const char *s = from; *s; s++) {
        if (*s == '%') return s;
        if (*s == '/' && s[1] == '/') return NULL;
        if (*s == '/' && s[1] != '*' && (s == from || s[-1] != '*')) return s;
    }
    return NULL;
}

/* The beginning of the identifier that has `part` in it. */
static const char *find_call(const char *from, const char *part)
{
    const char *s = strstr(from, part);
    while (s && s > from && rt_in_name(s[-1])) s--;
    return s;
}

void rt_aim_caret(const char *kernel, const struct simt_report *r, const char *name, struct rt_party *p)
{
    if (p->column < 1) return;
    const char *from = p->source + p->column - 1, *found = NULL;
    bool whole = find_name(from, kernel) == from, other = false;
    if (whole) from = strchr(from, '{');
    if (from && *name) {
        found = find_element(from, name, p->access && *p->access == 'w');
        other = !found && find_name(from, name); /* by some other name, which is not known */
    } else if (from && r->kind == CHECK_DIVISION)
        found = find_division(from);
    else if (from && (r->kind == CHECK_BARRIER || r->kind == CHECK_LANE))
        found = find_call(from, "sync");
    else if (from && p->access && !strcmp(p->access, "free"))
        found = find_call(from, "free") ? find_call(from, "free") : find_call(from, "delete");
    if (found || whole || other) p->column = found ? (int)(found - p->source) + 1 : 0;
}
