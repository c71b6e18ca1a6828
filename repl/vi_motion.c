/* vi's motions and text objects. */
#include <string.h>
#include "repl/pair.h"
#include "repl/vi.h"

static int times(int count)
{
    return count > 0 ? count : 1;
}

size_t sh_vi_first(const struct sh_editor *e, size_t at)
{
    at = sh_line_start(e, at);
    while (at < e->text.length && strchr(" \t", e->text.bytes[at])) at++;
    return at;
}

/* Blanks, letters, and what is neither; with `big` letters are all that is no blank. */
static int class_at(const struct sh_editor *e, size_t at, bool big)
{
    if (strchr(" \t\n", e->text.bytes[at])) return 0;
    return big || sh_is_word(e, at) ? 1 : 2;
}

/* It counts as a word. */
static bool is_empty_line(const struct sh_editor *e, size_t at)
{
    return sh_line_start(e, at) == sh_line_end(e, at);
}

static size_t next_start(const struct sh_editor *e, size_t at, bool big)
{
    if (at >= e->text.length) return at;
    int class = class_at(e, at, big);
    size_t before = at;
    while (at < e->text.length && class && class_at(e, at, big) == class) at = sh_forward(e, at);
    while (at < e->text.length && class_at(e, at, big) == 0 && !(at > before && is_empty_line(e, at)))
        at = sh_forward(e, at);
    return at;
}

/* The last place that the cursor can be at: a character, or an empty line. */
static size_t last_place(const struct sh_editor *e)
{
    size_t end = e->text.length;
    return is_empty_line(e, end) ? end : sh_backward(e, end);
}

static size_t next_end(const struct sh_editor *e, size_t at, bool big)
{
    at = sh_forward(e, at);
    while (at < e->text.length && class_at(e, at, big) == 0) at = sh_forward(e, at);
    if (at >= e->text.length) return last_place(e);
    int class = class_at(e, at, big);
    for (size_t next = sh_forward(e, at); next < e->text.length && class_at(e, next, big) == class;) {
        at = next;
        next = sh_forward(e, at);
    }
    return at;
}

static size_t previous_start(const struct sh_editor *e, size_t at, bool big)
{
    while (at > 0 && class_at(e, sh_backward(e, at), big) == 0) {
        at = sh_backward(e, at);
        if (is_empty_line(e, at)) return at;
    }
    int class = at > 0 ? class_at(e, sh_backward(e, at), big) : 0;
    while (at > 0 && class_at(e, sh_backward(e, at), big) == class) at = sh_backward(e, at);
    return at;
}

/* The empty line behind the text that the place is in or before; the end where there is none. */
static size_t next_empty(const struct sh_editor *e, size_t at, bool big)
{
    (void)big;
    for (bool text = false;;) {
        size_t start = sh_line_start(e, at), end = sh_line_end(e, at);
        if (text && start == end) return start;
        text |= start != end;
        if (end >= e->text.length) return e->text.length;
        at = end + 1;
    }
}

static size_t previous_empty(const struct sh_editor *e, size_t at, bool big)
{
    (void)big;
    for (bool text = false;;) {
        size_t start = sh_line_start(e, at), end = sh_line_end(e, at);
        if (text && start == end) return start;
        text |= start != end;
        if (start == 0) return 0;
        at = start - 1;
    }
}

/* The end of the word before. */
static size_t previous_end(const struct sh_editor *e, size_t at, bool big)
{
    if (at == 0) return 0;
    size_t before = at;
    int class = at < e->text.length ? class_at(e, at, big) : 0;
    while (at > 0 && class && class_at(e, at, big) == class) at = sh_backward(e, at);
    while (at > 0 && class_at(e, at, big) == 0 && !(at < before && is_empty_line(e, at))) at = sh_backward(e, at);
    return at;
}

typedef size_t (*step)(const struct sh_editor *e, size_t at, bool big);

