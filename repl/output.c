#include "repl/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "repl/picture.h"
#include "repl/program.h"
#include "repl/terminal.h"
#include "repl/text.h"
#include "repl/theme.h"

#define TABLE 16 /* blanks in front of a table's row whose first column is empty */

static void write_out(struct sh_output *o, FILE *file, const char *text, size_t length)
{
    if (length == 0) return;
    o->shown[0] = '\0';
    /* The two streams have buffers of their own; what was printed first must be seen first. */
    if (file == stderr) fflush(stdout);
    fwrite(text, 1, length, file);
    o->open_line = text[length - 1] != '\n';
    if (o->flush && o->open_line) fflush(file);
}

/* How many rows of a terminal a text takes that ends with a newline; escape codes take no room. */
static int rows_of(const char *text, size_t length, int columns)
{
    int rows = 0, used = 0;
    for (size_t i = 0; i < length;) {
        if (text[i] == '\033' && i + 1 < length && text[i + 1] == '[') {
            for (i += 2; i < length && (text[i] < '@' || text[i] > '~');) i++;
            i++;
            continue;
        }
        size_t next = sh_next_grapheme(text, length, i);
        int width = text[i] == '\n' ? 0 : text[i] == '\t' ? 8 - used % 8 : sh_grapheme_width(text + i, next - i);
        if (text[i] == '\n' || used + width > columns) {
            rows++;
            used = 0;
        }
        used += width;
        i = next;
    }
    return rows + (used > 0);
}

/* A text that is longer than the screen goes to the pager, where there is somebody to read it; not on a screen of which
 * the pager's own line is a third or more, or that is too narrow for words: there, nearly every value would be long. */
static bool page_long(struct sh_output *o, const char *text, size_t length)
{
    enum { FEWEST_COLUMNS = 8, FEWEST_ROWS = 4 };
    int columns, rows;
    if (!o->shell || !isatty(STDOUT_FILENO)) return false;
    sh_terminal_size(&columns, &rows);
    if (columns < FEWEST_COLUMNS || rows < FEWEST_ROWS) return false;
    if (rows_of(text, length, columns) < rows) return false;
    sh_output_newline(o);
    return sh_page(text, length);
}

/* Writes a message; in a terminal its lines are broken at words and go on below their first word, but for those of
 * source behind a bar. */
static void write_message(FILE *file, const char *text)
{
    int columns, rows;
    if (!isatty(fileno(file))) {
        fputs(text, file);
        return;
    }
    sh_terminal_size(&columns, &rows);
    for (int indent = 0; *text;) {
        size_t line = strcspn(text, "\n"), bar = strspn(text, " 0123456789"), own = strspn(text, " ");
        size_t n = text[bar] == '|' ? line : sh_fitting(text, line, columns - indent), shown = n;
        while (n < line && shown > 0 && text[shown - 1] == ' ') shown--;
        fprintf(file, "%*s%.*s", indent, "", (int)shown, text);
        text += n;
        if (*text) putc('\n', file);
        if (n < line && indent == 0 && own < 9) indent = (int)own;
        if (n == line) indent = 0;
        if (n == line && *text) text++;
    }
}

/* The hint that ends what is shown in place of a value; else the text's end. */
static const char *hint_of(const char *text, size_t length)
{
    static const char begin[] = "\n  hint: ";
    const char *end = text + length, *line = end;
    while (line > text && line[-1] != '\n') line--;
    bool hint = line > text && (size_t)(end - line) >= sizeof begin - 2 && !memcmp(line, begin + 1, sizeof begin - 2);
    return hint ? line : end;
}

static void write_plain(struct sh_output *o, const struct lg_bundle *bundle, bool pages)
{
    for (size_t i = 0; i < bundle->count; i++) {
        const struct lg_mime *item = &bundle->items[i];
        if (strcmp(item->type, "text/plain") != 0) continue;
        if (pages && page_long(o, item->data, item->length)) return;
        sh_output_newline(o);
        const char *hint = hint_of(item->data, item->length);
        write_out(o, stdout, item->data, (size_t)(hint - item->data));
        if (*hint) write_message(stdout, hint);
        if (*hint) o->open_line = true;
        sh_output_newline(o);
        return;
    }
}

