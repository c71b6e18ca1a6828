/* Markdown's blocks. A container (a quote, a list's item) is the lines that belong to it with its marks cut off, read
 * as a document again; so lines are slices of the text, and nothing is copied. */
#include "repl/markdown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "repl/markdown_parts.h"
#include "runtime/memory.h"

#define MAX_DEPTH 24 /* containers in containers; what is deeper is text */

struct line {
    const char *s;
    size_t n;
};

struct lines {
    struct line *at;
    size_t count;
};

static size_t indent_of(struct line l)
{
    size_t i = 0;
    while (i < l.n && l.s[i] == ' ') i++;
    return i;
}

static bool is_blank(struct line l)
{
    for (size_t i = 0; i < l.n; i++)
        if (!isspace((unsigned char)l.s[i])) return false;
    return true;
}

static struct line cut(struct line l, size_t n)
{
    if (n > l.n) n = l.n;
    return (struct line){l.s + n, l.n - n};
}

static struct line trimmed(struct line l)
{
    while (l.n && isspace((unsigned char)*l.s)) l = cut(l, 1);
    while (l.n && isspace((unsigned char)l.s[l.n - 1])) l.n--;
    return l;
}

/* How often c stands at the line's start. */
static size_t run_of(struct line l, char c)
{
    size_t n = 0;
    while (n < l.n && l.s[n] == c) n++;
    return n;
}

/* ---- what a line begins; `t` is the line without its indentation, which is below 4 */

static size_t heading_level(struct line t)
{
    size_t n = run_of(t, '#');
    return n >= 1 && n <= 6 && (n == t.n || isspace((unsigned char)t.s[n])) ? n : 0;
}

static bool is_rule(struct line t)
{
    size_t marks = 0;
    if (!t.n || !strchr("*-_", *t.s)) return false;
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] == *t.s)
            marks++;
        else if (!isspace((unsigned char)t.s[i]))
            return false;
    }
    return marks >= 3;
}

/* The length of an opening fence, or 0. */
static size_t fence_of(struct line t)
{
    if (!t.n || (*t.s != '`' && *t.s != '~')) return 0;
    size_t n = run_of(t, *t.s);
    if (n < 3 || (*t.s == '`' && memchr(t.s + n, '`', t.n - n))) return 0;
    return n;
}

static bool closes_fence(struct line l, char mark, size_t length)
{
    if (indent_of(l) > 3) return false;
    struct line t = trimmed(l);
    return run_of(t, mark) == t.n && t.n >= length;
}

struct marker {
    char type; /* the bullet, or what stands behind the number; 0 for no item */
    int number;
    size_t width; /* to where the item's text begins */
    bool empty;
};

static struct marker marker_of(struct line t)
{
    struct marker m = {0};
    size_t i = 0;
    if (t.n && strchr("-+*", *t.s)) {
        m.type = t.s[i++];
    } else {
        while (i < t.n && i < 9 && isdigit((unsigned char)t.s[i])) m.number = m.number * 10 + (t.s[i++] - '0');
        if (i == 0 || i >= t.n || (t.s[i] != '.' && t.s[i] != ')')) return (struct marker){0};
        m.type = t.s[i++];
    }
    if (i < t.n && t.s[i] != ' ' && t.s[i] != '\t') return (struct marker){0};
    size_t blanks = indent_of(cut(t, i));
    m.empty = is_blank(cut(t, i));
    m.width = i + (m.empty || blanks > 4 ? 1 : blanks ? blanks : 1);
    return m;
}

/* Whether the line ends a paragraph by beginning something else. */
static bool interrupts(struct line l)
{
    if (indent_of(l) > 3) return false;
    struct line t = cut(l, indent_of(l));
    if (!t.n) return true;
    struct marker m = marker_of(t);
    bool item = m.type && !m.empty && (strchr("-+*", m.type) || m.number == 1);
    return *t.s == '>' || heading_level(t) || fence_of(t) || is_rule(t) || item;
}

/* ---- blocks; each function reads from line i on and returns the line behind what it read */

static void read_blocks(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, int depth);