/* Nowhere where a step back, or one over a sentence or paragraph, is no longer possible. */
static size_t repeat(struct sh_editor *e, int count, bool big, step s)
{
    size_t at = e->cursor;
    bool block_back = s == previous_empty || s == sh_vi_previous_sentence;
    bool block_on = s == next_empty || s == sh_vi_next_sentence;
    bool back = s == previous_start || s == previous_end || block_back;
    for (count = times(count); count > 0; count--) {
        bool over = back ? at == 0 && (at == e->cursor || block_back) : block_on && at >= e->text.length;
        bool once_more = s == sh_vi_next_sentence && count == 1 && at > e->cursor && sh_vi_ends_sentence(e);
        if (over && !once_more) return SH_NOWHERE;
        at = s(e, at, big);
    }
    return at;
}

#define WORD_MOTION(id, step, big)                                                                                     \
    static size_t id(struct sh_editor *e, int count, int32_t character)                                                \
    {                                                                                                                  \
        (void)character;                                                                                               \
        return repeat(e, count, big, step);                                                                            \
    }
WORD_MOTION(word_start, next_start, false)
WORD_MOTION(big_word_start, next_start, true)
WORD_MOTION(word_end, next_end, false)
WORD_MOTION(big_word_end, next_end, true)
WORD_MOTION(word_back, previous_start, false)
WORD_MOTION(big_word_back, previous_start, true)
WORD_MOTION(word_end_back, previous_end, false)
WORD_MOTION(big_word_end_back, previous_end, true)
WORD_MOTION(paragraph_on, next_empty, false)
WORD_MOTION(paragraph_back, previous_empty, false)
WORD_MOTION(sentence_on, sh_vi_next_sentence, false)
WORD_MOTION(sentence_back, sh_vi_previous_sentence, false)

static size_t left(struct sh_editor *e, int count, int32_t character)
{
    size_t at = e->cursor, start = sh_line_start(e, at);
    (void)character;
    for (count = times(count); count > 0 && at > start; count--) at = sh_backward(e, at);
    return at;
}

static size_t right(struct sh_editor *e, int count, int32_t character)
{
    size_t at = e->cursor, end = sh_line_end(e, at);
    (void)character;
    for (count = times(count); count > 0 && at < end; count--) at = sh_forward(e, at);
    return at;
}

/* In the lines above or below, in the column that was set out from; as far as there are any. */
static size_t vertical(struct sh_editor *e, int count, int direction)
{
    size_t before = e->cursor, at = SH_NOWHERE;
    for (count = times(count); count > 0 && sh_vertical(e, direction); count--) {
        at = e->cursor;
        e->before = SH_DID_VERTICAL; /* the same column in the next line */
    }
    e->cursor = before;
    return at;
}

/* The line so many lines on, or back, or as far as there are any. */
static size_t line_on(struct sh_editor *e, int count, int32_t character)
{
    size_t at = e->cursor;
    (void)character;
    if (sh_line_end(e, at) == e->text.length) return SH_NOWHERE;
    for (count = times(count); count > 0 && sh_line_end(e, at) < e->text.length; count--) at = sh_line_end(e, at) + 1;
    return sh_vi_first(e, at);
}

static size_t line_back(struct sh_editor *e, int count, int32_t character)
{
    size_t at = e->cursor;
    (void)character;
    if (sh_line_start(e, at) == 0) return SH_NOWHERE;
    for (count = times(count); count > 0 && sh_line_start(e, at) > 0; count--) at = sh_line_start(e, at) - 1;
    return sh_vi_first(e, at);
}

static size_t line_here(struct sh_editor *e, int count, int32_t character)
{
    return count > 1 ? line_on(e, count - 1, character) : sh_vi_first(e, e->cursor);
}

static size_t last_letter(struct sh_editor *e, int count, int32_t character)
{
    size_t at = count > 1 ? line_on(e, count - 1, character) : e->cursor;
    if (at == SH_NOWHERE) return at;
    size_t start = sh_line_start(e, at);
    for (at = sh_line_end(e, at); at > start && strchr(" \t", e->text.bytes[at - 1]);) at--;
    return at > start ? sh_backward(e, at) : start;
}

