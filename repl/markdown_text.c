#include "repl/markdown_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "repl/highlight.h"
#include "runtime/memory.h"

enum { LEAST_COLUMNS = 8 }; /* a text gets so many, however deep it is in lists and quotes */

struct writer {
    struct sh_frame *out;
    struct sh_text prefix; /* begins each row: indents of lists, bars of quotes */
    struct sh_text first;  /* begins the next row instead, once: with the marker of an item */
    struct sh_text word, styles;
    bool begun; /* something was written: rows and blocks go below it */
    bool text;  /* the row has text behind its prefix */
    bool space; /* a blank goes before the next word */
    enum sh_style space_style;
};

static void put(struct writer *w, const char *s, enum sh_style style)
{
    sh_frame_text(w->out, s, strlen(s), style);
}

/* `t` with `s` behind it. */
static void extend(struct writer *w, struct sh_text *t, const char *s)
{
    if (!sh_text_append(t, s, strlen(s))) w->out->failed = true;
}

static void free_writer(struct writer *w)
{
    sh_text_free(&w->prefix);
    sh_text_free(&w->first);
    sh_text_free(&w->word);
    sh_text_free(&w->styles);
}

/* The rows to come begin with `mark` once, then with `rest`, behind what they begin with now. Returns what
 * restore_prefix takes. */
static size_t extend_prefix(struct writer *w, const char *mark, const char *rest)
{
    size_t before = w->prefix.length;
    if (w->first.length == 0 && before) extend(w, &w->first, w->prefix.bytes);
    extend(w, &w->first, mark);
    if (w->out->columns - (int)before >= LEAST_COLUMNS) extend(w, &w->prefix, rest);
    return before;
}

static void restore_prefix(struct writer *w, size_t before)
{
    sh_text_delete(&w->prefix, before, w->prefix.length);
}

/* Rows */

static void begin_row(struct writer *w)
{
    const struct sh_text *prefix = w->first.length ? &w->first : &w->prefix;
    if (w->begun) sh_frame_newline(w->out);
    w->begun = true;
    w->text = w->space = false;
    if (prefix->length) sh_frame_text(w->out, prefix->bytes, prefix->length, SH_DIM);
    w->first.length = 0;
}

static void blank_row(struct writer *w)
{
    size_t n = w->prefix.length;
    while (n > 0 && w->prefix.bytes[n - 1] == ' ') n--;
    sh_frame_newline(w->out);
    if (n) sh_frame_text(w->out, w->prefix.bytes, n, SH_DIM);
}

static int room(const struct writer *w)
{
    return w->out->columns - sh_frame_column(w->out);
}

/* One grapheme, on a new row where this one is full. */
static void put_grapheme(struct writer *w, const char *s, size_t size, enum sh_style style)
{
    if (w->text && sh_grapheme_width(s, size) > room(w)) begin_row(w);
    sh_frame_put(w->out, s, size, style);
    w->text = true;
}

/* Words */

static void end_word(struct writer *w)
{
    const char *s = w->word.bytes;
    if (w->word.length == 0) return;
    int width = sh_width(s, w->word.length);
    if (w->text && width + w->space > room(w))
        begin_row(w);
    else if (w->text && w->space)
        put(w, " ", w->space_style);
    for (size_t at = 0, next; at < w->word.length; at = next) {
        next = sh_next_grapheme(s, w->word.length, at);
        put_grapheme(w, s + at, next - at, (enum sh_style)w->styles.bytes[at]);
    }
    w->word.length = w->styles.length = 0;
    w->space = false;
}

static void add_to_word(struct writer *w, const char *s, size_t size, enum sh_style style)
{
    if (!sh_text_append(&w->word, s, size)) w->out->failed = true;
    while (w->styles.length < w->word.length)
        if (!sh_text_append(&w->styles, &(char){(char)style}, 1)) {
            w->out->failed = true;
            w->word.length = w->styles.length;
        }
}

