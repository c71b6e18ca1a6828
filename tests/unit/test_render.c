/* Frames of the line editor as a terminal's bytes, seen by a terminal of the test's own. */
#include "tests/unit/test.h"

#include "repl/render.h"

/* A little terminal: enough of one to see what the escape codes leave on the screen. */
enum { ROWS = 12 };
static struct {
    char cells[ROWS][64];
    int columns, row, column;
    bool pending; /* the last column was written, the next character wraps */
    int scrolled;
} terminal;

static void terminal_start(int columns)
{
    memset(&terminal, 0, sizeof terminal);
    memset(terminal.cells, ' ', sizeof terminal.cells);
    terminal.columns = columns;
}

static void terminal_newline(void)
{
    if (++terminal.row < ROWS) return;
    memmove(terminal.cells[0], terminal.cells[1], sizeof terminal.cells[0] * (ROWS - 1));
    memset(terminal.cells[ROWS - 1], ' ', sizeof terminal.cells[0]);
    terminal.row = ROWS - 1;
    terminal.scrolled++;
}

static void terminal_sequence(char final, int n)
{
    switch (final) {
    case 'A': terminal.row -= n ? n : 1; break;
    case 'B': terminal.row += n ? n : 1; break;
    case 'C': terminal.column += n ? n : 1; break;
    case 'J':
        for (int r = terminal.row + 1; r < ROWS; r++) memset(terminal.cells[r], ' ', sizeof terminal.cells[r]);
        /* fall through */
    case 'K':
        memset(terminal.cells[terminal.row] + terminal.column, ' ', sizeof terminal.cells[0] - (size_t)terminal.column);
        break;
    case 'm':
    case 'h':
    case 'l': return;
    default: FAIL("unexpected sequence %c", final);
    }
    terminal.pending = false;
    CHECK(terminal.row >= 0 && terminal.row < ROWS && terminal.column < terminal.columns);
}

static void terminal_feed(struct sh_text *bytes)
{
    for (size_t i = 0; i < bytes->length; i++) {
        char c = bytes->bytes[i];
        if (c == '\033') {
            CHECK(bytes->bytes[++i] == '[');
            if (bytes->bytes[i + 1] == '?') i++;
            int n = 0;
            while (bytes->bytes[++i] == ';' || (bytes->bytes[i] >= '0' && bytes->bytes[i] <= '9'))
                n = bytes->bytes[i] == ';' ? 0 : n * 10 + bytes->bytes[i] - '0';
            terminal_sequence(bytes->bytes[i], n);
        } else if (c == '\r') {
            terminal.column = 0;
            terminal.pending = false;
        } else if (c == '\n') {
            terminal_newline();
        } else {
            CHECK(!terminal.pending); /* rows are ended by us, never by the terminal */
            terminal.cells[terminal.row][terminal.column] = c;
            if (terminal.column + 1 == terminal.columns)
                terminal.pending = true;
            else
                terminal.column++;
        }
    }
    bytes->length = 0;
}

/* The rows, without blanks at their ends, up to the last that is not blank. */
static const char *terminal_text(void)
{
    static char out[ROWS * 65 + 1];
    size_t n = 0, end = 0;
    for (int r = 0; r < ROWS; r++) {
        int width = terminal.columns;
        while (width > 0 && terminal.cells[r][width - 1] == ' ') width--;
        memcpy(out + n, terminal.cells[r], (size_t)width);
        n += (size_t)width;
        out[n++] = '\n';
        if (width) end = n;
    }
    out[end] = '\0';
    return out;
}

static struct sh_screen screen;
static struct sh_text bytes;

/* Rows separated by newlines, _ where the cursor is. */
static void show(const char *text)
{
    static struct sh_frame f;
    sh_frame_begin(&f, terminal.columns);
    for (; *text; text++) {
        if (*text == '\n')
            sh_frame_newline(&f);
        else if (*text == '_')
            sh_frame_cursor(&f);
        else
            sh_frame_text(&f, text, 1, *text >= 'A' && *text <= 'Z' ? SH_KEYWORD : SH_PLAIN);
    }
    sh_render(&screen, &f, &bytes);
    terminal_feed(&bytes);
}

TEST(frames_replace_each_other)
{
    terminal_start(20);
    screen.color = true;
    show("one_");
    CHECK_STR(terminal_text(), "one\n");
    CHECK_INT(terminal.column, 3);
    show("one\ntwo\nTHREE_");
    CHECK_STR(terminal_text(), "one\ntwo\nTHREE\n");
    CHECK_INT(terminal.row, 2);
    show("o_ne\ntwo");
    CHECK_STR(terminal_text(), "one\ntwo\n");
    CHECK_INT(terminal.row, 0);
    CHECK_INT(terminal.column, 1);
    show("x_");
    CHECK_STR(terminal_text(), "x\n");
}