static size_t column(struct sh_editor *e, int count, int32_t character)
{
    size_t start = sh_line_start(e, e->cursor), at = sh_at_column(e, start, times(count) - 1);
    (void)character;
    return at == sh_line_end(e, at) && at > start ? sh_backward(e, at) : at;
}

/* Where the mark of that letter is; `` and '': where the last jump began. */
static size_t marked(struct sh_editor *e, int count, int32_t letter)
{
    bool jump = letter == '`' || letter == '\'';
    (void)count;
    if (!jump && (letter < 'a' || letter > 'z')) return SH_NOWHERE;
    size_t at = e->vi.marks[jump ? SH_VI_MARKS - 1 : letter - 'a'];
    if (at == 0) return jump ? 0 : SH_NOWHERE;
    return at - 1 < e->text.length ? at - 1 : e->text.length;
}

static size_t marked_line(struct sh_editor *e, int count, int32_t letter)
{
    size_t at = marked(e, count, letter);
    return at == SH_NOWHERE ? at : sh_vi_first(e, at);
}

static size_t above(struct sh_editor *e, int count, int32_t character)
{
    (void)character;
    return vertical(e, count, -1);
}

static size_t below(struct sh_editor *e, int count, int32_t character)
{
    (void)character;
    return vertical(e, count, 1);
}

static size_t line_start(struct sh_editor *e, int count, int32_t character)
{
    (void)count;
    (void)character;
    return sh_line_start(e, e->cursor);
}

static size_t line_first(struct sh_editor *e, int count, int32_t character)
{
    (void)count;
    (void)character;
    return sh_vi_first(e, e->cursor);
}

static size_t line_last(struct sh_editor *e, int count, int32_t character)
{
    size_t end = sh_line_end(e, e->cursor);
    (void)character;
    if (count > 1 && end == e->text.length) return SH_NOWHERE;
    while (count-- > 1 && end < e->text.length) end = sh_line_end(e, end + 1);
    return end > sh_line_start(e, end) ? sh_backward(e, end) : end;
}

/* The line of that number. */
static size_t numbered_line(struct sh_editor *e, int count, int32_t character)
{
    size_t at = 0;
    (void)character;
    while (count-- > 1 && sh_line_end(e, at) < e->text.length) at = sh_line_end(e, at) + 1;
    return sh_vi_first(e, at);
}

static size_t last_line(struct sh_editor *e, int count, int32_t character)
{
    return count ? numbered_line(e, count, character) : sh_vi_first(e, e->text.length);
}

/* The count'th such character in the line, in a direction; till: the one before it. */
static size_t find_in_line(struct sh_editor *e, int count, int32_t character, int direction, bool till, bool again)
{
    size_t at = e->cursor, start = sh_line_start(e, at), end = sh_line_end(e, at), size;
    if (till && again) at = direction > 0 ? sh_forward(e, at) : at > start ? sh_backward(e, at) : at;
    for (count = times(count); count > 0;) {
        if (direction < 0 ? at <= start : at >= end || sh_forward(e, at) >= end) return SH_NOWHERE;
        at = direction < 0 ? sh_backward(e, at) : sh_forward(e, at);
        if (sh_code_point(e->text.bytes, e->text.length, at, &size) == character) count--;
    }
    return !till ? at : direction < 0 ? sh_forward(e, at) : sh_backward(e, at);
}

static size_t remember_find(struct sh_editor *e, int count, int32_t character, char how)
{
    e->vi.found = character;
    e->vi.found_how = how;
    return find_in_line(e, count, character, how == 'f' || how == 't' ? 1 : -1, (how | 32) == 't', false);
}

#define FIND_MOTION(id, how)                                                                                           \
    static size_t id(struct sh_editor *e, int count, int32_t character)                                                \
    {                                                                                                                  \
        return remember_find(e, count, character, how);                                                                \
    }
FIND_MOTION(find_on, 'f')
FIND_MOTION(find_back, 'F')
FIND_MOTION(till_on, 't')
FIND_MOTION(till_back, 'T')

