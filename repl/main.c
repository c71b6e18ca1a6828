/* The command line of `lunarray`. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "jupyter/jupyter.h"
#include "lang/closest.h"
#include "repl/present.h"
#include "repl/repl.h"
#include "runtime/device.h"

static const char help[] =
    "Usage: lunarray [options] [FILE.lua [arguments] | FILE.ipynb]\n"
    "       lunarray notebook [DIR]\n"
    "       lunarray jupyter install|start ...\n"
    "\n"
    "An interactive shell, a script runner and a Jupyter kernel for GPU arrays in Lua.\n"
    "Without a file it opens the shell, or runs standard input when that is not a terminal.\n"
    "\n"
    "  -e CODE           run CODE; may be repeated, a file runs after it\n"
    "  -i                open the shell after the file or the code\n"
    "  --no-init         leave out ~/.config/lunarray/init.lua, which the shell runs first\n"
    "  --present         present the cells of FILE.lua or FILE.ipynb, key by key; ? lists the keys\n"
    "  --typing [SPEED]  ... typing them, SPEED characters a second (20)\n"
    "  --auto SECONDS    ... without keys, with a pause after each step\n"
    "  --record FILE     ... and record the terminal, as an asciinema cast\n"
    "  --check           run the cells, compare their outputs with those in the file\n"
    "  --device NAME     default device: cpu, simt, cuda, cuda:N\n"
    "  --info            show devices, libraries and folders\n"
    "  --version         show the version\n"
    "  --help            show this text\n"
    "  -                 run standard input as a script\n"
    "  --                end of options\n"
    "\n"
    "lunarray FILE.ipynb runs a notebook's cells in order and prints their outputs.\n"
    "lunarray notebook [DIR] starts JupyterLab with this kernel.\n"
    "lunarray jupyter install makes the kernel known to Jupyter; see lunarray jupyter --help.\n";

/* Descriptors 0 to 2 that the caller closed would be given to the next file opened, and prints would end in it. */
static void keep_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static int unknown_option(const char *option)
{
    static const char *const known[] = {"--auto",    "--check",   "--device", "--help",   "--info",
                                        "--no-init", "--present", "--record", "--typing", "--version"};
    int length = (int)strcspn(option, "=");
    char name[32];
    snprintf(name, sizeof name, "%.*s", length, option);
    const char *nearest = NULL;
    int best = 4;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int d = lg_spelling_distance(name, known[i]);
        /* "-help" and "--dev" are meant, too. */
        if (name[1] && strstr(known[i], name)) d = 0;
        if (d < best) {
            best = d;
            nearest = known[i];
        }
    }
    if (nearest && strcmp(option, nearest) != 0)
        fprintf(stderr, "lunarray: unknown option %s; did you mean %s?\n", option, nearest);
    else
        fprintf(stderr, "lunarray: unknown option %s; lunarray --help lists the options\n", option);
    return 2;
}

static int needs(const char *option, const char *what)
{
    fprintf(stderr, "lunarray: %s needs %s\n", option, what);
    return 2;
}

/* --name or --name=value */
static bool is_option(const char *a, const char *name)
{
    size_t n = strlen(name);
    return strncmp(a, name, n) == 0 && (a[n] == '\0' || a[n] == '=');
}

/* The value of the option at argv[*i], behind its "=" or in the next word, which is then passed; NULL when there is
 * none. */
static const char *value_of(int argc, char **argv, int *i)
{
    const char *equals = strchr(argv[*i], '=');
    if (equals) return equals + 1;
    return *i + 1 < argc ? argv[++*i] : NULL;
}

static bool read_number(const char *text, double *out)
{
    char *end;
    if (!text || !*text) return false;
    *out = strtod(text, &end);
    return *end == '\0' && *out >= 0 && *out <= 1e6;
}

/* The speed may be left out. */
static bool read_typing(int argc, char **argv, int *i, struct sh_options *o)
{
    if (strchr(argv[*i], '=')) return read_number(value_of(argc, argv, i), &o->typing) && o->typing > 0;
    if (*i + 1 < argc && read_number(argv[*i + 1], &o->typing) && o->typing > 0)
        ++*i;
    else
        o->typing = SH_TYPING_SPEED;
    return true;
}

enum mode { MODE_RUN, MODE_EXIT };

