/* The presenter's state machine: keys and time in, what it asks for and what it shows out. */
#include "repl/notebook.h"
#include "repl/present.h"
#include "repl/render.h"
#include "runtime/memory.h"
#include "tests/unit/test.h"

#define UP    "\033[A"
#define DOWN  "\033[B"
#define RIGHT "\033[C"
#define LEFT  "\033[D"

static struct sh_demo demo;
static struct sh_presenter p;
static struct sh_decoder decoder;
static long now;
static char trace[4096];   /* what was asked for, and for which cell */
static const char *edited; /* what the editor gives; NULL: given up */
static enum lg_status cells_end = LG_DONE;

static void note(const char *what)
{
    size_t n = strlen(trace), length;
    const char *text = sh_present_text(&p, &length);
    snprintf(trace + n, sizeof trace - n, "%s%s(%.*s)", n ? " " : "", what, (int)length, text);
}

/* Does what the caller would do. */
static void act(enum sh_present_action action)
{
    for (;;) {
        switch (action) {
        case SH_PRESENT_WAIT: return;
        case SH_PRESENT_RUN:
            note("run");
            sh_present_done(&p, demo.cells[p.at].markdown ? LG_DONE : cells_end, now);
            return;
        case SH_PRESENT_EDIT:
            note("edit");
            action = sh_present_edited(&p, edited, edited ? strlen(edited) : 0, now);
            continue;
        case SH_PRESENT_PROMPT:
            note("prompt");
            sh_present_resume(&p, now);
            return;
        case SH_PRESENT_RESTART:
            note("restart");
            sh_present_restart(&p, now);
            return;
        case SH_PRESENT_SUSPEND: note("suspend"); return;
        case SH_PRESENT_CLEAR: note("clear"); return;
        case SH_PRESENT_LEAVE: note("leave"); return;
        }
    }
}

static const char *press_bytes(const char *bytes, size_t length)
{
    struct sh_key key;
    trace[0] = '\0';
    for (size_t i = 0; i < length; i++)
        if (sh_decode(&decoder, (unsigned char)bytes[i], &key)) act(sh_present_key(&p, &key, now));
    if (sh_decoder_flush(&decoder, &key)) act(sh_present_key(&p, &key, now));
    return trace;
}
#define PRESS(s) press_bytes(s, sizeof(s) - 1)

/* Lets time pass until nothing comes by itself, or for so many milliseconds. */
static const char *pass(long milliseconds)
{
    long end = now + milliseconds;
    trace[0] = '\0';
    for (int wait; (wait = sh_present_wait(&p, now)) >= 0 && now + wait <= end && !strstr(trace, "leave");) {
        now += wait;
        act(sh_present_tick(&p, now));
    }
    now = end;
    return trace;
}

/* A cell that begins with # is Markdown; ! in front says that it may fail. */
static void start_with(const char *const *cells, struct sh_present_options options)
{
    struct sh_cell list[32];
    struct sh_notebook n = {.cells = list};
    sh_present_free(&p);
    sh_demo_free(&demo);
    for (; *cells; cells++) {
        bool may_fail = **cells == '!';
        const char *source = *cells + may_fail;
        list[n.count++] = (struct sh_cell){
            .markdown = *source == '#', .source = (char *)source, .length = strlen(source), .may_fail = may_fail};
    }
    CHECK(sh_demo_build(&n, &demo));
    CHECK(sh_present_start(&p, &demo, &options, now));
}

#define START(...)                                                                                                     \
    start_with((const char *const[]){"# T", "a()", "b()", "# U", "c()", NULL}, (struct sh_present_options){__VA_ARGS__})

static const char *screen(int columns, int rows)
{
    static char out[8192];
    static struct sh_frame f;
    struct sh_present_view view = {.columns = columns, .rows = rows, .number = 7, .time = "14:05", .now = now};
    size_t n = 0;
    sh_present_frame(&p, &view, &f);
    CHECK(!f.failed && f.cursor_row < f.count && f.cursor_column < columns);
    CHECK(rows == 0 || f.count <= (size_t)rows);
    for (size_t i = 0; i < f.count; i++) {
        CHECK(f.rows[i].width <= columns);
        n += (size_t)snprintf(out + n, sizeof out - n, "%.*s\n", (int)(f.rows[i].end - f.rows[i].start),
                              f.text.bytes + f.rows[i].start);
    }
    return out;
}

