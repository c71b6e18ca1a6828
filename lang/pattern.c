/* Lua's patterns. The stock matcher goes back and forth for as long as it takes, for ever if need be, in one call in
 * which it looks at nothing else; this one takes the same steps and every so many of them answers who waits and lets
 * itself be interrupted. What a pattern means, how deep it may be and what is said of malformed ones is Lua's: its
 * manual, section 6.4.1, and the comparison with the stock functions in tests/unit/test_pattern.c define it. */
#include "lang/pattern.h"

#include <ctype.h>
#include <string.h>
#include "lang/lang.h"

#define POLL_STEPS (1u << 17)
#define MAX_DEPTH  200

static inline void step(struct lg_match_state *m)
{
    if (++m->steps < POLL_STEPS) return;
    m->steps = 0;
    lg_poll(m->L);
}

/* A capital letter stands for all that is not in the class. */
static inline bool in_class(int c, int name)
{
    enum { SMALL = 'a' - 'A' };
    bool in;
    switch (name | SMALL) {
    case 'a': in = isalpha(c) != 0; break;
    case 'c': in = iscntrl(c) != 0; break;
    case 'd': in = isdigit(c) != 0; break;
    case 'g': in = isgraph(c) != 0; break;
    case 'l': in = islower(c) != 0; break;
    case 'p': in = ispunct(c) != 0; break;
    case 's': in = isspace(c) != 0; break;
    case 'u': in = isupper(c) != 0; break;
    case 'w': in = isalnum(c) != 0; break;
    case 'x': in = isxdigit(c) != 0; break;
    case 'z': in = c == 0; break;
    default: return name == c;
    }
    return in == ((name & SMALL) != 0);
}