static size_t read_indented(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, size_t i)
{
    struct sh_text text = {0};
    size_t end = i, last = i;
    for (; end < l.count && (is_blank(l.at[end]) || indent_of(l.at[end]) >= 4); end++)
        if (!is_blank(l.at[end])) last = end + 1;
    for (; i < last; i++) {
        struct line c = cut(l.at[i], 4);
        if (!sh_text_append(&text, c.s, c.n) || !sh_text_append(&text, "\n", 1)) p->failed = true;
    }
    struct sh_md_node *node = sh_md_add(p, parent, SH_MD_CODE);
    if (node && text.bytes) {
        node->text = sh_md_copy(p, text.bytes, text.length);
        node->length = text.length;
    }
    sh_text_free(&text);
    return end;
}

static size_t read_fenced(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, size_t i)
{
    struct sh_text text = {0};
    size_t indent = indent_of(l.at[i]);
    struct line t = cut(l.at[i], indent);
    size_t fence = fence_of(t);
    for (i++; i < l.count && !closes_fence(l.at[i], *t.s, fence); i++) {
        size_t blanks = indent_of(l.at[i]);
        struct line c = cut(l.at[i], blanks < indent ? blanks : indent);
        if (!sh_text_append(&text, c.s, c.n) || !sh_text_append(&text, "\n", 1)) p->failed = true;
    }
    struct sh_md_node *node = sh_md_add(p, parent, SH_MD_CODE);
    struct line info = trimmed(cut(t, fence));
    for (size_t k = 0; k < info.n; k++)
        if (isspace((unsigned char)info.s[k])) info.n = k;
    if (node) {
        node->info = sh_md_unescaped(p, info.s, info.n);
        node->text = sh_md_copy(p, text.bytes ? text.bytes : "", text.length);
        node->length = text.length;
    }
    sh_text_free(&text);
    return i < l.count ? i + 1 : i;
}

static void read_heading(struct sh_md_parser *p, struct sh_md_node *parent, struct line t)
{
    size_t level = heading_level(t), end;
    struct line text = trimmed(cut(t, level));
    for (end = text.n; end > 0 && text.s[end - 1] == '#';) end--;
    if (end == 0 || isspace((unsigned char)text.s[end - 1])) text.n = end;
    struct sh_md_node *node = sh_md_add(p, parent, SH_MD_HEADING);
    if (!node) return;
    node->number = (int)level;
    text = trimmed(text);
    sh_md_inlines(p, node, text.s, text.n);
}

/* Follows whether the lines of a container are inside of a fence: that takes no lazy lines. */
struct fence_state {
    char mark;
    size_t length;
};

static void follow_fence(struct fence_state *f, struct line l)
{
    struct line t = cut(l, indent_of(l));
    if (f->mark) {
        if (closes_fence(l, f->mark, f->length)) f->mark = 0;
    } else if (indent_of(l) < 4 && fence_of(t)) {
        *f = (struct fence_state){*t.s, fence_of(t)};
    }
}

static size_t read_quote(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, size_t i, int depth)
{
    size_t start = i;
    struct fence_state fence = {0};
    for (; i < l.count; i++) {
        size_t indent = indent_of(l.at[i]);
        bool marked = indent < 4 && indent < l.at[i].n && l.at[i].s[indent] == '>';
        if (marked) {
            l.at[i] = cut(l.at[i], indent + 1);
            if (l.at[i].n && *l.at[i].s == ' ') l.at[i] = cut(l.at[i], 1);
            follow_fence(&fence, l.at[i]);
        } else if (fence.mark || is_blank(l.at[i]) || is_blank(l.at[i - 1]) || interrupts(l.at[i])) {
            break;
        }
    }
    struct sh_md_node *node = sh_md_add(p, parent, SH_MD_QUOTE);
    if (node) read_blocks(p, node, (struct lines){l.at + start, i - start}, depth + 1);
    return i;
}

/* "[ ] " or "[x] " before an item's text. */
static void read_task(struct sh_md_node *item, struct line *first)
{
    if (first->n < 4 || first->s[0] != '[' || first->s[2] != ']' || first->s[3] != ' ') return;
    if (!strchr(" xX", first->s[1])) return;
    item->task = first->s[1] == ' ' ? SH_MD_OPEN : SH_MD_DONE;
    *first = cut(*first, 4);
}

