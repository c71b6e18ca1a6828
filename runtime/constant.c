/* Integer constants of a CUDA C source, as sizes of arrays are written: numbers, operators, and names that #define,
 * const or constexpr sets. A name's own value is an expression, too. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/signature.h"
#include "runtime/spelling.h"

#define MOST_OPERANDS 200 /* of an expression and of all that its names stand for */

struct expression {
    const char *text; /* the whole source, which has the names */
    const char *at, *end;
    int *left; /* operands that may come yet */
    bool failed;
};

static void skip_blanks(struct expression *x)
{
    while (x->at < x->end && isspace((unsigned char)*x->at)) x->at++;
}

static char next(struct expression *x)
{
    skip_blanks(x);
    return x->at < x->end ? *x->at : '\0';
}

/* ---- names ---- */

static const char *before_blanks(const char *text, const char *at)
{
    while (at > text && (at[-1] == ' ' || at[-1] == '\t')) at--;
    return at;
}

/* Is what ends at `at` the word of a directive, which begins its line? */
static bool behind_directive(const char *text, const char *at, const char *word)
{
    size_t n = strlen(word);
    at = before_blanks(text, at);
    if ((size_t)(at - text) <= n || memcmp(at - n, word, n) != 0) return false;
    at = before_blanks(text, at - n);
    if (at == text || at[-1] != '#') return false;
    at = before_blanks(text, at - 1);
    return at == text || at[-1] == '\n';
}

/* Does a condition ask whether the name at `at` is defined? Then an option or a header may set it. */
static bool behind_question(const char *text, const char *at)
{
    if (behind_directive(text, at, "ifdef") || behind_directive(text, at, "ifndef")) return true;
    at = before_blanks(text, at);
    if (at > text && at[-1] == '(') at = before_blanks(text, at - 1);
    return at - text >= 7 && memcmp(at - 7, "defined", 7) == 0;
}

/* Does the statement have const or constexpr in front of `at`? */
static bool behind_const(const char *text, const char *at)
{
    const char *start = at;
    while (start > text && !strchr(";{}#", start[-1])) start--;
    for (; at - start >= 5; start++)
        if (memcmp(start, "const", 5) == 0) return true;
    return false;
}

/* Whether the name at s is set there: by #define, then *macro, or as a constant. *x gets the text of what it stands
 * for. */
static bool is_set_at(struct expression *x, const char *s, size_t n, bool *macro)
{
    const char *value = s + n;
    size_t length = 0;
    *macro = behind_directive(x->text, s, "define") && *value != '(';
    if (*macro) {
        length = strcspn(value, "\r\n");
        for (size_t i = 0; i + 1 < length; i++)
            if (value[i] == '/' && (value[i + 1] == '/' || value[i + 1] == '*')) length = i;
    } else {
        value += strspn(value, " \t");
        if (*value != '=' || value[1] == '=' || !behind_const(x->text, s)) return false;
        length = strcspn(++value, ",;");
    }
    x->at = value;
    x->end = value + length;
    return true;
}

/* Finds the expression that the name stands for; *x keeps its text. What is set twice, or only where nothing else has
 * set it, has no value that the text alone tells. */
static bool find_value(struct expression *x, const char *name, size_t n, bool *macro)
{
    bool found = false, other;
    struct expression second = *x;
    for (const char *s = x->text; (s = strchr(s, *name)); s++) {
        if (strncmp(s, name, n) != 0 || rt_in_name(s[n]) || (s > x->text && rt_in_name(s[-1]))) continue;
        if (behind_question(x->text, s)) return false;
        if (!is_set_at(found ? &second : x, s, n, found ? &other : macro)) continue;
        if (found) return false;
        found = true;
    }
    return found;
}

/* ---- expressions ---- */

static int64_t shifts(struct expression *x);
static int64_t operand(struct expression *x);

static int64_t fail(struct expression *x)
{
    x->failed = true;
    return 0;
}

/* All of it; a macro is text, whose operators would bind by what surrounds it: one operand, or in brackets. */
static int64_t whole(struct expression *x, bool macro)
{
    int64_t value = macro ? operand(x) : shifts(x);
    if (next(x)) x->failed = true;
    return value;
}

static int64_t name_value(struct expression *x)
{
    const char *name = x->at;
    while (x->at < x->end && rt_in_name(*x->at)) x->at++;
    struct expression value = *x;
    bool macro;
    if (!find_value(&value, name, (size_t)(x->at - name), &macro)) return fail(x);
    int64_t v = whole(&value, macro);
    x->failed |= value.failed;
    return v;
}

static int64_t number(struct expression *x)
{
    char *end;
    unsigned long long v = strtoull(x->at, &end, 0);
    end += strspn(end, "uUlL");
    if (end > x->end || rt_in_name(*end) || *end == '.' || v > INT32_MAX) return fail(x);
    x->at = end;
    return (int64_t)v;
}

static int64_t operand(struct expression *x)
{
    char c = next(x);
    if (--*x->left < 0) return fail(x);
    if (isdigit((unsigned char)c)) return number(x);
    if (rt_in_name(c)) return name_value(x);
    if (c != '(') return fail(x);
    x->at++;
    int64_t v = shifts(x);
    if (next(x) != ')') return fail(x);
    x->at++;
    return v;
}

/* What leaves 32 bits is no size of an array. */
static int64_t apply(struct expression *x, char operator, int64_t a, int64_t b)
{
    int64_t v = 0;
    if (operator== '+') v = a + b;
    if (operator== '-') v = a - b;
    if (operator== '*') v = a * b;
    if ((operator== '/' || operator== '%') && b == 0) return fail(x);
    if (operator== '/') v = a / b;
    if (operator== '%') v = a % b;
    return v > INT32_MAX || v < -INT32_MAX ? fail(x) : v;
}

static int64_t products(struct expression *x)
{
    int64_t v = operand(x);
    for (char c; !x->failed && (c = next(x)) && strchr("*/%", c);) {
        x->at++;
        v = apply(x, c, v, operand(x));
    }
    return v;
}

static int64_t sums(struct expression *x)
{
    int64_t v = products(x);
    for (char c; !x->failed && (c = next(x)) && strchr("+-", c);) {
        x->at++;
        v = apply(x, c, v, products(x));
    }
    return v;
}

static int64_t shifts(struct expression *x)
{
    int64_t v = sums(x);
    for (char c; !x->failed && (c = next(x)) && strchr("<>", c);) {
        if (x->end - x->at < 2 || x->at[1] != c) return fail(x);
        x->at += 2;
        int64_t by = sums(x);
        if (v < 0 || by < 0 || by > 30) return fail(x);
        v = c == '<' ? apply(x, '*', v, (int64_t)1 << by) : v >> by;
    }
    return v;
}

uint64_t rt_source_constant(const char *text, const char *expression, size_t length)
{
    int left = MOST_OPERANDS;
    struct expression x = {.text = text, .at = expression, .end = expression + length, .left = &left};
    int64_t v = whole(&x, false);
    return x.failed || v < 0 ? 0 : (uint64_t)v;
}
