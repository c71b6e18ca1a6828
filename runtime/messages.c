/* The compiler's messages as users read them: positions of the source, and nothing that says nothing. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/compile.h"
#include "runtime/memory.h"

#define MOST_ERRORS 5 /* in headers that are shown */

struct output {
    char *text;
    size_t length, room;
    bool failed;
};

static void put(struct output *o, const char *s, size_t n)
{
    if (o->failed) return;
    if (o->length + n + 1 > o->room) {
        size_t room = (o->length + n + 1) * 2;
        char *more = rt_realloc(o->text, room);
        if (!more) {
            o->failed = true;
            return;
        }
        o->text = more;
        o->room = room;
    }
    memcpy(o->text + o->length, s, n);
    o->length += n;
    o->text[o->length] = 0;
}

static void put_position(struct output *o, const char *name, long line)
{
    char number[32];
    put(o, name, strlen(name));
    if (line > 0) put(o, number, (size_t)snprintf(number, sizeof number, ":%ld", line));
}

/* Lines that repeat what the error says already. */
static bool is_noise(const char *line, size_t length)
{
    char copy[128];
    size_t n = length < sizeof copy - 1 ? length : sizeof copy - 1;
    memcpy(copy, line, n);
    copy[n] = 0;
    if (strstr(copy, "detected in the compilation of")) return true;
    return length == 0 || strncmp(copy, "Compilation terminated", 22) == 0 ||
           strncmp(copy, "Remark: The warnings can be suppressed", 38) == 0;
}

/* A line number at s; absurd ones count as none. */
static long line_number(const char *s, char **end)
{
    long line = strtol(s, end, 10);
    return line > 0 && line < 1000000000 ? line : 0;
}

/* "(12)" or ":12" at s: the number, and how many characters it takes. */
static long position_number(const char *s, size_t *used)
{
    char *end;
    *used = 0;
    if ((*s != '(' && *s != ':') || !isdigit((unsigned char)s[1])) return 0;
    long line = line_number(s + 1, &end);
    if (*s == '(' && *end != ')') return 0;
    *used = (size_t)(end - s) + (*s == '(');
    return line;
}

/* "name(12): " at the start of a line becomes "name:12: ", as for the source itself. */
static size_t put_other_position(struct output *o, const char *line, size_t length)
{
    size_t n = 0, used;
    while (n < length && line[n] != '(' && line[n] != ' ') n++;
    long number = n && n < length ? position_number(line + n, &used) : 0;
    if (!number || line[n + used] != ':') return 0;
    size_t skip = n > 2 && memcmp(line, "./", 2) == 0 ? 2 : 0; /* headers found in the working directory */
    char text[32];
    if (n == 13 && memcmp(line, "__nv_name_map", n) == 0) { /* what NVRTC writes below the source */
        put(o, "instantiate", 11);
        return n + used;
    }
    put(o, line + skip, n - skip);
    put(o, text, (size_t)snprintf(text, sizeof text, ":%ld", number));
    return n + used;
}

static void put_line(struct output *o, const char *line, size_t length, const char *name, int first_line)
{
    const char *at = line, *end = line + length;
    size_t own = strlen(RT_SOURCE_NAME), used;
    long shift = first_line > 0 ? first_line - 1 : 0;
    if (strncmp(line, RT_SOURCE_NAME, own) != 0) at += put_other_position(o, line, length);
    while (at < end) {
        if ((size_t)(end - at) >= own && memcmp(at, RT_SOURCE_NAME, own) == 0) {
            long number = position_number(at + own, &used);
            put_position(o, name, number ? number + shift : 0);
            at += own + used;
        } else if (end - at > 8 && memcmp(at, "at line ", 8) == 0 && isdigit((unsigned char)at[8])) {
            char *stop;
            long number = line_number(at + 8, &stop);
            bool other = strncmp(stop, " of \"", 5) == 0, ours = other && strncmp(stop + 5, RT_SOURCE_NAME, own) == 0;
            put(o, "at ", 3);
            if (other && !ours) {
                put(o, at + 3, (size_t)(stop - at) - 3);
            } else {
                put_position(o, name, number + shift);
                if (ours) stop += 5 + own + (stop[5 + own] == '"');
            }
            at = stop;
        } else {
            put(o, at++, 1);
        }
    }
}

char *rt_map_positions(const char *text, const char *name, int first_line)
{
    struct output o = {0};
    put(&o, "", 0);
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (!is_noise(text, length)) {
            if (o.length) put(&o, "\n", 1);
            put_line(&o, text, length, name, first_line);
        }
        text += length + (text[length] == '\n');
    }
    if (!o.failed) return o.text;
    free(o.text);
    return NULL;
}