/* Wide characters are words of their own: such scripts are broken anywhere. */
static void flow(struct writer *w, const char *s, size_t length, enum sh_style style)
{
    for (size_t at = 0, next; at < length; at = next) {
        next = sh_next_grapheme(s, length, at);
        bool blank = s[at] == ' ' || s[at] == '\t' || s[at] == '\n' || s[at] == '\r';
        bool wide = !blank && sh_grapheme_width(s + at, next - at) == 2 && (unsigned char)s[at] >= 0x80;
        if (blank || wide) end_word(w);
        if (!blank) add_to_word(w, s + at, next - at, style);
        if (wide) end_word(w);
        if (blank && !w->space) w->space_style = style;
        w->space = w->space || blank;
    }
}

/* Inlines */

static void inlines(struct writer *w, const struct sh_md_node *parent, enum sh_style style);

static bool says_the_same(const struct sh_md_node *link)
{
    struct sh_text words = {0};
    bool same = sh_markdown_words(link, &words) && words.length && strcmp(words.bytes, link->info) == 0;
    sh_text_free(&words);
    return same;
}

/* The address of a link, where it leads out and is not its text. */
static void address(struct writer *w, const struct sh_md_node *link)
{
    if (!strstr(link->info, "://") || says_the_same(link)) return;
    flow(w, " (", 2, SH_DIM);
    flow(w, link->info, strlen(link->info), SH_DIM);
    flow(w, ")", 1, SH_DIM);
}

static void one_inline(struct writer *w, const struct sh_md_node *n, enum sh_style style)
{
    switch (n->kind) {
    case SH_MD_TEXT: flow(w, n->text, n->length, style); break;
    case SH_MD_CODE_SPAN:
    case SH_MD_MATH: flow(w, n->text, n->length, SH_CODE); break;
    case SH_MD_EMPHASIS: inlines(w, n, style == SH_PLAIN ? SH_EMPHASIS : style); break;
    case SH_MD_STRONG: inlines(w, n, style == SH_PLAIN || style == SH_EMPHASIS ? SH_STRONG : style); break;
    case SH_MD_STRIKE: inlines(w, n, SH_STRIKE); break;
    case SH_MD_LINK:
        inlines(w, n, SH_LINK);
        address(w, n);
        break;
    case SH_MD_IMAGE:
        flow(w, "[image: ", 8, SH_DIM);
        inlines(w, n, SH_DIM);
        flow(w, "]", 1, SH_DIM);
        break;
    case SH_MD_SOFT_BREAK: flow(w, " ", 1, style); break;
    case SH_MD_BREAK:
        end_word(w);
        begin_row(w);
        break;
    default: inlines(w, n, style); break; /* tags show nothing */
    }
}

static void inlines(struct writer *w, const struct sh_md_node *parent, enum sh_style style)
{
    for (const struct sh_md_node *n = parent->first; n; n = n->next) one_inline(w, n, style);
}

static void paragraph(struct writer *w, const struct sh_md_node *n, enum sh_style style)
{
    begin_row(w);
    inlines(w, n, style);
    end_word(w);
}

/* Blocks */

static void repeat(struct writer *w, const char *s, int times, enum sh_style style)
{
    while (times-- > 0) put(w, s, style);
}

/* The two upper levels are underlined, as wide as they are. */
static void heading(struct writer *w, const struct sh_md_node *n)
{
    size_t row = w->out->count - !w->begun;
    int width = 0;
    paragraph(w, n, SH_HEADING);
    for (; row < w->out->count && !w->out->failed; row++)
        if (w->out->rows[row].width > width) width = w->out->rows[row].width;
    if (n->number > 2) return;
    begin_row(w);
    repeat(w, n->number == 1 ? "\xE2\x95\x90" : "\xE2\x94\x80", width - sh_frame_column(w->out), SH_HEADING);
}

static bool is_language(const char *info, const char *const *names)
{
    size_t length = strcspn(info, " \t{,");
    for (; *names; names++)
        if (strlen(*names) == length && strncmp(*names, info, length) == 0) return true;
    return false;
}

/* Styles for code, malloc'd; NULL where it stays as it is. */
static unsigned char *code_styles(const struct sh_md_node *n)
{
    static const char *const lua[] = {"lua", NULL};
    static const char *const c[] = {"c", "C", "h", "cpp", "c++", "cu", "cuda", NULL};
    unsigned char *styles = n->length ? rt_calloc(n->length, 1) : NULL;
    if (styles && is_language(n->info, lua))
        sh_highlight(n->text, n->length, styles);
    else if (styles && is_language(n->info, c))
        sh_highlight_cuda(n->text, n->length, styles);
    return styles;
}