/* A list while its items are read. */
struct list {
    struct sh_md_node *node;
    bool loose;      /* a blank line parts two items, or what is in one */
    bool behind_gap; /* a blank line ended the last item */
};

/* One item; its lines lose their marks. */
static size_t read_item(struct sh_md_parser *p, struct list *list, struct lines l, size_t i, int depth)
{
    size_t start = i, outer = indent_of(l.at[i]);
    struct marker m = marker_of(cut(l.at[i], outer));
    struct fence_state fence = {0};
    size_t width = outer + m.width;
    bool gap = false;
    l.at[i] = cut(l.at[i], width);
    struct sh_md_node *item = sh_md_add(p, list->node, SH_MD_ITEM);
    if (!item) return l.count;
    read_task(item, &l.at[i]);
    follow_fence(&fence, l.at[i]);
    for (i++; i < l.count; i++) {
        if (is_blank(l.at[i])) {
            if (m.empty && i == start + 1) break;
            l.at[i].n = 0;
            continue;
        }
        bool after_gap = i > start + 1 && is_blank(l.at[i - 1]), inside = indent_of(l.at[i]) >= width;
        if (!inside && (fence.mark || after_gap || interrupts(l.at[i]) || marker_of(trimmed(l.at[i])).type)) break;
        if (inside) {
            l.at[i] = cut(l.at[i], width);
            if (after_gap && !fence.mark && indent_of(l.at[i]) == 0) gap = true;
            follow_fence(&fence, l.at[i]);
        }
    }
    read_blocks(p, item, (struct lines){l.at + start, i - start}, depth + 1);
    if (gap) list->loose = true;
    list->behind_gap = i > start + 1 && is_blank(l.at[i - 1]);
    return i;
}

static size_t read_list(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, size_t i, int depth)
{
    struct marker first = marker_of(cut(l.at[i], indent_of(l.at[i])));
    struct list list = {.node = sh_md_add(p, parent, SH_MD_LIST)};
    if (!list.node) return l.count;
    list.node->ordered = first.type == '.' || first.type == ')';
    list.node->number = first.number;
    while (i < l.count && !p->failed) {
        size_t indent = indent_of(l.at[i]);
        struct line t = cut(l.at[i], indent);
        if (indent > 3 || is_rule(t) || marker_of(t).type != first.type) break;
        if (list.behind_gap) list.loose = true;
        i = read_item(p, &list, l, i, depth);
    }
    list.node->tight = !list.loose;
    return i;
}

/* ---- tables */

/* The next cell of a row, from *at on, which goes behind its bar. */
static bool next_cell(struct line row, size_t *at, struct line *cell)
{
    size_t start = *at, i = start;
    if (start >= row.n) return false;
    while (i < row.n && row.s[i] != '|') i += row.s[i] == '\\' && i + 1 < row.n ? 2 : 1;
    *cell = trimmed((struct line){row.s + start, i - start});
    *at = i + 1;
    return true;
}

/* A row without the bars around it. */
static struct line row_of(struct line l)
{
    struct line row = trimmed(l);
    if (row.n && *row.s == '|') row = cut(row, 1);
    if (row.n && row.s[row.n - 1] == '|' && (row.n < 2 || row.s[row.n - 2] != '\\')) row.n--;
    return row;
}

static size_t count_cells(struct line l)
{
    struct line row = row_of(l), cell;
    size_t n = 0, at = 0;
    while (next_cell(row, &at, &cell)) n++;
    return n;
}

static bool is_delimiter_cell(struct line c)
{
    size_t start = c.n && *c.s == ':', end = c.n - (c.n > 1 && c.s[c.n - 1] == ':');
    return end > start && run_of((struct line){c.s + start, end - start}, '-') == end - start;
}

static bool begins_table(struct lines l, size_t i)
{
    struct line cell;
    size_t at = 0, n = 0;
    if (i + 1 >= l.count || !memchr(l.at[i].s, '|', l.at[i].n)) return false;
    struct line row = row_of(l.at[i + 1]);
    for (; next_cell(row, &at, &cell); n++)
        if (!is_delimiter_cell(cell)) return false;
    return n > 0 && n == count_cells(l.at[i]);
}

