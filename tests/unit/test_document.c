/* Notebooks read, converted, run and written with every allocation failing in turn: either memory is said to lack, or
 * the result is the one that comes otherwise. Nothing is lost in silence, nothing is left half written. */
#include "test.h"
#include <fcntl.h>
#include <sys/stat.h>
#include "lang/lang.h"
#include "repl/execute.h"
#include "repl/html.h"
#include "repl/notebook.h"
#include "repl/notebook_html.h"
#include "repl/notebook_markdown.h"
#include "repl/percent.h"
#include "repl/reference.h"
#include "repl/repl.h"
#include "runtime/memory.h"

static const char script[] =
    "#!/usr/bin/env lunarray\n\n-- first\n\n\n-- %% A title [markdown] tags=[\"x\"]\n-- # Heading\n"
    "-- *text* | $x$\n-- %%\n--%time x = 1\ns = [[\n-- %%\n]]\n-- %% id=\"own\" lines=2 a=1.5\n\n\n"
    "-- %% [raw] {\"b\": null}\n-- \xc3\xa9";
static const char book[] =
    "{\"cells\": [{\"cell_type\": \"markdown\", \"id\": \"a\", \"metadata\": {}, \"source\": [\"# One\\n\", \"![i](attachment:i.png)\"],"
    " \"attachments\": {\"i.png\": {\"image/png\": [\"aG\", \"k=\"]}}},"
    "{\"cell_type\": \"code\", \"id\": \"b\", \"metadata\": {\"tags\": [\"t\"]}, \"source\": \"print(1)\\nx = [[ ``` ]]\", \"execution_count\": 2,"
    " \"outputs\": [{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"1\\n\", \"2\\n\"]},"
    " {\"output_type\": \"display_data\", \"metadata\": {}, \"data\": {\"image/svg+xml\": [\"<svg>\", \"</svg>\"]}},"
    " {\"output_type\": \"error\", \"ename\": \"E\", \"evalue\": \"v\", \"traceback\": [\"\\u001b[31mone\", \"two\"]}]}],"
    " \"metadata\": {\"z\": 0.1}, \"nbformat\": 4, \"nbformat_minor\": 5}";

/* Runs `step` with the n-th allocation failing, for each n until ten in a row changed nothing. It fills the buffer, or
 * returns false and says why; the last time shows what is right. */
typedef bool step(struct lg_buffer *out, char why[SH_WHY]);

static void fail_in_turn(step *run, bool checked, long each)
{
    char why[SH_WHY] = "";
    struct lg_buffer right = {0};
    sh_json_watch();
    CHECK(run(&right, why) && !right.failed && right.length);
    int failures = 0;
    for (long n = 1, survived = 0; survived < 10 && n < 20000; n += 1 + n / each) {
        struct lg_buffer got = {0};
        snprintf(why, sizeof why, "nothing");
        sh_json_watch();
        rt_fail_allocation(n);
        bool ok = run(&got, why);
        rt_fail_allocation(0);
        if (ok && !got.failed) {
            if (got.length != right.length || memcmp(got.data, right.data, got.length) != 0)
                FAIL("failure %ld changed the result:\n%s\n\n%s", n, got.data, right.data);
            survived++;
        } else {
            if (!ok && checked) CHECK_HAS(why, "memory");
            failures++;
            survived = 0;
        }
        lg_buffer_release(&got);
    }
    lg_buffer_release(&right);
    CHECK(failures > 10);
}

/* Reads one of the texts and hands it to a writer. */
static bool transform(bool from_script, void (*put)(const json_t *, struct lg_buffer *), struct lg_buffer *out,
                      char why[SH_WHY])
{
    json_t *notebook =
        from_script ? sh_percent_read(script, sizeof script - 1, why) : sh_document_parse(book, sizeof book - 1, why);
    if (!notebook) return false;
    put(notebook, out);
    json_decref(notebook);
    return true;
}

static void put_page(const json_t *notebook, struct lg_buffer *out)
{
    sh_notebook_html(notebook, "name", out);
}

