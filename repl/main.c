/* The command line of `lunarray`. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "repl/document.h"
#include "repl/options.h"
#include "runtime/device.h"
#include "runtime/environment.h"

/* Descriptors 0 to 2 that the caller closed would be given to the next file opened, and prints would end in it. */
static void keep_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static void on_full(int number)
{
    (void)number; /* not SIG_IGN, which child processes would inherit */
}

/* What runs is stopped, and requests are answered meanwhile, by signals: those that the caller blocked would never
 * come. A program under perf, say, begins with SIGWINCH blocked. Who writes to a file beyond what ulimit -f allows is
 * told by an error: the cache of kernels and the history are to end no session. */
static void prepare_signals(void)
{
    struct sigaction full = {.sa_handler = on_full};
    sigset_t none;
    sigemptyset(&none);
    sigemptyset(&full.sa_mask);
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigaction(SIGXFSZ, &full, NULL);
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

/* Variables that nobody understands must not be passed over in silence. A notebook's kernel says it in its own way. */
static void check_environment(const struct sh_options *o)
{
    char text[RT_VARIABLE_TEXT];
    if (o->argc > 0 && !strcmp(o->argv[0], "jupyter")) return;
    for (int v = 0; v < RT_VARIABLES; v++)
        if (rt_variable_wrong(v, text, sizeof text)) fprintf(stderr, "lunarray: %s\n", text);
}

static int run_demo(const struct sh_options *o)
{
    const char *option = o->check ? "--check" : "--present";
    if (o->argc == 0) {
        fprintf(stderr, "lunarray: %s needs a file: a notebook, or Lua with cells that begin with -- %%%%\n", option);
        return 1;
    }
    if (o->interactive || o->step_count > 0) {
        fprintf(stderr, "lunarray: -i and -e do not go with %s\n", option);
        return 1;
    }
    return o->check ? sh_run_check(o) : sh_run_present(o);
}

static int run(struct sh_options *o)
{
    if (o->device && !check_device(o->device)) return 1;
    check_environment(o);
    bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    const struct sh_command *command = sh_find_command(o);
    if (command) {
        if (o->device) setenv("LUNARRAY_DEVICE", o->device, 1);
        return command->run(o->argc - 1, o->argv + 1);
    }
    if (o->check || o->present) return run_demo(o);
    if (o->play || o->typing > 0 || o->record) {
        fprintf(stderr, "lunarray: --auto, --typing and --record go with --present\n");
        return 1;
    }
    if (o->update) {
        fprintf(stderr, "lunarray: --update goes with --check\n");
        return 1;
    }
    if ((o->inplace || o->html) && o->argc > 0) {
        if (!o->interactive && o->step_count == 0) return sh_run_stored(o);
        fprintf(stderr, "lunarray: -i, -e and -l do not go with --inplace and --html\n");
        return 1;
    }
    if (o->argc > 0 && sh_names_notebook(o->argv[0])) {
        if (!o->interactive && o->step_count == 0) return sh_run_notebook(o);
        fprintf(stderr, "lunarray: -i and -e go with scripts, not with notebooks\n");
        return 1;
    }
    if (o->interactive) return sh_run_shell(o);
    return terminal && sh_wants_input(o) ? sh_run_shell(o) : sh_run_script(o);
}

int main(int argc, char **argv)
{
    keep_standard_descriptors();
    prepare_signals();
    struct sh_options o = {.steps = calloc((size_t)argc + 1, sizeof *o.steps)};
    if (!o.steps) {
        fprintf(stderr, "lunarray: out of memory\n");
        return 1;
    }
    int status = sh_parse_options(argc, argv, &o) ? run(&o) : o.status;
    free(o.steps);
    if (fflush(stdout) != 0 && status == 0 && !o.lossy) status = 1;
    return status;
}