TEST(from_start_to_end)
{
    START();
    CHECK_STR(PRESS("\r"), "run(# T)");
    CHECK_STR(PRESS("\r"), "run(a())");
    CHECK_STR(PRESS("\r"), ""); /* its output was looked at */
    CHECK_STR(PRESS("\r\r"), "run(b())");
    CHECK_STR(PRESS("n"), "run(# U)");
    CHECK_STR(PRESS(" "), "run(c())");
    CHECK_STR(PRESS(RIGHT RIGHT), "");
    CHECK_INT(p.phase, SH_AT_END);
    CHECK_STR(PRESS("q"), "");
    CHECK_STR(PRESS("q"), "leave()");
    CHECK(!p.failed);
}

/* keys, and what they lead to from the second cell on */
static const struct {
    const char *keys, *trace;
    size_t at;
    enum sh_present_phase phase;
} moves[] = {
    {"", "", 1, SH_AT_CELL},
    {"b", "", 0, SH_AT_CELL},
    {"bb", "", 0, SH_AT_CELL},
    {LEFT, "", 0, SH_AT_CELL},
    {"\033[5~", "", 0, SH_AT_CELL},
    {"\x7f", "", 0, SH_AT_CELL},
    {"\rb", "run(a())", 1, SH_AT_CELL}, /* back to what has just run */
    {"\rb\r", "run(a()) run(a())", 1, SH_AT_OUTPUT},
    {"\rbb", "run(a())", 0, SH_AT_CELL},
    {"\033[6~\033[6~", "run(a())", 2, SH_AT_CELL},
    {"s", "", 2, SH_AT_CELL},
    {"\rs", "run(a())", 2, SH_AT_CELL},
    {"ss\r", "run(# U)", 4, SH_AT_CELL},
    {"sssss", "", 5, SH_AT_END},
    {"ssssb", "", 4, SH_AT_CELL},
    {"5\r", "", 4, SH_AT_CELL},
    {"5" UP "\r", "", 3, SH_AT_CELL},
    {"g" DOWN DOWN DOWN DOWN DOWN "\r", "", 4, SH_AT_CELL},
    {"g" UP UP UP "\r", "", 0, SH_AT_CELL},
    {"g\033[6~\r", "", 4, SH_AT_CELL},
    {"g3\r", "", 2, SH_AT_CELL},
    {"9\r", "", 1, SH_AT_CELL}, /* there is no such cell */
    {"g34\x7f\r", "", 2, SH_AT_CELL},
    {"g5\033", "", 1, SH_AT_CELL},
    {"g5q", "", 1, SH_AT_CELL},
    {"0", "", 1, SH_AT_CELL},
    {"?\r", "", 1, SH_AT_CELL}, /* any key closes the list of keys and does nothing else */
    {"h" DOWN UP "q", "", 1, SH_AT_CELL},
    {"qx", "", 1, SH_AT_CELL},
    {"qq", "leave(a())", 1, SH_AT_CELL},
    {"q\r", "leave(a())", 1, SH_AT_CELL},
    {"qy", "leave(a())", 1, SH_AT_CELL},
    {"\x03\x03", "leave(a())", 1, SH_AT_CELL},
    {"\x04\x04", "leave(a())", 1, SH_AT_CELL},
    {"\x03n", "", 1, SH_AT_CELL},
    {"Rx", "", 1, SH_AT_CELL},
    {"sR\r", "restart(b())", 0, SH_AT_CELL},
    {"RR", "restart(a())", 0, SH_AT_CELL},
    {"p", "prompt(a())", 1, SH_AT_CELL},
    {"\rp", "run(a()) prompt(a())", 1, SH_AT_OUTPUT},
    {"\x0c\x1a", "clear(a()) suspend(a())", 1, SH_AT_CELL},
    {"xz\033x\x02", "", 1, SH_AT_CELL},             /* nothing */
    {"\033[200~\r\rq\033[201~", "", 1, SH_AT_CELL}, /* nor what is pasted */
};