/* The lines of the last display are taken back, if they are still in sight. */
static void take_back(struct sh_output *o, int rows)
{
    struct sh_text bytes = {0};
    if (o->shown_rows <= 0 || o->shown_rows >= rows) return;
    if (o->shown_picture) sh_picture_remove(&bytes);
    if (bytes.length) fwrite(bytes.bytes, 1, bytes.length, stdout);
    sh_text_free(&bytes);
    printf("\033[%dA\r\033[J", o->shown_rows);
}

static void on_terminal(void *context, struct lg_terminal *out)
{
    (void)context;
    *out = (struct lg_terminal){0};
    if (!isatty(STDOUT_FILENO)) return;
    sh_terminal_size(&out->columns, &out->rows);
    out->color = sh_takes_color(STDOUT_FILENO);
    out->few_glyphs = sh_few_glyphs();
}

/* What a terminal can take back of a cell's output: the line that is not ended, or the last display. */
static void clear(struct sh_output *o)
{
    struct lg_terminal terminal;
    on_terminal(o, &terminal);
    o->clear = false;
    if (!terminal.color) return;
    if (o->open_line)
        fputs("\r\033[2K", stdout);
    else if (o->shown[0])
        take_back(o, terminal.rows);
    o->open_line = false;
    o->shown[0] = '\0';
}

static void clear_if_due(struct sh_output *o)
{
    if (o->clear) clear(o);
}

static void on_clear(void *context, bool wait)
{
    struct sh_output *o = context;
    if (wait)
        o->clear = true;
    else
        clear(o);
}

static void on_stream(void *context, enum lg_stream which, const char *text, size_t length)
{
    clear_if_due(context);
    write_out(context, which == LG_STDERR ? stderr : stdout, text, length);
}

/* A picture, where the terminal shows pixels; false when the bundle has none, or it cannot be drawn. */
static bool write_picture(struct sh_output *o, const struct lg_bundle *bundle, int *rows)
{
    for (size_t i = 0; i < bundle->count; i++) {
        const struct lg_mime *item = &bundle->items[i];
        struct sh_text bytes = {0};
        if (strcmp(item->type, "image/png") != 0 || sh_pictures_shown() != LG_PICTURES_PNG) continue;
        bool drawn = sh_picture(item->data, item->length, &bytes, rows);
        sh_output_newline(o);
        fflush(stdout);
        if (drawn) write_out(o, stdout, bytes.bytes, bytes.length);
        sh_text_free(&bytes);
        if (drawn) return true;
    }
    return false;
}

static void on_display(void *context, const struct lg_bundle *bundle, const char *display_id, bool update)
{
    struct sh_output *o = context;
    struct lg_terminal terminal;
    clear_if_due(o);
    on_terminal(o, &terminal);
    const char *id = display_id && strlen(display_id) < sizeof o->shown ? display_id : "";
    if (update && terminal.color && *id && strcmp(o->shown, id) == 0) take_back(o, terminal.rows);
    int rows = 0;
    bool picture = write_picture(o, bundle, &rows);
    if (!picture) write_plain(o, bundle, false);
    o->shown_rows = rows;
    o->shown_picture = picture;
    snprintf(o->shown, sizeof o->shown, "%s", id);
    if (picture) return;
    for (size_t i = 0; i < bundle->count && *id && terminal.color; i++)
        if (strcmp(bundle->items[i].type, "text/plain") == 0)
            o->shown_rows = rows_of(bundle->items[i].data, bundle->items[i].length, terminal.columns);
}

static enum lg_pictures on_pictures(void *context)
{
    (void)context;
    fflush(stdout);
    return sh_pictures_shown();
}

static void on_result(void *context, int execution_count, const struct lg_bundle *bundle)
{
    int rows;
    (void)execution_count;
    clear_if_due(context);
    if (!write_picture(context, bundle, &rows)) write_plain(context, bundle, true);
}

/* Where the last column of a table's row begins, behind two blanks or more; 0 for a line of prose. */
static int last_column(const char *line, size_t length, int columns)
{
    int at = 0;
    for (size_t i = 2; i < length && (int)i < columns * 2 / 3; i++)
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ') at = (int)i;
    return at;
}

/* A page of documentation: lines are paragraphs or rows of tables, broken at words to fit the terminal; those
 * that are indented by less than a table's first column are code and stay as they are. */