/* What runners see of it. */
static void put_view(const json_t *notebook, struct lg_buffer *out)
{
    char why[SH_WHY];
    struct sh_notebook n;
    if (!sh_notebook_view(notebook, &n, why)) {
        CHECK_HAS(why, "memory");
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < n.count; i++)
        lg_buffer_printf(out, "%s|%s|", n.cells[i].source, n.cells[i].stored ? n.cells[i].stored : "");
    sh_notebook_free(&n);
}

#define WAY(name, from_script, put)                                                                                    \
    static bool name(struct lg_buffer *out, char why[SH_WHY])                                                          \
    {                                                                                                                  \
        return transform(from_script, put, out, why);                                                                  \
    }
WAY(script_to_notebook, true, sh_document_put)
WAY(script_to_script, true, sh_percent_put)
WAY(script_to_markdown, true, sh_notebook_markdown)
WAY(script_to_page, true, put_page)
WAY(notebook_to_notebook, false, sh_document_put)
WAY(notebook_to_script, false, sh_percent_put)
WAY(notebook_to_markdown, false, sh_notebook_markdown)
WAY(notebook_to_page, false, put_page)
WAY(notebook_to_view, false, put_view)

TEST(allocations_of_conversions)
{
    static step *const ways[] = {script_to_notebook,   script_to_script,     script_to_markdown,
                                 script_to_page,       notebook_to_notebook, notebook_to_script,
                                 notebook_to_markdown, notebook_to_page,     notebook_to_view};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) fail_in_turn(ways[i], true, 1000000);
}

TEST(a_script_is_what_it_was)
{
    char why[SH_WHY];
    struct lg_buffer out = {0};
    CHECK(script_to_script(&out, why));
    CHECK_STR(out.data, script);
    lg_buffer_release(&out);
}

static char folder[64];