TEST(full_rows_keep_their_last_character)
{
    terminal_start(5);
    show("12345\n123_");
    CHECK_STR(terminal_text(), "12345\n123\n");
    show("12345\n1234567_");
    CHECK_STR(terminal_text(), "12345\n12345\n67\n");
    show("12345\n12345_");
    CHECK_STR(terminal_text(), "12345\n12345\n");
    CHECK_INT(terminal.row, 2);
}

TEST(unchanged_rows_are_not_written)
{
    terminal_start(20);
    show("unchanged\nb_");
    static struct sh_frame f;
    sh_frame_begin(&f, 20);
    sh_frame_text(&f, "unchanged", 9, SH_PLAIN);
    sh_frame_newline(&f);
    sh_frame_text(&f, "bc", 2, SH_PLAIN);
    sh_frame_cursor(&f);
    sh_render(&screen, &f, &bytes);
    CHECK(strstr(bytes.bytes, "unchanged") == NULL);
    CHECK_HAS(bytes.bytes, "bc");
}

TEST(the_bottom_scrolls)
{
    terminal_start(20);
    for (int i = 0; i < ROWS - 1; i++) terminal_newline();
    show("a_");
    show("a\nb\nc_");
    CHECK_INT(terminal.scrolled, 2);
    CHECK_HAS(terminal_text(), "\na\nb\nc\n");
    show("a_");
    CHECK_INT(terminal.scrolled, 2);
    CHECK_INT(terminal.row, ROWS - 3);
}

TEST(leaving_goes_below)
{
    terminal_start(20);
    show("a_\nb\nc");
    sh_render_leave(&screen, &bytes);
    terminal_feed(&bytes);
    CHECK_INT(terminal.row, 3);
    CHECK_INT(terminal.column, 0);
    show("d_");
    CHECK_STR(terminal_text(), "a\nb\nc\nd\n");
}

TEST(narrowing_wipes_the_broken_rows)
{
    terminal_start(20);
    show("0123456789\nabc_");
    /* the terminal breaks the first row in two, as most do */
    terminal_start(6);
    memcpy(terminal.cells[0], "012345", 6);
    memcpy(terminal.cells[1], "6789", 4);
    memcpy(terminal.cells[2], "abc", 3);
    terminal.row = 2;
    terminal.column = 3;
    sh_render_resize(&screen, 6, &bytes);
    terminal_feed(&bytes);
    CHECK_STR(terminal_text(), "");
    CHECK_INT(terminal.row, 0);
    show("xy_");
    CHECK_STR(terminal_text(), "xy\n");
}

/* The rows as a terminal of 6 columns breaks them, the cursor in one of them. */
static void broken(const char *const *rows, int row, int column)
{
    terminal_start(6);
    for (int i = 0; rows[i]; i++) memcpy(terminal.cells[i], rows[i], strlen(rows[i]));
    terminal.row = row;
    terminal.column = column;
}

TEST(narrowing_wipes_no_row_of_others)
{
    terminal_start(20);
    show("0123456789ab_\nthe status line");
    broken((const char *const[]){"output", "012345", "6789ab", "the st", "atus l", "ine", NULL}, 2, 5);
    sh_render_resize(&screen, 6, &bytes);
    terminal_feed(&bytes);
    CHECK_STR(terminal_text(), "output\n");
    CHECK_INT(terminal.row, 1);
    terminal_start(20);
    show("012345_6789ab\nthe status line"); /* on a character the cursor goes with it */
    broken((const char *const[]){"output", "012345", "6789ab", "the st", "atus l", "ine", NULL}, 2, 0);
    sh_render_resize(&screen, 6, &bytes);
    terminal_feed(&bytes);
    CHECK_STR(terminal_text(), "output\n");
}

TEST(no_color)
{
    static struct sh_frame f;
    terminal_start(20);
    sh_frame_begin(&f, 20);
    sh_frame_text(&f, "for", 3, SH_KEYWORD);
    sh_frame_text(&f, "x", 1, SH_SELECTED);
    sh_render(&screen, &f, &bytes);
    CHECK_HAS(bytes.bytes, "for\033[7mx\033[0m");
    screen.color = true;
    screen.drawn = false;
    bytes.length = 0;
    sh_render(&screen, &f, &bytes);
    CHECK_HAS(bytes.bytes, "\033[35mfor\033[0m\033[7mx\033[0m");
}

TEST(a_font_of_few_characters)
{
    static struct sh_frame f;
    static const char text[] = "\u201ca\u2026\u201d\u2500\u2610";
    terminal_start(20);
    sh_frame_begin(&f, 20);
    sh_frame_text(&f, text, sizeof text - 1, SH_PLAIN);
    sh_render(&screen, &f, &bytes);
    CHECK_HAS(bytes.bytes, text);
    screen.few_glyphs = true;
    screen.drawn = false;
    bytes.length = 0;
    sh_render(&screen, &f, &bytes);
    CHECK_HAS(bytes.bytes, "\"a~\"\u2500o");
    screen.few_glyphs = false;
}
