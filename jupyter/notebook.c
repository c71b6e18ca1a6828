/* `lunarray notebook [DIR]`: JupyterLab with this kernel in it. The kernelspec is in a folder of lunarray's own, which
 * JupyterLab is told of, so that nothing of the user's Jupyter changes. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jupyter/install.h"
#include "jupyter/jupyter.h"

static const char usage[] = "usage: lunarray notebook [DIR or FILE.ipynb] [options of jupyter lab]\n"
                            "\n"
                            "Starts JupyterLab in DIR (this folder), with the kernel \"lunarray\".\n";

/* The folder for the kernelspec, and for a JupyterLab of lunarray's own; NULL without a home. */
static char *own_folder(void)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n = -1;
    if (data && *data)
        n = asprintf(&path, "%s/lunarray/jupyter", data);
    else if (home && *home)
        n = asprintf(&path, "%s/.local/share/lunarray/jupyter", home);
    return n < 0 ? NULL : path;
}

/* Whether the kernelspecs of the folder are found: JUPYTER_PATH begins with it. */
static bool add_to_path(const char *folder)
{
    const char *before = getenv("JUPYTER_PATH");
    char *path = NULL;
    bool more = before && *before;
    if (asprintf(&path, "%s/share/jupyter%s%s", folder, more ? ":" : "", more ? before : "") < 0) return false;
    bool set = setenv("JUPYTER_PATH", path, 1) == 0;
    free(path);
    return set;
}

/* Becomes JupyterLab; returns when there is none. */
static void start(const char *folder, int argc, char **argv)
{
    char **args = calloc((size_t)argc + 3, sizeof *args), *own = NULL;
    if (!args) return;
    args[0] = "jupyter-lab";
    args[1] = "--MultiKernelManager.default_kernel_name=lunarray";
    for (int i = 0; i < argc; i++) args[i + 2] = argv[i];
    execvp(args[0], args);
    if (errno == ENOENT && asprintf(&own, "%s/bin/jupyter-lab", folder) >= 0) execv(own, args);
    free(own);
    free(args);
}

int jp_notebook(int argc, char **argv)
{
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    struct rt_error e = {0};
    char *folder = own_folder(), *spec = NULL;
    if (!folder) {
        fprintf(stderr, "lunarray notebook: HOME is not set, so there is no folder for the kernelspec\n");
        return 1;
    }
    if (jp_install(folder, NULL, &spec, &e) != RT_OK || !add_to_path(folder)) {
        fprintf(stderr, "lunarray notebook: %s\n", *e.text ? e.text : "out of memory");
        rt_error_clear(&e);
        free(spec);
        free(folder);
        return 1;
    }
    free(spec);
    fflush(stdout);
    start(folder, argc, argv);
    if (errno == ENOENT)
        fprintf(stderr,
                "lunarray notebook: JupyterLab is not installed. This command installs it for lunarray:\n"
                "  python3 -m venv %s && %s/bin/pip install jupyterlab\n",
                folder, folder);
    else
        fprintf(stderr, "lunarray notebook: jupyter-lab could not be started: %s\n", strerror(errno));
    free(folder);
    return 1;
}