/* Fills *o; MODE_EXIT when the process is done with *status. */
static enum mode parse(int argc, char **argv, struct sh_options *o, int *status)
{
    int i = 1;
    *status = 0;
    for (; i < argc; i++) {
        const char *a = argv[i];
        if (a[0] != '-' || !strcmp(a, "-")) break;
        if (!strcmp(a, "--")) {
            i++;
            break;
        }
        if (!strcmp(a, "--version") || !strcmp(a, "-v")) {
            printf("lunarray %s\n", LUNARRAY_VERSION);
            return MODE_EXIT;
        } else if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
            fputs(help, stdout);
            return MODE_EXIT;
        } else if (!strcmp(a, "--info")) {
            *status = sh_print_info(stdout);
            return MODE_EXIT;
        } else if (!strcmp(a, "-i")) {
            o->interactive = true;
        } else if (!strcmp(a, "--present")) {
            o->present = true;
        } else if (!strcmp(a, "--check")) {
            o->check = true;
        } else if (is_option(a, "--typing")) {
            if (!read_typing(argc, argv, &i, o))
                return *status = needs("--typing", "nothing, or a number of characters a second"), MODE_EXIT;
        } else if (is_option(a, "--auto")) {
            o->play = true;
            if (!read_number(value_of(argc, argv, &i), &o->pause))
                return *status = needs("--auto", "a number of seconds between steps, as in --auto 2.5"), MODE_EXIT;
        } else if (is_option(a, "--record")) {
            o->record = value_of(argc, argv, &i);
            if (!o->record || !*o->record) return *status = needs("--record", "a file to write"), MODE_EXIT;
        } else if (!strcmp(a, "--no-init")) {
            o->no_init = true;
        } else if (!strncmp(a, "-e", 2)) {
            const char *code = a[2] ? a + 2 : i + 1 < argc ? argv[++i] : NULL;
            if (!code) return *status = needs("-e", "code to run, as in -e 'print(1)'"), MODE_EXIT;
            o->codes[o->code_count++] = code;
        } else if (!strcmp(a, "--device") || !strncmp(a, "--device=", 9)) {
            o->device = a[8] ? a + 9 : i + 1 < argc ? argv[++i] : NULL;
            if (!o->device || !*o->device)
                return *status = needs("--device", "a name: cpu, simt, cuda or cuda:N"), MODE_EXIT;
        } else {
            return *status = unknown_option(a), MODE_EXIT;
        }
    }
    o->argc = argc - i;
    o->argv = argv + i;
    o->before = i;
    return MODE_RUN;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* A wrong --device is told before anything runs, with the names that would be right here. */
static bool check_device(const char *name)
{
    struct rt_error e = {0};
    if (rt_device_open(name, &e)) return true;
    fprintf(stderr, "lunarray: --device %s: %s\n", name, e.text);
    fprintf(stderr, "devices here:");
    for (int i = 0; i < rt_device_count(); i++) {
        struct rt_device *d = rt_device_at(i, NULL);
        if (d) fprintf(stderr, " %s", d->name);
    }
    fputc('\n', stderr);
    rt_error_clear(&e);
    return false;
}

static int run_demo(const struct sh_options *o)
{
    const char *option = o->check ? "--check" : "--present";
    if (o->argc == 0) return needs(option, "a file: a notebook, or Lua with cells that begin with -- %%");
    if (o->interactive || o->code_count > 0) {
        fprintf(stderr, "lunarray: -i and -e do not go with %s\n", option);
        return 2;
    }
    return o->check ? sh_run_check(o) : sh_run_present(o);
}

static int run(struct sh_options *o)
{
    static char *from_stdin[] = {"-", NULL};
    if (o->device && !check_device(o->device)) return 2;
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    bool notebook = o->argc > 0 && !strcmp(o->argv[0], "notebook");
    if (notebook || (o->argc > 0 && !strcmp(o->argv[0], "jupyter"))) {
        if (o->device) setenv("LUNARRAY_DEVICE", o->device, 1);
        return notebook ? jp_notebook(o->argc - 1, o->argv + 1) : jp_main(o->argc - 1, o->argv + 1);
    }
    if (o->check || o->present) return run_demo(o);
    if (o->play || o->typing > 0 || o->record) {
        fprintf(stderr, "lunarray: --auto, --typing and --record go with --present\n");
        return 2;
    }
    if (o->argc > 0 && ends_with(o->argv[0], ".ipynb")) {
        if (!o->interactive && o->code_count == 0) return sh_run_notebook(o);
        fprintf(stderr, "lunarray: -i and -e go with scripts, not with notebooks\n");
        return 2;
    }
    if (o->interactive) return sh_run_shell(o);
    if (o->argc == 0 && o->code_count == 0) {
        if (terminal) return sh_run_shell(o);
        o->argc = 1;
        o->argv = from_stdin;
        o->before = 0;
    }
    return sh_run_script(o);
}

int main(int argc, char **argv)
{
    keep_standard_descriptors();
    struct sh_options o = {.codes = calloc((size_t)argc + 1, sizeof *o.codes)};
    if (!o.codes) {
        fprintf(stderr, "lunarray: out of memory\n");
        return 1;
    }
    int status;
    if (parse(argc, argv, &o, &status) == MODE_RUN) status = run(&o);
    free(o.codes);
    if (fflush(stdout) != 0 && status == 0) status = 1;
    return status;
}
