/* `lunarray FILE.ipynb --inplace` and `--html`: executes a notebook, and keeps what came of it. */
#include <stdio.h>
#include <string.h>
#include "repl/execute.h"
#include "repl/notebook_html.h"

static bool fail(const char *path, const char *why)
{
    fprintf(stderr, "lunarray: %s: %s\n", path, why);
    return false;
}

static bool store_notebook(const json_t *notebook, const char *path)
{
    char why[SH_WHY];
    struct lg_buffer text = {0};
    sh_document_put(notebook, &text);
    bool ok = sh_document_store(path, &text, why);
    lg_buffer_release(&text);
    return ok || fail(path, why);
}

/* FILE.html beside the notebook, unless the option names another one. */
static bool store_page(const json_t *notebook, const struct sh_options *o)
{
    char why[SH_WHY];
    struct lg_buffer page = {0}, path = {0};
    const char *from = o->argv[0], *end = strrchr(from, '.'), *slash = strrchr(from, '/');
    if (o->html_file) {
        lg_buffer_puts(&path, o->html_file);
    } else {
        lg_buffer_add(&path, from, end && end > (slash ? slash : from) ? (size_t)(end - from) : strlen(from));
        lg_buffer_puts(&path, ".html");
    }
    sh_notebook_html(notebook, slash ? slash + 1 : from, &page);
    bool ok = !path.failed && sh_document_store(path.data, &page, why);
    if (!ok) fail(path.failed ? from : path.data, path.failed ? "out of memory" : why);
    lg_buffer_release(&page);
    lg_buffer_release(&path);
    return ok;
}

int sh_run_stored(const struct sh_options *o)
{
    char why[SH_WHY];
    const char *path = o->argv[0], *end = strrchr(path, '.');
    if (o->inplace && sh_names_markdown(path)) {
        fail(path, "--inplace stores outputs in .ipynb; lunarray --check --update writes them into Markdown");
        return 1;
    }
    if (o->inplace && (!end || strcmp(end, ".ipynb") != 0)) {
        fail(path, "--inplace stores outputs in notebooks; lunarray convert makes one of a script");
        return 1;
    }
    sh_json_watch();
    json_t *notebook = sh_document_load(path, why);
    if (!notebook) return fail(path, why), 1;
    bool ok = sh_execute(notebook, o);
    /* What was put out up to an error is kept, too. */
    sh_document_complete(notebook);
    if (o->inplace) ok = store_notebook(notebook, path) && ok;
    if (o->html) ok = store_page(notebook, o) && ok;
    json_decref(notebook);
    return ok ? 0 : 1;
}
