/* A notebook's cells as a demo, and what cells put out as text. */
#include "repl/demo.h"
#include "repl/notebook.h"
#include "repl/transcript.h"
#include "tests/unit/test.h"

static struct sh_demo demo;

static struct sh_demo_cell *build(bool markdown, const char *source, const char *stored)
{
    struct sh_cell cell = {
        .markdown = markdown, .source = (char *)source, .length = strlen(source), .stored = (char *)stored};
    sh_demo_free(&demo);
    CHECK(sh_demo_build(&(struct sh_notebook){&cell, 1}, &demo));
    return demo.count ? &demo.cells[0] : NULL;
}

static const char *code(const char *source)
{
    return build(false, source, NULL)->text.bytes;
}

static const char *expected(const char *source, const char *stored)
{
    return build(false, source, stored)->expected.bytes;
}

TEST(expected_output_is_cut_off)
{
    CHECK_STR(code("print(1)\n--> 1\n"), "print(1)");
    CHECK_STR(expected("print(1)\n--> 1\n", NULL), "1\n");
    CHECK_STR(expected("f()\n-->   a\n-->\n-->b", NULL), "  a\n\nb\n");
    CHECK_STR(code("f()\n--> inside\ng()"), "f()\n--> inside\ng()");
    CHECK(!expected("f()\n--> inside\ng()", NULL));
    CHECK_STR(code("f() --> 1"), "f() --> 1");
    CHECK_STR(code("f()\n-- > 1\n -- -> 1"), "f()\n-- > 1\n -- -> 1");
    CHECK_STR(code("\n\n  f()\n\n--> 1"), "  f()");
    CHECK_STR(code("--> 1"), "");
    CHECK_STR(expected("--> 1\r\n--> 2", NULL), "1\r\n2\n");
    CHECK_INT(sh_demo_code_end("a\n--> 1", 8), 2);
    CHECK_INT(sh_demo_code_end("a", 1), 1);
}

TEST(stored_outputs_are_expected_unless_comments_say_it)
{
    CHECK_STR(expected("f()", "stored\n"), "stored\n");
    CHECK_STR(expected("f()", ""), "");
    CHECK_STR(expected("f()\n--> said", "stored\n"), "said\n");
    CHECK(!expected("f()", NULL));
}

TEST(blank_cells_are_left_out)
{
    CHECK(!build(false, "", NULL));
    CHECK(!build(false, " \n\t\n", NULL));
    CHECK(!build(true, "\n", NULL));
}

TEST(titles)
{
    CHECK_STR(build(false, "x = 1\ny = 2", NULL)->title.bytes, "x = 1");
    CHECK_STR(build(true, "some *text*\n\n## The `x` *heading*\nmore", NULL)->title.bytes, "The x heading");
    CHECK_STR(build(true, "just **text**\nand more", NULL)->title.bytes, "just text and more");
    CHECK_STR(build(true, "---", NULL)->title.bytes, "---");
    CHECK_STR(build(false, "--> 1", NULL)->title.bytes, "");
}

static struct sh_transcript script;
static struct lg_sink sink;

static void show(const char *text, const char *id, bool update)
{
    struct lg_mime items[] = {{"text/html", "<b>", 3}, {"text/plain", text, strlen(text)}};
    sink.display(sink.context, &(struct lg_bundle){items, 2}, id, update);
}

static void stream(enum lg_stream which, const char *text)
{
    sink.stream(sink.context, which, text, strlen(text));
}

static const char *taken(void)
{
    static struct sh_text out;
    CHECK(sh_transcript_take(&script, &out));
    return out.bytes;
}

TEST(transcript)
{
    sink = sh_transcript_sink(&script);
    CHECK_STR(taken(), "");
    stream(LG_STDOUT, "a");
    stream(LG_STDERR, "b");
    show("shown", "1", false);
    stream(LG_STDOUT, "c\n");
    show("other\n", NULL, false);
    show("again", "1", true);
    show("nowhere", "2", true);
    CHECK_STR(taken(), "ab\nagain\nc\nother\n");
    stream(LG_STDOUT, "\033[31mred\033[0m");
    sink.clear_output(sink.context, false);
    stream(LG_STDOUT, "\033[31mred\033[0m");
    CHECK_STR(taken(), "red");
    const char *lines[] = {"first", "second"};
    sh_transcript_error(&script, &(struct lg_error){.traceback = lines, .traceback_count = 2});
    sh_transcript_error(&script, &(struct lg_error){.value = "message"});
    CHECK_STR(taken(), "first\nsecond\nmessage\n");
}