TEST(moves)
{
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        START();
        PRESS("s");
        const char *got = press_bytes(moves[i].keys, strlen(moves[i].keys));
        if (strcmp(got, moves[i].trace) != 0 || p.at != moves[i].at || p.phase != moves[i].phase)
            FAIL("row %zu, keys \"%s\": \"%s\" at %zu in phase %d, expected \"%s\" at %zu in phase %d", i,
                 moves[i].keys, got, p.at, p.phase, moves[i].trace, moves[i].at, moves[i].phase);
        CHECK_INT(sh_present_wait(&p, now), -1);
    }
}

TEST(an_edited_cell_runs_and_stays)
{
    START();
    edited = "changed()";
    CHECK_STR(PRESS("e"), ""); /* text has no editor */
    CHECK_HAS(screen(80, 24), "only code is edited here");
    CHECK_STR(PRESS("c"), "");
    CHECK(!strstr(screen(80, 24), "only code is edited here"));
    CHECK_STR(PRESS("c"), "");
    CHECK_STR(PRESS("se"), "edit(a()) run(changed())");
    CHECK_INT(p.phase, SH_AT_OUTPUT);
    CHECK_STR(PRESS("b\r"), "run(changed())");
    edited = NULL;
    CHECK_STR(PRESS("e"), "edit(changed())");
    CHECK_INT(p.phase, SH_AT_CELL);
    CHECK_STR(PRESS("\r"), "run(changed())");
    CHECK_STR(PRESS("RR"), "restart(changed())");
    CHECK_STR(PRESS("s\r"), "run(a())");
    CHECK_STR(PRESS("sssse"), ""); /* at the end there is none */
}

TEST(jumping_can_run_what_is_before)
{
    START();
    CHECK_STR(PRESS("5r"), "");
    CHECK_STR(pass(0), "run(# T) run(a()) run(b()) run(# U)");
    CHECK_INT(p.at, 4);
    CHECK_INT(p.phase, SH_AT_CELL);
    CHECK_INT(sh_present_wait(&p, now), -1);
    PRESS("2\r\r");
    CHECK_STR(PRESS("4r"), ""); /* what has just run does not run again */
    CHECK_STR(pass(0), "run(b())");
    CHECK_STR(PRESS("1r"), "");
    CHECK_INT(p.at, 0);
    cells_end = LG_ERROR; /* it stops where one fails */
    PRESS("5r");
    CHECK_STR(pass(0), "run(# T) run(a())");
    CHECK_INT(p.at, 1);
    CHECK_INT(p.phase, SH_AT_OUTPUT);
    cells_end = LG_DONE;
    START();
    PRESS("5r");
    act(sh_present_tick(&p, now));
    PRESS("x"); /* any key stops it */
    CHECK_STR(pass(1000), "");
    CHECK_INT(p.at, 1);
}

TEST(it_plays_by_itself)
{
    START(.play = true, .pause = 2);
    CHECK_STR(pass(1999), "");
    CHECK_STR(pass(1), "run(# T)");
    CHECK_STR(pass(2000), "run(a())");
    CHECK_STR(pass(2000), "");
    CHECK_STR(pass(2000), "run(b())");
    PRESS("a");
    CHECK_STR(pass(100000), "");
    PRESS("a");
    CHECK_STR(pass(100000), "run(# U) run(c()) leave()");
    START(.play = true, .pause = 0);
    CHECK_STR(pass(0), "run(# T) run(a()) run(b()) run(# U) run(c()) leave()");
}

TEST(playing_waits_while_something_is_asked)
{
    START(.play = true, .pause = 1);
    PRESS("?");
    CHECK_STR(pass(100000), "");
    PRESS("x");
    CHECK_STR(pass(1000), "run(# T)");
    PRESS("g");
    CHECK_STR(pass(100000), "");
    PRESS("\033");
    CHECK_STR(pass(1000), "run(a())");
    cells_end = LG_INTERRUPTED; /* somebody is there */
    CHECK_STR(pass(2000), "run(b())");
    CHECK_STR(pass(100000), "");
    CHECK(p.failed);
}

TEST(failures_are_remembered_where_nobody_expects_them)
{
    static const char *const cells[] = {"!error()", "x()", NULL};
    start_with(cells, (struct sh_present_options){0});
    cells_end = LG_ERROR;
    PRESS("\r");
    CHECK(!p.failed);
    PRESS("\r\r");
    CHECK(p.failed);
    CHECK_INT(p.phase, SH_AT_OUTPUT);
}

