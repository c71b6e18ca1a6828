/* `lunarray jupyter`: installs the kernel, starts it for a front end, or opens a notebook. */
#include "jupyter/jupyter.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/capture.h"
#include "jupyter/connection.h"
#include "jupyter/install.h"
#include "jupyter/kernel.h"
#include "runtime/environment.h"

static const char usage[] =
    "usage: lunarray jupyter install [--user | --prefix DIR] [--command FILE]\n"
    "       lunarray jupyter start [-f CONNECTION_FILE] [--device NAME] [--log-level LEVEL]\n"
    "\n"
    "install  writes the kernelspec, so that Jupyter offers the kernel \"lunarray\", and what colours\n"
    "         its cells in JupyterLab: for this user (the default), or below DIR/share/jupyter, e.g.\n"
    "         a virtual environment's folder.\n"
    "         --command names the binary to start when it is not this one.\n"
    "start    runs the kernel on the sockets that the file names; Jupyter does this. Without -f it\n"
    "         listens on free local ports and prints how to connect. LEVEL, or LUNARRAY_LOG_LEVEL,\n"
    "         is error, warning, info (the default) or debug, which writes a line for every message.\n";

static int misuse(const char *what, const char *argument)
{
    fprintf(stderr, "lunarray jupyter: %s%s\n%s", what, argument, usage);
    return 1;
}

/* Whether argv[*i] is this option, given as "--name value" or "--name=value"; *value is "" when it has none. */
static bool option(int argc, char **argv, int *i, const char *name, const char **value)
{
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0 || (argv[*i][n] && argv[*i][n] != '=')) return false;
    if (argv[*i][n] == '=')
        *value = argv[*i] + n + 1;
    else
        *value = *i + 1 < argc ? argv[++*i] : "";
    return true;
}

static int install(int argc, char **argv)
{
    const char *prefix = NULL, *command = NULL;
    bool user = false;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--user") == 0)
            user = true;
        else if (!option(argc, argv, &i, "--prefix", &prefix) && !option(argc, argv, &i, "--command", &command))
            return misuse("install does not know ", argv[i]);
    }
    if (prefix && !*prefix) return misuse("--prefix needs a folder", "");
    if (command && !*command) return misuse("--command needs a file", "");
    if (user && prefix) return misuse("--user and --prefix exclude each other", "");
    struct rt_error e = {0};
    char *folder = NULL;
    if (jp_install(prefix, command, &folder, &e) != RT_OK) {
        fprintf(stderr, "lunarray jupyter: %s\n", e.text);
        rt_error_clear(&e);
        return 1;
    }
    printf("installed the kernelspec lunarray in %s\n", folder);
    free(folder);
    return 0;
}

/* `file` as Jupyter gives it, or NULL. A kernel that chooses its ports writes them to a file of its own, for other
 * clients to find. */
static int run(const char *file, const char *device)
{
    struct jp_connection c = {0};
    struct rt_error e = {0};
    char *path = NULL;
    int result = 1;
    enum rt_status status = file ? jp_connection_read(&c, file, &e) : jp_connection_local(&c, &e);
    bool chooses = !file || c.registrar;
    if (status == RT_OK && (!chooses || (path = jp_runtime_file(&e)) != NULL)) {
        result = jp_kernel_run(&c, path, device);
    } else {
        fprintf(stderr, "lunarray jupyter: %s\n", e.text);
        rt_error_clear(&e);
    }
    jp_connection_free(&c);
    free(path);
    return result;
}

static int start(int argc, char **argv)
{
    const char *file = NULL, *device = NULL, *level = NULL;
    for (int i = 0; i < argc; i++)
        if (!option(argc, argv, &i, "-f", &file) && !option(argc, argv, &i, "--device", &device) &&
            !option(argc, argv, &i, "--log-level", &level))
            return misuse("start does not know ", argv[i]);
    if (file && !*file) return misuse("-f needs a connection file", "");
    if (device && !*device) return misuse("--device needs a name", "");
    if (!level && rt_variable_word(RT_VAR_LOG_LEVEL) >= 0)
        level = rt_variables[RT_VAR_LOG_LEVEL].words[rt_variable_word(RT_VAR_LOG_LEVEL)];
    if (level && !jp_log_level(level)) return misuse("--log-level is error, warning, info or debug, not ", level);
    char text[RT_VARIABLE_TEXT];
    for (int v = 0; v < RT_VARIABLES; v++)
        if (rt_variable_wrong(v, text, sizeof text)) jp_log(JP_WARNING, "%s", text);
    return run(file, device);
}

int jp_main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "install") == 0) return install(argc - 1, argv + 1);
    if (argc > 0 && strcmp(argv[0], "start") == 0) return start(argc - 1, argv + 1);
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    return argc > 0 ? misuse("unknown command ", argv[0]) : misuse("expected install or start", "");
}