static void code_block(struct writer *w, const struct sh_md_node *n)
{
    unsigned char *styles = code_styles(n);
    size_t length = n->length;
    while (length > 0 && n->text[length - 1] == '\n') length--;
    size_t before = extend_prefix(w, "  ", "  ");
    begin_row(w);
    int margin = sh_frame_column(w->out);
    for (size_t at = 0, next; at < length; at = next) {
        next = sh_next_grapheme(n->text, length, at);
        if (n->text[at] == '\n') {
            begin_row(w);
        } else if (n->text[at] == '\t') {
            repeat(w, " ", 4 - (sh_frame_column(w->out) - margin) % 4, SH_PLAIN);
        } else {
            put_grapheme(w, n->text + at, next - at, styles ? (enum sh_style)styles[at] : SH_PLAIN);
        }
    }
    restore_prefix(w, before);
    free(styles);
}

static void blocks(struct writer *w, const struct sh_md_node *parent, bool tight);

/* Blocks with `mark` before their first row and `rest` before the others. */
static void nested(struct writer *w, const struct sh_md_node *n, const char *mark, const char *rest, bool tight)
{
    size_t before = extend_prefix(w, mark, rest);
    blocks(w, n, tight);
    if (w->first.length) begin_row(w); /* an empty item shows its marker */
    restore_prefix(w, before);
}

static void list(struct writer *w, const struct sh_md_node *n)
{
    int number = n->number;
    bool first = true;
    for (const struct sh_md_node *item = n->first; item; item = item->next, number++) {
        char mark[32] = "\xE2\x80\xA2 ", rest[32];
        if (n->ordered) snprintf(mark, sizeof mark, "%d. ", number);
        if (item->task != SH_MD_NO_TASK)
            snprintf(mark, sizeof mark, "%s ", item->task == SH_MD_DONE ? "\xE2\x98\x91" : "\xE2\x98\x90");
        snprintf(rest, sizeof rest, "%*s", sh_width(mark, strlen(mark)), "");
        if (!first && !n->tight) blank_row(w);
        first = false;
        nested(w, item, mark, rest, n->tight);
    }
}

/* Tables */

enum { TABLE_COLUMNS = 64, SEPARATOR = 3 };

struct table {
    size_t columns;
    int widths[TABLE_COLUMNS];
};

/* A cell as rows of its own. */
static void cell_frame(const struct sh_md_node *cell, int columns, enum sh_style style, struct sh_frame *out)
{
    struct writer w = {.out = out};
    sh_frame_begin(out, columns);
    paragraph(&w, cell, style);
    free_writer(&w);
}

static int natural_width(const struct sh_md_node *cell)
{
    struct sh_frame f = {0};
    int width = 1;
    cell_frame(cell, 10000, SH_PLAIN, &f);
    for (size_t i = 0; i < f.count; i++)
        if (f.rows[i].width > width) width = f.rows[i].width;
    sh_frame_free(&f);
    return width;
}

/* The widths that the cells want, taken from the widest until they fit; false when even that is not enough. */
static bool measure(const struct sh_md_node *n, int columns, struct table *t)
{
    int sum = 0;
    for (const struct sh_md_node *row = n->first; row; row = row->next) {
        size_t i = 0;
        for (const struct sh_md_node *cell = row->first; cell && i < TABLE_COLUMNS; cell = cell->next, i++) {
            int width = natural_width(cell);
            if (width > t->widths[i]) t->widths[i] = width;
        }
        if (i > t->columns) t->columns = i;
    }
    for (size_t i = 0; i < t->columns; i++) sum += t->widths[i] + (i > 0 ? SEPARATOR : 0);
    for (; sum > columns; sum--) {
        size_t widest = 0;
        for (size_t i = 1; i < t->columns; i++)
            if (t->widths[i] > t->widths[widest]) widest = i;
        if (--t->widths[widest] < 3) return false;
    }
    return t->columns > 0;
}