/* Does a line have these words? */
static bool line_has(const char *line, const char *words)
{
    const char *at = strstr(line, words);
    return at && at < line + strcspn(line, "\n");
}

/* The length of a message: its lines, and the empty one that ends it. */
static size_t message_length(const char *text)
{
    const char *end = strstr(text, "\n\n");
    return end ? (size_t)(end - text) + 2 : strlen(text);
}

/* Whether the line begins a note on a function that was not meant: one of the compiler's own header that takes another
 * number of arguments, an operator of a header, such as those of half that no vector is, or one that is built in. They
 * are many, and show code that nobody knows. */
static bool is_idle_note(const char *line)
{
    static const char header[] = "__nv_nvrtc_builtin_header";
    if (!line_has(line, "): note ")) return false;
    if (line_has(line, "built-in operator")) return true;
    if (strncmp(line, header, sizeof header - 1) == 0 && line_has(line, "number of parameters of function"))
        return true;
    return strncmp(line, RT_SOURCE_NAME, strlen(RT_SOURCE_NAME)) != 0 && line_has(line, "function \"operator");
}

/* How many blanks in front of the caret in the line are for further bytes of characters of the line above: the compiler
 * counts bytes. */
static size_t beyond_characters(const char *line, size_t length, const char *above)
{
    size_t blanks = strspn(line, " "), more = 0;
    if (!above || blanks >= length || line[blanks] != '^') return 0;
    for (size_t i = 0; i < blanks && above[i] != '\n'; i++) more += ((unsigned char)above[i] & 0xC0) == 0x80;
    return more;
}

static void put_message(struct output *o, const char *text, size_t length)
{
    bool skips = false;
    const char *above = NULL;
    for (const char *end = text + length; text < end;) {
        size_t n = strcspn(text, "\n") + 1;
        if (text + n > end) n = (size_t)(end - text);
        if (*text != ' ' || !skips) skips = is_idle_note(text);
        size_t more = beyond_characters(text, n, above);
        if (!skips) put(o, text + more, n - more);
        above = text;
        text += n;
    }
}

/* Whether the message tells of an unknown name that one before it has told of: the host's part of a program, with a
 * macro around each call, would fill the screen with them. */
static bool is_told(const char *log, const char *message)
{
    static const char unknown[] = "error: identifier \"";
    char about[128];
    const char *at = strstr(message, unknown);
    if (!at || at > message + strcspn(message, "\n")) return false;
    snprintf(about, sizeof about, "%.*s", (int)strcspn(at, "\n"), at);
    return strlen(about) < sizeof about - 1 && strstr(log, about) < at;
}

/* Whether the message tells again that its line has characters that begin no token: each byte of them has a message. */
static bool is_same_character(const char *log, const char *message)
{
    static const char unknown[] = "): error: unrecognized token";
    char about[128];
    size_t n = strcspn(message, "\n");
    if (!line_has(message, unknown) || n >= sizeof about) return false;
    snprintf(about, sizeof about, "%.*s", (int)n, message);
    return strstr(log, about) < message;
}

static void put_left(struct output *o, size_t count, const char *of)
{
    char line[64];
    if (count)
        put(o, line,
            (size_t)snprintf(line, sizeof line, "and %zu error%s more %s\n", count, count == 1 ? "" : "s", of));
}

char *rt_map_errors(const char *text, const char *name, int first_line)
{
    struct output o = {0};
    const char *log = text;
    size_t own_name = strlen(RT_SOURCE_NAME), others = 0, left = 0, told = 0;
    bool kept = true; /* the message before, whose notes these are */
    put(&o, "", 0);
    for (size_t length; *text; text += length) {
        length = message_length(text);
        bool own = strncmp(text, RT_SOURCE_NAME, own_name) == 0, error = line_has(text, "): error");
        if (line_has(text, "): warning")) kept = own;
        bool again = error && own && is_told(log, text);
        if (error) kept = own ? !again : others++ < MOST_ERRORS;
        if (line_has(text, "): catastrophic error")) kept = true;
        if (error && is_same_character(log, text)) continue;
        if (kept) put_message(&o, text, length);
        told += again;
        left += error && !kept && !again;
    }
    put_left(&o, told, "about the same names");
    put_left(&o, left, "in headers");
    char *mapped = o.failed ? NULL : rt_map_positions(o.text, name, first_line);
    free(o.text);
    return mapped;
}

bool rt_is_source_name(const char *file)
{
    size_t n = file ? strlen(file) : 0, own = strlen(RT_SOURCE_NAME);
    return n >= own - 1 && strcmp(file + n - (own - 1), &RT_SOURCE_NAME[1]) == 0;
}