static void read_row(struct sh_md_parser *p, struct sh_md_node *table, struct line l, struct line delimiters)
{
    struct sh_md_node *row = sh_md_add(p, table, SH_MD_ROW);
    struct line cells = row_of(l), text, form;
    size_t at = 0, form_at = 0;
    while (row && next_cell(delimiters, &form_at, &form)) {
        struct sh_md_node *cell = sh_md_add(p, row, SH_MD_CELL);
        if (!cell) return;
        bool left = *form.s == ':', right = form.s[form.n - 1] == ':';
        cell->align = left && right ? SH_MD_CENTER : left ? SH_MD_LEFT : right ? SH_MD_RIGHT : SH_MD_NO_ALIGN;
        if (!next_cell(cells, &at, &text)) continue;
        /* An escaped bar is a bar, in code, too. */
        struct sh_text plain = {0};
        for (size_t i = 0; i < text.n; i++) {
            bool escaped = text.s[i] == '\\' && i + 1 < text.n && text.s[i + 1] == '|';
            if (!escaped && !sh_text_append(&plain, text.s + i, 1)) p->failed = true;
        }
        if (plain.length) {
            const char *kept = sh_md_copy(p, plain.bytes, plain.length);
            sh_md_inlines(p, cell, kept, strlen(kept));
        }
        sh_text_free(&plain);
    }
}

static size_t read_table(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, size_t i)
{
    struct sh_md_node *table = sh_md_add(p, parent, SH_MD_TABLE);
    struct line delimiters = row_of(l.at[i + 1]);
    if (!table) return l.count;
    read_row(p, table, l.at[i], delimiters);
    for (i += 2; i < l.count && !is_blank(l.at[i]) && !interrupts(l.at[i]); i++)
        read_row(p, table, l.at[i], delimiters);
    return i;
}

/* ---- paragraphs */

/* [label]: address "title", on a line. */
static bool read_definition(struct sh_md_parser *p, struct line l)
{
    struct line t = trimmed(l);
    if (!t.n || *t.s != '[') return false;
    const char *end = memchr(t.s, ']', t.n);
    if (!end || end == t.s + 1 || t.s[1] == '^' || (size_t)(end - t.s) + 1 >= t.n || end[1] != ':') return false;
    struct line rest = trimmed(cut(t, (size_t)(end - t.s) + 2));
    struct sh_md_reference *r = sh_md_alloc(p, sizeof *r);
    if (!r || sh_md_destination(p, rest.s, rest.n, false, &r->address, &r->title) != rest.n || !rest.n) return false;
    r->label = sh_md_copy(p, t.s + 1, (size_t)(end - t.s) - 1);
    r->next = p->references;
    p->references = r;
    return true;
}

/* The level of the heading that the line makes of the paragraph before it, or 0. */
static int underline(struct line l)
{
    struct line t = trimmed(l);
    if (indent_of(l) > 3 || !t.n || (*t.s != '=' && *t.s != '-') || run_of(t, *t.s) != t.n) return 0;
    return *t.s == '=' ? 1 : 2;
}

static size_t read_paragraph(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, size_t i)
{
    struct sh_text text = {0};
    int level = 0;
    for (size_t start = i; i < l.count && !is_blank(l.at[i]); i++) {
        if (i > start && (level = underline(l.at[i]))) break;
        if (i > start && interrupts(l.at[i])) break;
        if (i > start && begins_table(l, i)) break;
        struct line t = cut(l.at[i], indent_of(l.at[i]));
        if ((text.length && !sh_text_append(&text, "\n", 1)) || !sh_text_append(&text, t.s, t.n)) p->failed = true;
    }
    struct sh_md_node *node = sh_md_add(p, parent, level ? SH_MD_HEADING : SH_MD_PARAGRAPH);
    if (node && text.bytes) {
        struct line all = trimmed((struct line){text.bytes, text.length});
        const char *kept = sh_md_copy(p, all.s, all.n);
        node->number = level;
        sh_md_inlines(p, node, kept, strlen(kept));
    }
    sh_text_free(&text);
    return level ? i + 1 : i;
}