/* Behind the class of characters at p. */
static inline const char *class_end(struct lg_match_state *m, const char *p)
{
    const char *end = m->pattern_end;
    char first = *p++;
    if (first == '%') {
        if (p == end) luaL_error(m->L, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (first != '[') return p;
    if (*p == '^') p++;
    do { /* a bracket in the first place is one of the set */
        if (p == end) luaL_error(m->L, "malformed pattern (missing ']')");
        if (*p++ == '%' && p < end) p++;
    } while (*p != ']');
    return p + 1;
}

/* The set from its bracket to the closing one. */
static bool in_set(int c, const char *p, const char *close)
{
    bool found = true;
    if (p[1] == '^') {
        found = false;
        p++;
    }
    while (++p < close) {
        if (*p == '%') {
            p++;
            if (in_class(c, (unsigned char)*p)) return found;
        } else if (p[1] == '-' && p + 2 < close) {
            p += 2;
            if ((unsigned char)p[-2] <= c && c <= (unsigned char)*p) return found;
        } else if ((unsigned char)*p == c) {
            return found;
        }
    }
    return !found;
}

/* Whether the character at s is there and in the class p..end. */
static inline bool in_item(const struct lg_match_state *m, const char *s, const char *p, const char *end)
{
    if (s >= m->subject_end) return false;
    int c = (unsigned char)*s;
    switch (*p) {
    case '.': return true;
    case '%': return in_class(c, (unsigned char)p[1]);
    case '[': return in_set(c, p, end - 1);
    default: return (unsigned char)*p == c;
    }
}

static const char *match_longest(struct lg_match_state *m, const char *s, const char *p, const char *end)
{
    ptrdiff_t n = 0;
    for (; in_item(m, s + n, p, end); n++) step(m);
    for (; n >= 0; n--) {
        const char *behind = lg_match_at(m, s + n, end + 1);
        if (behind) return behind;
    }
    return NULL;
}

static const char *match_shortest(struct lg_match_state *m, const char *s, const char *p, const char *end)
{
    for (;; s++) {
        const char *behind = lg_match_at(m, s, end + 1);
        if (behind || !in_item(m, s, p, end)) return behind;
    }
}

static const char *match_balanced(struct lg_match_state *m, const char *s, const char *p)
{
    if (p + 1 >= m->pattern_end) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->subject_end || *s != *p) return NULL;
    for (int depth = 1; ++s < m->subject_end;) {
        step(m);
        if (*s == p[1]) {
            if (--depth == 0) return s + 1;
        } else if (*s == p[0]) {
            depth++;
        }
    }
    return NULL;
}

static const char *open_capture(struct lg_match_state *m, const char *s, const char *p, ptrdiff_t length)
{
    if (m->count >= LG_CAPTURES) luaL_error(m->L, "too many captures");
    m->captures[m->count++] = (struct lg_capture_range){s, length};
    const char *behind = lg_match_at(m, s, p);
    if (!behind) m->count--;
    return behind;
}

static const char *close_capture(struct lg_match_state *m, const char *s, const char *p)
{
    int i = m->count - 1;
    while (i >= 0 && m->captures[i].length != LG_CAPTURE_OPEN) i--;
    if (i < 0) luaL_error(m->L, "invalid pattern capture");
    m->captures[i].length = s - m->captures[i].start;
    const char *behind = lg_match_at(m, s, p);
    if (!behind) m->captures[i].length = LG_CAPTURE_OPEN;
    return behind;
}

/* Behind what the capture with this digit holds, where that stands once more. */
static const char *match_again(struct lg_match_state *m, const char *s, int digit)
{
    int i = digit - '1';
    if (i < 0 || i >= m->count || m->captures[i].length == LG_CAPTURE_OPEN)
        luaL_error(m->L, "invalid capture index %%%d", i + 1);
    size_t length = (size_t)m->captures[i].length; /* that of `()` fits nowhere */
    bool again = (size_t)(m->subject_end - s) >= length && memcmp(m->captures[i].start, s, length) == 0;
    return again ? s + length : NULL;
}

/* Whether a word, say, begins here: p is the set behind %f, whose end *end becomes. */
static bool at_frontier(struct lg_match_state *m, const char *s, const char *p, const char **end)
{
    if (*p != '[') luaL_error(m->L, "missing '[' after '%%f' in pattern");
    *end = class_end(m, p);
    int before = s == m->subject ? '\0' : (unsigned char)s[-1];
    return !in_set(before, p, *end - 1) && in_set((unsigned char)*s, p, *end - 1);
}

/* What is no class of characters though a percent sign stands before it: matched from *s on, which becomes NULL where
 * it does not match. */
static void match_special(struct lg_match_state *m, const char **s, const char **p)
{
    char name = (*p)[1];
    if (name == 'b') {
        *s = match_balanced(m, *s, *p + 2);
        *p += 4;
    } else if (name == 'f') {
        if (!at_frontier(m, *s, *p + 2, p)) *s = NULL;
    } else {
        *s = match_again(m, *s, name);
        *p += 2;
    }
}

/* The item p..end, of one character, and the pattern behind it: where the match ends where that is known, else NULL;
 * then matching goes on at *s, or *s is NULL, too. *next becomes what follows. */
static inline const char *match_item(struct lg_match_state *m, const char **s, const char *p, const char **next)
{
    const char *end = class_end(m, p), *at = *s, *behind;
    char repeat = end < m->pattern_end ? *end : '\0';
    bool in;
    *s = NULL;
    *next = end;
    switch (repeat) {
    case '*': return match_longest(m, at, p, end);
    case '-': return match_shortest(m, at, p, end);
    case '+': return in_item(m, at, p, end) ? match_longest(m, at + 1, p, end) : NULL;
    case '?':
        behind = in_item(m, at, p, end) ? lg_match_at(m, at + 1, end + 1) : NULL;
        if (behind) return behind;
        *s = at;
        *next = end + 1;
        return NULL;
    default:
        in = in_item(m, at, p, end);
        *s = in ? at + 1 : NULL;
        return NULL;
    }
}

/* The pattern from p on. Items of one character each follow each other here; what may have to be tried again is called,
 * and has the rest of the pattern behind it. */
static const char *match(struct lg_match_state *m, const char *s, const char *p)
{
    const char *behind = NULL;
    while (s && !behind && p < m->pattern_end) {
        step(m);
        switch (*p) {
        case '(':
            if (p[1] == ')') return open_capture(m, s, p + 2, LG_CAPTURE_POSITION);
            return open_capture(m, s, p + 1, LG_CAPTURE_OPEN);
        case ')': return close_capture(m, s, p + 1);
        case '$':
            if (p + 1 == m->pattern_end) return s == m->subject_end ? s : NULL;
            behind = match_item(m, &s, p, &p);
            break;
        case '%':
            if (p[1] == 'b' || p[1] == 'f' || isdigit((unsigned char)p[1]))
                match_special(m, &s, &p);
            else
                behind = match_item(m, &s, p, &p);
            break;
        default: behind = match_item(m, &s, p, &p);
        }
    }
    return behind ? behind : s;
}

const char *lg_match_at(struct lg_match_state *m, const char *s, const char *pattern)
{
    if (++m->depth > MAX_DEPTH) luaL_error(m->L, "pattern too complex");
    const char *behind = match(m, s, pattern);
    m->depth--;
    return behind;
}
