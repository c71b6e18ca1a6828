#define _GNU_SOURCE /* asprintf */
#include "jupyter/install.h"
#include "jupyter/handshake.h"
#include "jupyter/jupyter.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lang/cuda.h"
#include "lang/lexer.h"
#include "lang/session.h"
#include "runtime/file.h"

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static enum rt_status make_folders(const char *path, mode_t mode, struct rt_error *e)
{
    char part[PATH_MAX];
    if (strlen(path) >= sizeof part) return rt_fail(e, RT_INVALID, "the path %s is too long", path);
    strcpy(part, path);
    for (char *p = part + 1;; p++) {
        if (*p != '/' && *p) continue;
        char c = *p;
        *p = '\0';
        if (mkdir(part, mode) != 0 && errno != EEXIST)
            return rt_fail(e, RT_IO, "cannot make the folder %s: %s", part, strerror(errno));
        if (!c) return RT_OK;
        *p = c;
    }
}

static enum rt_status write_file(const char *folder, const char *name, const void *data, size_t length,
                                 struct rt_error *e)
{
    char *path = join(folder, name);
    struct rt_writer w; /* a kernelspec is never seen half */
    if (!path) return rt_fail(e, RT_NOMEM, "out of memory");
    enum rt_status status = rt_writer_open(path, &w, e);
    if (status == RT_OK) {
        rt_writer_put(&w, data, length);
        status = rt_writer_finish(&w, true, e);
    }
    free(path);
    return status;
}

/* Where Jupyter looks for a user's things: kernels, and the runtime folder. */
static char *user_data(struct rt_error *e)
{
    const char *data = getenv("JUPYTER_DATA_DIR"), *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char *path = NULL;
    if (data && *data)
        path = strdup(data);
    else if (xdg && *xdg)
        path = join(xdg, "jupyter");
    else if (home && *home)
        path = join(home, ".local/share/jupyter");
    else {
        rt_fail(e, RT_MISSING, "HOME is not set, so there is no user folder; name a folder by --prefix");
        return NULL;
    }
    if (!path) rt_fail(e, RT_NOMEM, "out of memory");
    return path;
}

static char *own_path(struct rt_error *e)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) {
        rt_fail(e, RT_IO, "cannot find out where this binary is (/proc/self/exe: %s); name it by --command",
                strerror(errno));
        return NULL;
    }
    path[n] = '\0';
    return strdup(path);
}

static enum rt_status write_spec(const char *folder, const char *command, struct rt_error *e)
{
    json_t *spec = json_pack("{s:[s, s, s, s, s], s:s, s:s, s:s, s:s, s:{s:b, s:[s]}}", "argv", command, "jupyter",
                             "start", "-f", "{connection_file}", "display_name", JP_DISPLAY_NAME, "language", "lua",
                             "interrupt_mode", "message", "kernel_protocol_version", JP_HANDSHAKE_VERSION, "metadata",
                             "debugger", 1, "supported_encryption", "curve");
    char *text = spec ? json_dumps(spec, JSON_INDENT(1)) : NULL;
    json_decref(spec);
    if (!text) return rt_fail(e, RT_INVALID, "the path of the binary, %s, is not UTF-8", command);
    enum rt_status status = write_file(folder, "kernel.json", text, strlen(text), e);
    free(text);
    return status;
}

static enum rt_status write_logos(const char *folder, struct rt_error *e)
{
    enum rt_status status = write_file(folder, "logo-svg.svg", jp_logo_svg, strlen(jp_logo_svg), e);
    for (int size = 32; size <= 64 && status == RT_OK; size *= 2) {
        unsigned char *data;
        size_t length;
        char name[64];
        snprintf(name, sizeof name, "logo-%dx%d.png", size, size);
        if (!jp_logo_png(size, &data, &length)) return rt_fail(e, RT_NOMEM, "out of memory");
        status = write_file(folder, name, data, length, e);
        free(data);
    }
    return status;
}

/* ---- colours in JupyterLab: an extension that is a folder of two files ---- */

/* highlight.js as it is, without an end of text. */
__asm__(".pushsection .rodata\n"
        "highlight_js: .incbin \"jupyter/highlight.js\"\n"
        "highlight_js_end:\n"
        ".popsection\n");