TEST(cells_are_typed_at_a_pace)
{
    static const char *const cells[] = {"# T", "if x then\n    y()\nend", "z()", NULL};
    start_with(cells, (struct sh_present_options){.typing = 10});
    CHECK_INT(p.phase, SH_AT_CELL); /* text is not typed */
    PRESS("\r");
    CHECK_INT(p.phase, SH_AT_TYPING);
    act(sh_present_tick(&p, now));
    CHECK_STR(screen(40, 10), "\n7> i\n2/3  Enter shows all, ? keys\n");
    long start = now;
    size_t before = p.typed, steps = 1;
    while (p.phase == SH_AT_TYPING) {
        int wait = sh_present_wait(&p, now);
        CHECK(wait >= 0 && wait <= 600);
        now += wait;
        act(sh_present_tick(&p, now));
        CHECK(p.typed > before);
        before = p.typed;
        steps++;
    }
    CHECK_INT(steps, strlen(cells[1]) - 4); /* an indent comes with its newline */
    CHECK(now - start > 1000 && now - start < 4000);
    CHECK_STR(screen(40, 10), "\n7> if x then\n..     y()\n.. end\n2/3  Enter runs, ? keys\n");
    CHECK_STR(PRESS("\r"), "run(if x then\n    y()\nend)");
    PRESS("\r");
    CHECK_INT(p.phase, SH_AT_TYPING);
    CHECK_STR(PRESS("\r"), ""); /* shows all */
    CHECK_STR(PRESS("\r"), "run(z())");
    PRESS("bt"); /* what was seen is not typed again */
    CHECK_INT(p.phase, SH_AT_CELL);
    PRESS("3\r");
    CHECK_INT(p.phase, SH_AT_CELL);
    PRESS("t3\r");
    CHECK_INT(p.phase, SH_AT_TYPING);
}

TEST(typing_is_whole_characters_and_catches_up)
{
    static const char *const cells[] = {"e\xCC\x81\xE6\xBC\xA2", NULL};
    start_with(cells, (struct sh_present_options){.typing = 10, .play = true, .pause = 1});
    act(sh_present_tick(&p, now));
    CHECK_INT(p.typed, 3);
    CHECK_HAS(pass(5000), "run(e\xCC\x81\xE6\xBC\xA2)");
}

TEST(the_screen)
{
    static const char *const cells[] = {"# Title\ntext", "x = 1\ny = 2", "z()", NULL};
    start_with(cells, (struct sh_present_options){0});
    CHECK_STR(screen(40, 10), "\nTitle\n\xE2\x95\x90\xE2\x95\x90\xE2\x95\x90\xE2\x95\x90\xE2\x95\x90\n\ntext\n"
                              "1/3  Enter goes on, ? keys\n");
    PRESS("\r");
    CHECK_STR(screen(40, 10), "\n7> x = 1\n.. y = 2\n2/3  Enter runs, ? keys\n");
    CHECK_STR(screen(40, 0), "\n7> x = 1\n.. y = 2\n");
    PRESS("c");
    now += 61000;
    CHECK_STR(screen(40, 10), "\n7> x = 1\n.. y = 2\n2/3  Enter runs, ? keys      14:05  1:01\n");
    CHECK_INT(sh_present_wait(&p, now), 1000);
    CHECK_INT(sh_present_wait(&p, now + 1), 999);
    PRESS("c\r");
    CHECK_STR(screen(40, 10), "2/3  Enter goes on, ? keys\n");
    PRESS("g");
    CHECK_STR(screen(30, 10), "\n   1  Title\n>  2    x = 1\n   3    z()\n2/3  Enter goes there; r runs\xE2\x80\xA6\n");
    PRESS("\033");
    PRESS("q");
    CHECK_STR(screen(60, 10), "2/3  leave? Enter or q does, other keys go on\n");
    PRESS("xsss");
    CHECK_STR(screen(40, 10), "3/3  the end; q leaves, ? keys\n");
}

