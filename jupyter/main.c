#include "jupyter/jupyter.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/connection.h"
#include "jupyter/install.h"
#include "jupyter/kernel.h"

static const char usage[] =
    "usage: lunarray jupyter install [--user | --prefix DIR] [--command FILE]\n"
    "       lunarray jupyter start [-f CONNECTION_FILE] [--device NAME]\n"
    "\n"
    "install  writes the kernelspec, so that Jupyter offers the kernel \"lunarray\": for this user\n"
    "         (the default), or below DIR/share/jupyter, e.g. a virtual environment's folder.\n"
    "         --command names the binary to start when it is not this one.\n"
    "start    runs the kernel on the sockets that the file names; Jupyter does this. Without -f it\n"
    "         listens on free local ports and prints how to connect.\n";

static int misuse(const char *what, const char *argument)
{
    fprintf(stderr, "lunarray jupyter: %s%s\n%s", what, argument, usage);
    return 2;
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

static int start_alone(const char *device)
{
    struct jp_connection c;
    struct rt_error e = {0};
    char *path = jp_runtime_file(&e);
    int result = 1;
    if (path && jp_connection_local(&c, &e) == RT_OK) {
        result = jp_kernel_run(&c, path, device);
        jp_connection_free(&c);
    } else {
        fprintf(stderr, "lunarray jupyter: %s\n", e.text);
        rt_error_clear(&e);
    }
    free(path);
    return result;
}

static int start(int argc, char **argv)
{
    const char *file = NULL, *device = NULL;
    for (int i = 0; i < argc; i++)
        if (!option(argc, argv, &i, "-f", &file) && !option(argc, argv, &i, "--device", &device))
            return misuse("start does not know ", argv[i]);
    if (file && !*file) return misuse("-f needs a connection file", "");
    if (device && !*device) return misuse("--device needs a name", "");
    if (!file) return start_alone(device);
    struct jp_connection c;
    struct rt_error e = {0};
    if (jp_connection_read(&c, file, &e) != RT_OK) {
        fprintf(stderr, "lunarray jupyter: %s\n", e.text);
        rt_error_clear(&e);
        return 1;
    }
    int result = jp_kernel_run(&c, NULL, device);
    jp_connection_free(&c);
    return result;
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