/* The contents of <style>, <script> and comments are nobody's to read. Returns the line behind them, or i. */
static size_t skip_hidden(struct lines l, size_t i)
{
    static const char *const pairs[][2] = {{"<style", "</style>"}, {"<script", "</script>"}, {"<!--", "-->"}};
    struct line t = trimmed(l.at[i]);
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        size_t n = strlen(pairs[k][0]), m = strlen(pairs[k][1]);
        if (t.n < n || strncasecmp(t.s, pairs[k][0], n) != 0) continue;
        for (; i < l.count; i++)
            for (size_t at = 0; at + m <= l.at[i].n; at++)
                if (strncasecmp(l.at[i].s + at, pairs[k][1], m) == 0) return i + 1;
        return i;
    }
    return i;
}

static size_t read_block(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, size_t i, int depth)
{
    size_t indent = indent_of(l.at[i]), behind;
    struct line t = cut(l.at[i], indent);
    if (indent >= 4) return read_indented(p, parent, l, i);
    if (fence_of(t)) return read_fenced(p, parent, l, i);
    if (heading_level(t)) return read_heading(p, parent, t), i + 1;
    if (is_rule(t)) return sh_md_add(p, parent, SH_MD_RULE), i + 1;
    if (*t.s == '>' && depth < MAX_DEPTH) return read_quote(p, parent, l, i, depth);
    if (marker_of(t).type && depth < MAX_DEPTH) return read_list(p, parent, l, i, depth);
    if (begins_table(l, i)) return read_table(p, parent, l, i);
    if ((behind = skip_hidden(l, i)) > i) return behind;
    if (read_definition(p, l.at[i])) return i + 1;
    return read_paragraph(p, parent, l, i);
}

static void read_blocks(struct sh_md_parser *p, struct sh_md_node *parent, struct lines l, int depth)
{
    for (size_t i = 0; i < l.count && !p->failed;) i = is_blank(l.at[i]) ? i + 1 : read_block(p, parent, l, i, depth);
}

/* ---- the whole */

/* The text with tabs at lines' starts as blanks, and NULs, which no text has, as U+FFFD. */
static bool prepare(const char *text, size_t length, struct sh_text *out)
{
    bool start = true, ok = sh_text_set(out, "", 0);
    for (size_t i = 0, column = 0; i < length && ok; i++) {
        char c = text[i];
        if (c == '\t' && start) {
            size_t n = 4 - column % 4;
            ok = sh_text_append(out, "    ", n);
            column += n;
        } else if (c == '\0') {
            ok = sh_text_append(out, "\xef\xbf\xbd", 3);
        } else if (c != '\r') {
            ok = sh_text_append(out, &c, 1);
            start = c == '\n' || (start && c == ' ');
            column = c == '\n' ? 0 : column + 1;
        }
    }
    return ok;
}

static bool split(const char *text, size_t length, struct lines *out)
{
    size_t n = 1;
    for (size_t i = 0; i < length; i++) n += text[i] == '\n';
    out->count = 0;
    out->at = rt_calloc(n, sizeof *out->at);
    if (!out->at) return false;
    for (const char *end = text + length; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        if (!stop) stop = end;
        out->at[out->count++] = (struct line){text, (size_t)(stop - text)};
        text = stop + 1;
    }
    return true;
}

/* Definitions may stand behind what uses them, so they are read before everything else. */
static void collect_definitions(struct sh_md_parser *p, struct lines l)
{
    struct fence_state fence = {0};
    for (size_t i = 0; i < l.count; i++) {
        follow_fence(&fence, l.at[i]);
        if (!fence.mark && indent_of(l.at[i]) < 4) read_definition(p, l.at[i]);
    }
}

bool sh_markdown_parse(const char *text, size_t length, struct sh_markdown *out)
{
    struct sh_md_parser p = {0};
    struct sh_text plain = {0};
    struct lines lines = {0};
    *out = (struct sh_markdown){0};
    struct sh_md_node *root = sh_md_add(&p, NULL, SH_MD_DOCUMENT);
    if (!root || !prepare(text, length, &plain) || !split(plain.bytes, plain.length, &lines)) p.failed = true;
    if (!p.failed) {
        collect_definitions(&p, lines);
        read_blocks(&p, root, lines, 0);
    }
    free(lines.at);
    sh_text_free(&plain);
    *out = (struct sh_markdown){root, p.memory};
    if (p.failed) sh_markdown_free(out);
    return !p.failed;
}
