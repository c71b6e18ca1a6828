/* `lunarray doc NAME` and `lunarray doc --html DIR`: the reference, from the same data as ?name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lang/lang.h"
#include "repl/document.h"
#include "repl/output.h"
#include "repl/reference.h"
#include "repl/repl.h"
#include "repl/settings.h"

static void ignore(void *context, enum lg_stream which, const char *text, size_t length)
{
    (void)context, (void)which, (void)text, (void)length;
}

/* One that knows what the shell knows. */
static struct lg_session *open_session(void)
{
    struct lg_options options = {
        .sink = {.stream = ignore}, .interactive = true, .history = "", .extend = sh_open_settings};
    struct lg_session *s = lg_session_new(&options);
    if (!s) fprintf(stderr, "lunarray doc: out of memory\n");
    return s;
}

/* What a word may mean that is no name goes to standard output, as ?word has it; else a line on standard error says
 * that nothing is known. What it gets is the word; it is NULL afterwards where something was found. */
static int search(lua_State *L)
{
    const char **word = lua_touserdata(L, 1);
    if (lg_push_found(L, *word)) {
        printf("%s\n", lua_tostring(L, -1));
        *word = NULL;
    } else {
        fprintf(stderr, "lunarray doc: nothing is known of %s; %s\n", *word, lg_push_way_out(L, *word));
    }
    return 0;
}

/* As ?name in the shell: in a terminal broken at words, and in the pager when it is long. Several words are no name. */
static int print_page(const char *name)
{
    struct lg_bundle bundle;
    struct sh_output out = {.shell = true};
    struct lg_sink sink = sh_output_sink(&out);
    size_t n = strlen(name);
    struct lg_session *s = open_session();
    if (!s) return 1;
    bool found = !strchr(name, ' ') && lg_session_inspect(s, name, n, n, 0, &bundle);
    if (found) {
        sink.page(sink.context, &bundle);
        sh_output_end(&out);
    } else {
        const struct lg_error *error = NULL;
        const char *word = name;
        bool called = lg_session_call(s, search, &word, &error) == LG_DONE;
        if (!called) fprintf(stderr, "lunarray doc: %s: %s\n", name, error ? error->value : "out of memory");
        found = called && !word;
    }
    lg_session_free(s);
    return sh_output_finish() && found ? 0 : 1;
}

struct writing {
    const char *folder;
    char why[SH_WHY];
    bool ok;
};

static int write_pages(lua_State *L)
{
    struct writing *w = lua_touserdata(L, 1);
    w->ok = sh_reference_write(L, w->folder, w->why);
    return 0;
}

static int write_reference(const char *folder)
{
    struct writing w = {.folder = folder, .ok = false};
    const struct lg_error *error = NULL;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "lunarray doc: %s: %s\n", folder, strerror(errno));
        return 1;
    }
    struct lg_session *s = open_session();
    if (!s) return 1;
    bool ok = lg_session_call(s, write_pages, &w, &error) == LG_DONE && w.ok;
    if (!ok) fprintf(stderr, "lunarray doc: %s: %s\n", folder, error ? error->value : w.why);
    lg_session_free(s);
    return ok ? 0 : 1;
}

/* Several words are searched for as one phrase. */
static int print_words(int argc, char **argv)
{
    char phrase[256] = "";
    size_t n = 0;
    for (int i = 0; i < argc && n < sizeof phrase; i++)
        n += (size_t)snprintf(phrase + n, sizeof phrase - n, "%s%s", i ? " " : "", argv[i]);
    return print_page(phrase);
}

int sh_doc(int argc, char **argv)
{
    bool html = argc > 0 && strcmp(argv[0], "--html") == 0;
    if (argc == 2 && html) return write_reference(argv[1]);
    if (argc >= 1 && !html) return print_words(argc, argv);
    fprintf(stderr, "usage: lunarray doc NAME, lunarray doc WORD..., or lunarray doc --html DIR\n");
    return 1;
}
