/* `lunarray doc NAME` and `lunarray doc --html DIR`: the reference, from the same data as ?name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lang/lang.h"
#include "repl/document.h"
#include "repl/html.h"
#include "repl/repl.h"

static void ignore(void *context, enum lg_stream which, const char *text, size_t length)
{
    (void)context, (void)which, (void)text, (void)length;
}

static struct lg_session *open_session(void)
{
    struct lg_options options = {.sink = {.stream = ignore}, .interactive = true, .history = ""};
    struct lg_session *s = lg_session_new(&options);
    if (!s) fprintf(stderr, "lunarray doc: out of memory\n");
    return s;
}

static int print_page(const char *name)
{
    struct lg_bundle bundle;
    size_t n = strlen(name);
    struct lg_session *s = open_session();
    if (!s) return 1;
    bool found = lg_session_inspect(s, name, n, n, 0, &bundle);
    if (found) {
        fwrite(bundle.items[0].data, 1, bundle.items[0].length, stdout);
        if (bundle.items[0].data[bundle.items[0].length - 1] != '\n') putchar('\n');
    } else {
        fprintf(stderr, "lunarray doc: nothing is known of %s; lunarray doc --html DIR writes all there is\n", name);
    }
    lg_session_free(s);
    return found ? 0 : 1;
}

/* ---- pages */

struct pages {
    const char *folder;
    struct lg_buffer page, index;
    char why[SH_WHY];
    bool ok;
};

/* How many bytes of "gpu.random.normal" are the scope. */
static size_t scope_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - name) : 0;
}

static int compare(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    size_t n = scope_length(x), m = scope_length(y);
    int order = memcmp(x, y, n < m ? n : m);
    if (order == 0 && n != m) order = n < m ? -1 : 1;
    return order ? order : strcmp(x, y);
}

static void put(struct lg_buffer *b, const char *text, size_t length)
{
    sh_html_attribute(b, text, length);
}

static void put_link(struct lg_buffer *b, const char *name)
{
    lg_buffer_puts(b, "<a href=\"");
    put(b, name, scope_length(name));
    lg_buffer_puts(b, ".html#");
    put(b, name, strlen(name));
    lg_buffer_puts(b, "\"><code>");
    put(b, name, strlen(name));
    lg_buffer_puts(b, "</code></a>");
}

/* The text below the signature: its lines are paragraphs. */
static void put_doc(struct lg_buffer *b, const char *doc)
{
    for (size_t n; *doc; doc += n + (doc[n] == '\n')) {
        n = strcspn(doc, "\n");
        lg_buffer_puts(b, "<p>");
        put(b, doc, n);
        lg_buffer_puts(b, "</p>\n");
    }
}

static void put_entry(struct pages *p, const char *name, const struct lg_function *row)
{
    const char *doc = row->doc ? row->doc : "", *signature = row->signature ? row->signature : name;
    lg_buffer_puts(&p->page, "<h2 id=\"");
    put(&p->page, name, strlen(name));
    lg_buffer_puts(&p->page, "\"><code>");
    put(&p->page, signature, strlen(signature));
    lg_buffer_puts(&p->page, "</code></h2>\n");
    put_doc(&p->page, doc);
    if (row->example) sh_html_code(&p->page, "lua", row->example, strlen(row->example));
    lg_buffer_puts(&p->index, "<li>");
    put_link(&p->index, name);
    lg_buffer_puts(&p->index, " ");
    put(&p->index, doc, strcspn(doc, "\n"));
    lg_buffer_puts(&p->index, "</li>\n");
}

static void store(struct pages *p, const char *name, size_t length, struct lg_buffer *page)
{
    struct lg_buffer path = {0};
    lg_buffer_puts(page, "</body>\n</html>\n");
    lg_buffer_puts(&path, p->folder);
    lg_buffer_puts(&path, "/");
    lg_buffer_add(&path, name, length);
    lg_buffer_puts(&path, ".html");
    p->ok = p->ok && !path.failed && sh_document_store(path.data, page, p->why);
    lg_buffer_release(&path);
    lg_buffer_release(page);
}

static void begin_page(struct pages *p, const char *name, size_t length)
{
    char title[128];
    snprintf(title, sizeof title, "%.*s", (int)length, name);
    sh_html_head(&p->page, title, false);
    lg_buffer_puts(&p->page, "<p><a href=\"index.html\">All functions</a></p>\n<h1>");
    put(&p->page, title, strlen(title));
    lg_buffer_puts(&p->page, "</h1>\n");
}

static const char search[] =
    "<script>const all=[...document.querySelectorAll('li')],find=document.getElementById('find');"
    "find.addEventListener('input',()=>{const words=find.value.toLowerCase().split(/\\s+/);"
    "for(const li of all)li.hidden=!words.every(w=>li.textContent.toLowerCase().includes(w))})</script>\n";

/* One page for each scope, and the list of all, which can be searched. */
static int write_pages(lua_State *L)
{
    struct pages *p = lua_touserdata(L, 1);
    lg_push_doc_names(L);
    size_t count = lua_rawlen(L, 2);
    const char **names = lua_newuserdatauv(L, (count + 1) * sizeof *names, 0);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, (lua_Integer)i + 1);
        names[i] = lua_tostring(L, -1);
        lua_pop(L, 1); /* the list keeps it */
    }
    qsort(names, count, sizeof *names, compare);
    sh_html_head(&p->index, "lunarray reference", true);
    lg_buffer_puts(&p->index,
                   "<h1>lunarray " LUNARRAY_VERSION "</h1>\n<p><input id=\"find\" type=\"search\" "
                   "placeholder=\"Search\" autofocus style=\"width:100%;font:inherit;padding:.4rem\"></p>\n<ul>\n");
    for (size_t i = 0; i < count; i++) {
        size_t n = scope_length(names[i]);
        const struct lg_function *row = lg_doc_by_name(L, names[i]);
        if (!n || !row) continue;
        if (!p->page.length) begin_page(p, names[i], n);
        put_entry(p, names[i], row);
        bool last = i + 1 == count || scope_length(names[i + 1]) != n || memcmp(names[i], names[i + 1], n) != 0;
        if (last) store(p, names[i], n, &p->page);
    }
    lg_buffer_puts(&p->index, "</ul>\n");
    lg_buffer_puts(&p->index, search);
    store(p, "index", 5, &p->index);
    return 0;
}

static int write_reference(const char *folder)
{
    struct pages p = {.folder = folder, .why = "out of memory", .ok = true};
    const struct lg_error *error = NULL;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "lunarray doc: %s: %s\n", folder, strerror(errno));
        return 1;
    }
    struct lg_session *s = open_session();
    if (!s) return 1;
    bool ok = lg_session_call(s, write_pages, &p, &error) == LG_DONE && p.ok;
    if (!ok) fprintf(stderr, "lunarray doc: %s: %s\n", folder, error ? error->value : p.why);
    lg_buffer_release(&p.page);
    lg_buffer_release(&p.index);
    lg_session_free(s);
    return ok ? 0 : 1;
}

int sh_doc(int argc, char **argv)
{
    bool html = argc > 0 && strcmp(argv[0], "--html") == 0;
    if (argc == 2 && html) return write_reference(argv[1]);
    if (argc == 1 && !html) return print_page(argv[0]);
    fprintf(stderr, "usage: lunarray doc NAME, or lunarray doc --html DIR\n");
    return 2;
}