static size_t find_again(struct sh_editor *e, int count, int sign)
{
    char how = e->vi.found_how;
    if (!how) return SH_NOWHERE;
    return find_in_line(e, count, e->vi.found, how == 'f' || how == 't' ? sign : -sign, (how | 32) == 't', true);
}

static size_t same_find(struct sh_editor *e, int count, int32_t character)
{
    (void)character;
    return find_again(e, count, 1);
}

static size_t opposite_find(struct sh_editor *e, int count, int32_t character)
{
    (void)character;
    return find_again(e, count, -1);
}

/* From a bracket, or the next one in the line, to its partner; after a count to so many hundredths of the lines. */
static size_t partner(struct sh_editor *e, int count, int32_t character)
{
    struct sh_pair pair;
    int lines = 1;
    if (count) {
        for (size_t i = 0; i < e->text.length; i++) lines += e->text.bytes[i] == '\n';
        return count > 100 ? SH_NOWHERE : numbered_line(e, (count * lines + 99) / 100, character);
    }
    for (size_t at = e->cursor, end = sh_line_end(e, at); at < end; at = sh_forward(e, at))
        if (sh_find_pair(e->text.bytes, e->text.length, at, NULL, 0, &pair) && pair.start <= at && at < pair.end)
            return pair.other;
    return SH_NOWHERE;
}

const struct sh_vi_motion sh_vi_motions[] = {
    {'h', 0, false, SH_VI_BEFORE, "one character back", left},
    {'l', 0, false, SH_VI_BEFORE, "one character on", right},
    {'j', 0, false, SH_VI_WHOLE, "the line below, then later cells", below},
    {'k', 0, false, SH_VI_WHOLE, "the line above, then earlier cells", above},
    {'w', 0, false, SH_VI_BEFORE, "the start of the next word; W: of what blanks end", word_start},
    {'W', 0, false, SH_VI_BEFORE, "", big_word_start},
    {'b', 0, false, SH_VI_BEFORE, "back to a word's start; B likewise", word_back},
    {'B', 0, false, SH_VI_BEFORE, "", big_word_back},
    {'e', 0, false, SH_VI_AT, "a word's end; E likewise", word_end},
    {'E', 0, false, SH_VI_AT, "", big_word_end},
    {'0', 0, false, SH_VI_BEFORE, "the start of the line; ^: its first letter; $: its end", line_start},
    {'^', 0, false, SH_VI_BEFORE, "", line_first},
    {'$', 0, false, SH_VI_AT, "", line_last},
    {'f', 0, true, SH_VI_AT, "the next X of the line; F: the one before", find_on},
    {'F', 0, true, SH_VI_BEFORE, "", find_back},
    {'t', 0, true, SH_VI_AT, "up to the next X; T: back behind one", till_on},
    {'T', 0, true, SH_VI_BEFORE, "", till_back},
    {';', 0, false, SH_VI_AT, "the same search again; , in the other direction", same_find},
    {',', 0, false, SH_VI_AT, "", opposite_find},
    {'%', 0, false, SH_VI_AT, "the partner of a bracket or of do, function, if, repeat, end", partner},
    {'}', 0, false, SH_VI_BEFORE, "the next empty line; { the one before", paragraph_on},
    {'{', 0, false, SH_VI_BEFORE, "", paragraph_back},
    {')', 0, false, SH_VI_BEFORE, "the next sentence; ( back to a sentence's start", sentence_on},
    {'(', 0, false, SH_VI_BEFORE, "", sentence_back},
    {'g', 'e', false, SH_VI_AT, "back to a word's end; gE likewise; g_: the line's last letter", word_end_back},
    {'g', 'E', false, SH_VI_AT, "", big_word_end_back},
    {'g', '_', false, SH_VI_AT, "", last_letter},
    {'|', 0, false, SH_VI_BEFORE, "the column of the count's number", column},
    {'+', 0, false, SH_VI_WHOLE, "the next line's first letter; -: the one before; _: this one", line_on},
    {'-', 0, false, SH_VI_WHOLE, "", line_back},
    {'_', 0, false, SH_VI_WHOLE, "", line_here},
    {'`', 0, true, SH_VI_BEFORE, "the mark X; ': its line", marked},
    {'\'', 0, true, SH_VI_WHOLE, "", marked_line},
    {'g', 'g', false, SH_VI_WHOLE, "the first line, or the one of the count's number; G: the last", numbered_line},
    {'G', 0, false, SH_VI_WHOLE, "", last_line},
    {0, 0, false, SH_VI_BEFORE, NULL, NULL},
};