extern const char highlight_js[], highlight_js_end[];

static json_t *no_words(json_t *some)
{
    json_decref(some);
    return NULL;
}

static json_t *lua_words(void)
{
    json_t *words = json_array();
    for (int k = 1; k < LG_KEYWORD_COUNT; k++)
        if (json_array_append_new(words, json_string(lg_keyword_name((enum lg_keyword)k))) != 0) return no_words(words);
    return words;
}

static json_t *cuda_words(void)
{
    json_t *words = json_object();
    for (const struct lg_cuda_word *w = lg_cuda_words; w->name; w++)
        if (json_object_set_new(words, w->name, json_string(w->kind)) != 0) return no_words(words);
    return words;
}

/* The script is a function, and what it is called with comes from the shell's own lists. */
static char *highlight_text(size_t *length)
{
    json_t *words = json_pack("{s:o, s:o}", "lua", lua_words(), "cuda", cuda_words());
    char *list = words ? json_dumps(words, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    char *text = NULL;
    const int size = (int)(highlight_js_end - highlight_js);
    const int n = list ? asprintf(&text, "%.*s(%s);\n", size, highlight_js, list) : -1;
    json_decref(words);
    free(list);
    *length = n < 0 ? 0 : (size_t)n;
    return n < 0 ? NULL : text;
}

static enum rt_status write_script(const char *folder, struct rt_error *e)
{
    size_t length;
    char *text = highlight_text(&length);
    if (!text) return RT_NOMEM;
    enum rt_status status = write_file(folder, "static/remoteEntry.js", text, length, e);
    free(text);
    return status;
}

/* In data/labextensions/lunarray. */
static enum rt_status write_extension(const char *data, struct rt_error *e)
{
    static const char package[] =
        "{\"name\": \"lunarray\", \"version\": \"" LUNARRAY_VERSION "\", \"license\": \"MIT\",\n"
        " \"description\": \"Colours Lua and the CUDA C in it\",\n"
        " \"jupyterlab\": {\"extension\": true,\n"
        "  \"_build\": {\"load\": \"static/remoteEntry.js\", \"extension\": \"./extension\"}}}\n";
    char *folder = join(data, "labextensions/lunarray"), *scripts = folder ? join(folder, "static") : NULL;
    enum rt_status status = scripts ? make_folders(scripts, 0777, e) : RT_NOMEM;
    if (status == RT_OK) status = write_script(folder, e);
    if (status == RT_OK) status = write_file(folder, "package.json", package, strlen(package), e);
    free(folder);
    free(scripts);
    return status;
}

enum rt_status jp_install(const char *prefix, const char *command, char **folder, struct rt_error *e)
{
    *folder = NULL;
    char *data = prefix ? join(prefix, "share/jupyter") : user_data(e);
    char *own = command ? strdup(command) : own_path(e);
    enum rt_status status = data && own ? RT_OK : e && e->status ? e->status : RT_NOMEM;
    if (status == RT_OK && !(*folder = join(data, "kernels/lunarray"))) status = RT_NOMEM;
    if (status == RT_OK) status = make_folders(*folder, 0777, e);
    if (status == RT_OK) status = write_logos(*folder, e);
    if (status == RT_OK) status = write_spec(*folder, own, e);
    if (status == RT_OK) status = write_extension(data, e);
    if (status == RT_NOMEM) rt_fail(e, RT_NOMEM, "out of memory");
    free(data);
    free(own);
    if (status == RT_OK) return RT_OK;
    free(*folder);
    *folder = NULL;
    return status;
}

char *jp_runtime_file(struct rt_error *e)
{
    const char *runtime = getenv("JUPYTER_RUNTIME_DIR");
    char *data = runtime && *runtime ? NULL : user_data(e), *folder = NULL, *path = NULL;
    if (runtime && *runtime)
        folder = strdup(runtime);
    else if (data)
        folder = join(data, "runtime");
    free(data);
    if (folder && make_folders(folder, 0700, e) == RT_OK &&
        asprintf(&path, "%s/kernel-lunarray-%ld.json", folder, (long)getpid()) < 0)
        path = NULL;
    free(folder);
    return path;
}