/* One row of a cell, with blanks to its column's width; behind the last column there are none. */
static void aligned(struct writer *w, const struct sh_frame *f, size_t row, int width, enum sh_md_align align,
                    bool last)
{
    int used = row < f->count ? f->rows[row].width : 0, blanks = width - used;
    int before = align == SH_MD_RIGHT ? blanks : align == SH_MD_CENTER ? blanks / 2 : 0;
    repeat(w, " ", before, SH_PLAIN);
    for (size_t at = row < f->count ? f->rows[row].start : 0, next; row < f->count && at < f->rows[row].end;
         at = next) {
        next = sh_next_grapheme(f->text.bytes, f->rows[row].end, at);
        sh_frame_put(w->out, f->text.bytes + at, next - at, (enum sh_style)f->styles.bytes[at]);
    }
    if (!last) repeat(w, " ", blanks - before, SH_PLAIN);
}

static void table_row(struct writer *w, const struct sh_md_node *row, const struct table *t, enum sh_style style)
{
    struct sh_frame *cells = rt_calloc(t->columns, sizeof *cells);
    enum sh_md_align align[TABLE_COLUMNS] = {SH_MD_NO_ALIGN};
    size_t i = 0, height = 1;
    if (!cells) {
        w->out->failed = true;
        return;
    }
    for (const struct sh_md_node *cell = row->first; cell && i < t->columns; cell = cell->next, i++) {
        cell_frame(cell, t->widths[i], style, &cells[i]);
        align[i] = cell->align;
        if (cells[i].count > height) height = cells[i].count;
        w->out->failed = w->out->failed || cells[i].failed;
    }
    for (size_t line = 0; line < height; line++) {
        begin_row(w);
        for (i = 0; i < t->columns; i++) {
            if (i) put(w, " \xE2\x94\x82 ", SH_DIM);
            aligned(w, &cells[i], line, t->widths[i], align[i], i + 1 == t->columns);
        }
    }
    for (i = 0; i < t->columns; i++) sh_frame_free(&cells[i]);
    free(cells);
}

static void table_rule(struct writer *w, const struct table *t)
{
    begin_row(w);
    for (size_t i = 0; i < t->columns; i++) {
        if (i) put(w, "\xE2\x94\x80\xE2\x94\xBC\xE2\x94\x80", SH_DIM);
        repeat(w, "\xE2\x94\x80", t->widths[i], SH_DIM);
    }
}

/* Too narrow for columns: a row's cells one after the other. */
static void table_as_text(struct writer *w, const struct sh_md_node *n)
{
    for (const struct sh_md_node *row = n->first; row; row = row->next) {
        begin_row(w);
        for (const struct sh_md_node *cell = row->first; cell; cell = cell->next) {
            inlines(w, cell, row == n->first ? SH_STRONG : SH_PLAIN);
            if (cell->next) flow(w, " \xE2\x94\x82 ", 5, SH_DIM);
        }
        end_word(w);
    }
}

static void table(struct writer *w, const struct sh_md_node *n)
{
    struct table t = {0};
    int columns = w->out->columns - (w->prefix.length ? sh_width(w->prefix.bytes, w->prefix.length) : 0);
    if (!measure(n, columns, &t)) {
        table_as_text(w, n);
        return;
    }
    for (const struct sh_md_node *row = n->first; row; row = row->next) {
        table_row(w, row, &t, row == n->first ? SH_STRONG : SH_PLAIN);
        if (row == n->first) table_rule(w, &t);
    }
}

static void block(struct writer *w, const struct sh_md_node *n)
{
    switch (n->kind) {
    case SH_MD_HEADING: heading(w, n); break;
    case SH_MD_CODE: code_block(w, n); break;
    case SH_MD_QUOTE: nested(w, n, "\xE2\x94\x82 ", "\xE2\x94\x82 ", false); break;
    case SH_MD_LIST: list(w, n); break;
    case SH_MD_TABLE: table(w, n); break;
    case SH_MD_RULE:
        begin_row(w);
        repeat(w, "\xE2\x94\x80", room(w), SH_DIM);
        break;
    default: paragraph(w, n, SH_PLAIN); break;
    }
}

static void blocks(struct writer *w, const struct sh_md_node *parent, bool tight)
{
    for (const struct sh_md_node *n = parent->first; n; n = n->next) {
        if (n != parent->first && !tight) blank_row(w);
        block(w, n);
    }
}

void sh_markdown_frame(const struct sh_markdown *m, struct sh_frame *out)
{
    struct writer w = {.out = out};
    blocks(&w, m->root, false);
    free_writer(&w);
}