/* The path of a file there; four of them are valid at once. */
static char *place(const char *name)
{
    static char paths[4][128];
    static unsigned used;
    char *path = paths[used++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(place(name), "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool read_file(const char *name, struct lg_buffer *out)
{
    size_t length;
    char *text = sh_read_file(place(name), &length);
    if (!text) return false;
    lg_buffer_add(out, text, length);
    free(text);
    return true;
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0) printf("# %s is left\n", folder);
}

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/lunarray-document-%ld", (long)getpid());
    CHECK(mkdir(folder, 0700) == 0);
    atexit(remove_folder);
    int quiet = open("/dev/null", O_WRONLY);
    CHECK(quiet >= 0 && dup2(quiet, 2) == 2);
    close(quiet);
}

/* The command: the file that it replaces is the old one, or the new one. */
static bool convert_over(struct lg_buffer *out, char why[SH_WHY])
{
    char *words[] = {place("a.lua"), place("a.ipynb")};
    int status = sh_convert(2, words);
    rt_fail_allocation(0);
    struct lg_buffer left = {0};
    CHECK(read_file("a.ipynb", &left));
    if (status == 0)
        lg_buffer_add(out, left.data, left.length);
    else
        CHECK_STR(left.data, book);
    lg_buffer_release(&left);
    write_file("a.ipynb", book);
    snprintf(why, SH_WHY, "memory");
    return status == 0;
}

TEST(allocations_of_the_command)
{
    make_folder();
    write_file("a.lua", "-- %%\nprint(1)\nx = [[ ``` ]]\n-- %%\nnew()\n");
    write_file("a.ipynb", book);
    fail_in_turn(convert_over, true, 32);
}

/* Cells that print, show and update what was shown. */
static bool execute(struct lg_buffer *out, char why[SH_WHY])
{
    static const char cells[] =
        "-- %%\nprint(1) io.stderr:write('e')\n-- %%\nh = display('a')\n1 + 1\n-- %%\nh:update('b')\n"
        "-- %%\nx = 1\n";
    struct sh_options o = {.device = "cpu"};
    json_t *notebook = sh_percent_read(cells, sizeof cells - 1, why);
    if (!notebook) return false;
    bool ok = sh_execute(notebook, &o);
    sh_document_put(notebook, out);
    json_decref(notebook);
    return ok;
}

TEST(allocations_of_a_run)
{
    make_folder();
    fail_in_turn(execute, false, 1000000);
}

static const char talk[] = "-- %%\nprint(1)\n--> 1\n-- %%\nprint('a') print('b')\n--> a\n--> c\n-- %%\nx = 1\n";

static const char updated[] = "-- %%\nprint(1)\n--> 1\n-- %%\nprint('a') print('b')\n--> a\n--> b\n-- %%\nx = 1\n";

/* What the command writes to standard output goes to a file. */
static int run_quietly(int (*run)(const struct sh_options *), const char *name, const struct sh_options *o)
{
    fflush(stdout);
    int kept = dup(1), to = open(place(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(kept >= 0 && to >= 0 && dup2(to, 1) == 1);
    int status = run(o);
    rt_fail_allocation(0);
    fflush(stdout);
    dup2(kept, 1);
    close(kept);
    close(to);
    return status;
}

/* --check --update: the file is the old one, or the new one. */
static bool update_over(struct lg_buffer *out, char why[SH_WHY])
{
    char *words[] = {place("talk.lua"), NULL};
    struct sh_options o = {.device = "cpu", .check = true, .update = true, .argc = 1, .argv = words};
    int status = run_quietly(sh_run_check, "said", &o);
    struct lg_buffer left = {0};
    CHECK(read_file("talk.lua", &left));
    if (status == 0)
        lg_buffer_add(out, left.data, left.length);
    else if (strcmp(left.data, updated) != 0)
        CHECK_STR(left.data, talk);
    lg_buffer_release(&left);
    write_file("talk.lua", talk);
    snprintf(why, SH_WHY, "memory");
    return status == 0;
}

TEST(allocations_of_a_check)
{
    make_folder();
    write_file("talk.lua", talk);
    fail_in_turn(update_over, true, 1000000);
}

/* FILE.ipynb: all that it prints, and the status 0, or another one. */
static bool run_notebook(struct lg_buffer *out, char why[SH_WHY])
{
    char *words[] = {place("run.ipynb"), NULL};
    struct sh_options o = {.device = "cpu", .argc = 1, .argv = words};
    int status = run_quietly(sh_run_notebook, "printed", &o);
    snprintf(why, SH_WHY, "memory");
    return status == 0 && read_file("printed", out);
}

TEST(allocations_of_a_notebook)
{
    make_folder();
    write_file(
        "run.ipynb",
        "{\"cells\": [{\"cell_type\": \"code\", \"metadata\": {}, \"source\": [\"print(1)\\n\", \"gpu.ones(2)\"]},"
        " {\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": \"# x\"}, {\"cell_type\": \"code\","
        " \"metadata\": {}, \"source\": \"io.write('a') h = display('b') h:update('c') gpu.ones(1)\"}], \"metadata\": {},"
        " \"nbformat\": 4, \"nbformat_minor\": 4}");
    fail_in_turn(run_notebook, true, 1000000);
}

struct writing {
    char why[SH_WHY];
    bool ok;
};

static int write_reference(lua_State *L)
{
    struct writing *w = lua_touserdata(L, 1);
    w->ok = sh_reference_write(L, folder, w->why);
    return 0;
}

static struct lg_session *session;

/* One page of it stands for all. */
static bool reference(struct lg_buffer *out, char why[SH_WHY])
{
    const struct lg_error *error = NULL;
    struct writing w = {.ok = false};
    bool ok = lg_session_call(session, write_reference, &w, &error) == LG_DONE && w.ok;
    rt_fail_allocation(0);
    snprintf(why, SH_WHY, "%s", error ? error->value : w.why);
    return ok && read_file("magic.html", out) && read_file("index.html", out);
}

TEST(allocations_of_the_reference)
{
    make_folder();
    struct lg_options options = {.interactive = true, .history = ""};
    session = lg_session_new(&options);
    CHECK(session != NULL);
    fail_in_turn(reference, true, 6);
    lg_session_free(session);
}