TEST(tall_cells_scroll)
{
    static const char *const cells[] = {"a\nb\nc\nd\ne\nf", NULL};
    start_with(cells, (struct sh_present_options){0});
    CHECK_STR(screen(60, 4), "\n7> a\n.. b\n1/1  Enter runs, ? keys; Down: 4 more rows\n");
    PRESS(DOWN);
    CHECK_STR(screen(60, 4), "7> a\n.. b\n.. c\n1/1  Enter runs, ? keys; Down: 3 more rows\n");
    PRESS(DOWN DOWN DOWN DOWN DOWN DOWN DOWN);
    CHECK_STR(screen(60, 4), ".. d\n.. e\n.. f\n1/1  Enter runs, ? keys\n");
    PRESS(UP);
    CHECK_STR(screen(60, 4), ".. c\n.. d\n.. e\n1/1  Enter runs, ? keys; Down: 1 more row\n");
    CHECK_STR(screen(60, 20), "\n7> a\n.. b\n.. c\n.. d\n.. e\n.. f\n1/1  Enter runs, ? keys\n");
    CHECK_STR(screen(60, 1), "1/1  Enter runs, ? keys; Down: 7 more rows\n");
    CHECK_STR(screen(60, 0), "\n7> a\n.. b\n.. c\n.. d\n.. e\n.. f\n");
}

TEST(any_size_holds_the_list_of_keys)
{
    START();
    PRESS("?");
    for (int columns = 1; columns < 90; columns++)
        for (int rows = 1; rows < 40; rows += 3) screen(columns, rows);
    CHECK_HAS(screen(80, 24), "\ne        edits a cell of code; Enter then runs it, Ctrl-C leaves it as it was\n");
    CHECK_HAS(screen(80, 24), "other keys go back");
    PRESS(DOWN DOWN DOWN);
    CHECK_HAS(screen(80, 6), "s        skips the cell\ne        ");
}

TEST(a_demo_without_cells)
{
    static const char *const none[] = {NULL};
    start_with(none, (struct sh_present_options){.play = true, .pause = 0});
    PRESS("\rbsegR\033");
    CHECK_STR(screen(40, 5), "0/0  the end; q leaves, ? keys\n");
    CHECK_STR(pass(0), "leave()");
}

/* Draws a screen where another frame is shown, with the n-th allocation failing, and then again. False when the frame
 * has failed; else its text, which lacks nothing. */
static bool draw(struct sh_text *text, long nth)
{
    struct sh_present_view view = {.columns = 40, .rows = 12, .number = 7, .time = "14:05", .now = now};
    struct sh_screen shown = {.color = true};
    struct sh_frame f = {0};
    struct sh_text bytes = {0};
    sh_frame_begin(&f, view.columns);
    sh_frame_text(&f, "what was there", 14, SH_PLAIN);
    sh_render(&shown, &f, &bytes);
    sh_frame_free(&f);
    rt_fail_allocation(nth);
    sh_present_frame(&p, &view, &f);
    bool ok = !f.failed;
    CHECK(f.count == 0 || f.cursor_row < f.count);
    sh_render(&shown, &f, &bytes);
    rt_fail_allocation(0);
    if (ok) sh_text_set(text, f.text.bytes, f.text.length);
    sh_present_frame(&p, &view, &f);
    CHECK(!f.failed);
    sh_render(&shown, &f, &bytes);
    CHECK(strstr(bytes.bytes, "\033[-") == NULL);
    sh_frame_free(&f);
    sh_text_free(&bytes);
    sh_screen_free(&shown);
    return ok;
}

TEST(allocations_of_screens)
{
    static const char *const cells[] = {"# Title\n*text* and a [link](x)\n\n> quoted\n\n- [x] one\n- two\n\n"
                                        "| a | b |\n|---|--:|\n| 1 | 2 |\n\n```lua\nx = 1\n```\n",
                                        "for i = 1, 2 do\n  print(i)\nend", NULL};
    static const char *const keys[] = {"", "g", "\033?", "\033\r", "q"};
    start_with(cells, (struct sh_present_options){0});
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        struct sh_text right = {0}, got = {0};
        press_bytes(keys[k], strlen(keys[k]));
        CHECK(draw(&right, 0));
        int failures = 0;
        for (long n = 1, survived = 0; survived < 10; n++) {
            bool ok = draw(&got, n);
            if (ok) CHECK_STR(got.bytes, right.bytes);
            survived = ok ? survived + 1 : 0;
            failures += !ok;
        }
        CHECK(failures > 1);
        sh_text_free(&right);
        sh_text_free(&got);
    }
}