/* ---- objects ---- */

/* On a run of blanks, or of a word, from which one goes on to the next. */
static size_t run_end(const struct sh_editor *e, size_t at, bool big, size_t end)
{
    if (at >= end) return end;
    int class = class_at(e, at, big);
    while (at < end && class_at(e, at, big) == class) at = sh_forward(e, at);
    return at;
}

/* Whether the run that begins there is one of blanks. */
static bool is_gap(const struct sh_editor *e, size_t at, bool big)
{
    return at < e->text.length && class_at(e, at, big) == 0;
}

/* Behind the next run, which is in the next line at the end of one: an empty line is a run, too. SH_NOWHERE where there
 * is none. */
static size_t next_run(const struct sh_editor *e, size_t at, bool big)
{
    if (at >= e->text.length) return SH_NOWHERE;
    if (e->text.bytes[at] == '\n') at++;
    return run_end(e, at, big, sh_line_end(e, at));
}

/* Runs of blanks and of words count each for itself; with the blanks around a word only these. */
static bool word_object(const struct sh_editor *e, bool around, bool big, int count, size_t *from, size_t *to)
{
    size_t at = e->cursor, start = sh_line_start(e, at), end = sh_line_end(e, at);
    int class = at < end ? class_at(e, at, big) : 0;
    bool gap = class == 0;
    for (*from = at; *from > start && class_at(e, sh_backward(e, *from), big) == class;) *from = sh_backward(e, *from);
    *to = run_end(e, at, big, end);
    if (around && gap) *to = next_run(e, *to, big);
    for (count = times(count); count > 1 && *to != SH_NOWHERE; count--) {
        /* From a word on: its blanks, those of the next line's beginning, too, and the next word. */
        while (around && is_gap(e, *to, big)) *to = e->text.bytes[*to] == '\n' ? *to + 1 : next_run(e, *to, big);
        *to = next_run(e, *to, big);
    }
    if (*to == SH_NOWHERE) return false;
    if (!around || gap) return true;
    size_t before = *to;
    *to = is_gap(e, *to, big) ? run_end(e, *to, big, sh_line_end(e, *to)) : *to;
    size_t blanks = *from;
    while (*to == before && blanks > start && class_at(e, sh_backward(e, blanks), big) == 0)
        blanks = sh_backward(e, blanks);
    if (blanks > start) *from = blanks; /* a line keeps its indent */
    return true;
}

/* With the blanks behind it, or those before it where there are none. */
static void with_blanks(const struct sh_editor *e, size_t *from, size_t *to)
{
    size_t start = sh_line_start(e, *from), end = sh_line_end(e, *to), before = *to;
    while (*to < end && strchr(" \t", e->text.bytes[*to])) ++*to;
    while (*to == before && *from > start && strchr(" \t", e->text.bytes[*from - 1])) --*from;
}

/* Between two quotes of the line, which are counted from its start; with 2 before it also these. */
static bool quote_object(const struct sh_editor *e, bool around, char quote, int count, size_t *from, size_t *to)
{
    const char *s = e->text.bytes;
    size_t end = sh_line_end(e, e->cursor), open = SH_NOWHERE;
    for (size_t at = sh_line_start(e, e->cursor); at < end; at++) {
        if (s[at] == '\\') {
            at++; /* what stands behind it is no quote */
            continue;
        }
        if (s[at] != quote) continue;
        if (open == SH_NOWHERE) {
            open = at;
        } else if (at >= e->cursor) {
            *from = open + !(around || count > 1);
            *to = at + (around || count > 1);
            if (around) with_blanks(e, from, to);
            return true;
        } else {
            open = SH_NOWHERE;
        }
    }
    return false;
}