static void fold_page(struct sh_text *page, const char *text, size_t length, int columns)
{
    int indent = 0;
    for (const char *end = text + length; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t line = (size_t)((stop ? stop : end) - text);
        size_t blanks = strspn(text, " ");
        bool whole = !indent && (*text == '\t' || (blanks > 0 && blanks < TABLE));
        size_t n = whole ? line : sh_fitting(text, line, columns - indent), shown = n;
        while (n < line && shown > 0 && text[shown - 1] == ' ') shown--;
        for (int i = 0; i < indent; i++) sh_text_append(page, " ", 1);
        sh_text_append(page, text, shown);
        sh_text_append(page, "\n", 1);
        if (n == line)
            indent = 0;
        else if (!indent)
            indent = last_column(text, line, columns);
        text += n;
        if (n == line && stop) text++;
    }
}

static int on_command(void *context, const char *command)
{
    struct sh_output *o = context;
    clear_if_due(o);
    o->shown[0] = '\0';
    o->open_line = false;
    int status = sh_run_command(command);
    int error = errno;
    sh_terminal_start_row();
    errno = error;
    return status;
}

void sh_output_page(struct sh_output *o, const char *text, size_t length)
{
    int columns, rows;
    struct sh_text page = {0};
    sh_terminal_size(&columns, &rows);
    fold_page(&page, text, length, columns);
    sh_output_newline(o);
    if (page.length && !page_long(o, page.bytes, page.length)) write_out(o, stdout, page.bytes, page.length);
    sh_text_free(&page);
}

static void on_page(void *context, const struct lg_bundle *bundle)
{
    if (!isatty(STDOUT_FILENO)) {
        write_plain(context, bundle, false);
        return;
    }
    for (size_t i = 0; i < bundle->count; i++) {
        if (strcmp(bundle->items[i].type, "text/plain") != 0) continue;
        sh_output_page(context, bundle->items[i].data, bundle->items[i].length);
        return;
    }
}

static void on_next_input(void *context, const char *text, size_t length)
{
    struct sh_output *o = context;
    o->run_next = false;
    sh_text_set(&o->next, text, length);
}

static void on_edit(void *context, const char *text, size_t length)
{
    struct sh_output *o = context;
    char why[512];
    if (!sh_text_set(&o->next, text, length)) return;
    o->run_next = sh_run_editor(&o->next, why, sizeof why);
    if (o->run_next) return;
    o->next.length = 0;
    fprintf(stderr, "%s; nothing was run\n", why);
}

struct lg_sink sh_output_sink(struct sh_output *o)
{
    return (struct lg_sink){
        .context = o,
        .stream = on_stream,
        .display = on_display,
        .result = on_result,
        .clear_output = on_clear,
        .page = on_page,
        .terminal = on_terminal,
        .pictures = on_pictures,
        .next_input = o->shell ? on_next_input : NULL,
        .edit = o->shell ? on_edit : NULL,
        .command = o->shell ? on_command : NULL,
    };
}

void sh_output_newline(struct sh_output *o)
{
    if (!o->open_line) return;
    fputc('\n', stdout);
    o->open_line = false;
}

void sh_output_end(struct sh_output *o)
{
    sh_output_newline(o);
    o->shown[0] = '\0';
    o->clear = false;
    fflush(stdout);
}

static void put_line(FILE *file, const char *text)
{
    fputs(text, file);
}

void sh_output_error(struct sh_output *o, const struct lg_error *error)
{
    FILE *file = o->errors_out ? stdout : stderr;
    const char *off = o->color ? "\033[0m" : "";
    size_t calls = error->message_count + error->excerpt_count;
    sh_output_newline(o);
    fflush(stdout);
    if (o->program) fprintf(file, "%s: ", o->program);
    if (error->plain) {
        fprintf(file, "%s\n", error->value);
        for (size_t i = error->message_count; i < calls && isatty(fileno(file)); i++) {
            write_message(file, error->traceback[i]);
            putc('\n', file);
        }
        return;
    }
    for (size_t i = 0; i < error->traceback_count; i++) {
        bool message = i < error->message_count, hint = strncmp(error->traceback[i], "  hint: ", 8) == 0;
        const char *on = message || i >= calls ? sh_style_code(message ? SH_ERROR : SH_CALLS, o->color) : "";
        fputs(on, file);
        (message || hint ? write_message : put_line)(file, error->traceback[i]);
        fprintf(file, "%s\n", *on ? off : "");
    }
    if (error->traceback_count == 0) fprintf(file, "%s\n", error->value);
    fflush(file);
}

bool sh_takes_color(int fd)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    if (no_color && *no_color) return false;
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool sh_output_finish(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return true;
    fprintf(stderr, "lunarray: standard output: %s\n", errno ? strerror(errno) : "write error");
    return false;
}