/* The bracket of the pair that opens around the place, as deep as that many. */
static size_t opening(const struct sh_editor *e, size_t at, const char *pair, int count)
{
    const char *s = e->text.bytes;
    if (s[at] == pair[0] && --count == 0) return at;
    for (int depth = 0; at-- > 0;) {
        if (s[at] == pair[1]) depth++;
        if (s[at] == pair[0] && depth-- == 0) {
            if (--count == 0) return at;
            depth = 0;
        }
    }
    return SH_NOWHERE;
}

/* Between the brackets of the pair that are around the cursor. */
static bool bracket_object(const struct sh_editor *e, bool around, const char *pair, int count, size_t *from,
                           size_t *to)
{
    const char *s = e->text.bytes;
    size_t end;
    int depth = 0;
    if (e->cursor >= e->text.length) return false;
    size_t at = opening(e, e->cursor, pair, times(count));
    /* Outside of any: the next one. */
    if (at == SH_NOWHERE && count < 2)
        for (at = e->cursor; at < e->text.length && s[at] != pair[0];) at++;
    if (at >= e->text.length) return false;
    for (end = at; end == at || depth > 0; end++) {
        if (end >= e->text.length) return false;
        depth += (s[end] == pair[0]) - (s[end] == pair[1]);
    }
    *from = at + !around;
    *to = end - !around;
    if (around) return true;
    /* Brackets that stand by themselves at the ends of their lines keep them. */
    if (*from < *to && s[*from] == '\n') {
        size_t first = sh_vi_first(e, *to);
        ++*from;
        if (first == *to && sh_line_start(e, *to) > *from) *to = sh_line_start(e, *to) - 1;
    }
    return true;
}

/* The last byte of the run of lines like this one, empty or not. */
static size_t lines_alike(const struct sh_editor *e, size_t at)
{
    bool empty = is_empty_line(e, at);
    size_t end = sh_line_end(e, at);
    while (end < e->text.length && is_empty_line(e, end + 1) == empty) end = sh_line_end(e, end + 1);
    return end;
}

static bool paragraph_object(const struct sh_editor *e, bool around, int count, size_t *from, size_t *to)
{
    size_t start = sh_line_start(e, e->cursor), end = e->cursor;
    bool empty = is_empty_line(e, start), first = true;
    while (start > 0 && is_empty_line(e, start - 1) == empty) start = sh_line_start(e, start - 1);
    for (count = times(count) * (around ? 2 : 1); count > 0; count--) {
        if (!first && end >= e->text.length) break;
        end = lines_alike(e, first ? end : end + 1);
        first = false;
    }
    if (count > around || (around && count > 0 && empty)) return false;
    if (around && count > 0) /* there are no empty lines behind it: those before it */
        while (start > 0 && is_empty_line(e, start - 1)) start = sh_line_start(e, start - 1);
    *from = start;
    *to = end;
    return true;
}

bool sh_vi_object_is_lines(int32_t letter)
{
    return letter == 'p';
}

bool sh_vi_object(const struct sh_editor *e, bool around, int32_t letter, int count, size_t *from, size_t *to)
{
    switch (letter) {
    case 'w': return word_object(e, around, false, count, from, to);
    case 'W': return word_object(e, around, true, count, from, to);
    case 's': return sh_vi_sentence(e, around, count, from, to);
    case 'p': return paragraph_object(e, around, count, from, to);
    case '"':
    case '\'':
    case '`': return quote_object(e, around, (char)letter, count, from, to);
    case '(':
    case ')':
    case 'b': return bracket_object(e, around, "()", count, from, to);
    case '[':
    case ']': return bracket_object(e, around, "[]", count, from, to);
    case '{':
    case '}':
    case 'B': return bracket_object(e, around, "{}", count, from, to);
    case '<':
    case '>': return bracket_object(e, around, "<>", count, from, to);
    }
    return false;
}
