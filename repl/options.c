#include "repl/options.h"

#include <stdlib.h>
#include <string.h>
#include "jupyter/jupyter.h"
#include "repl/document.h"
#include "repl/present.h"
#include "runtime/environment.h"
#include "runtime/spelling.h"

struct option {
    const char *name, *alias; /* "--device"; "-h", or NULL */
    const char *argument;     /* "NAME"; "[=FILE]" where it may be left out; NULL for none */
    const char *doc;          /* one line for --help, and the first of the manual's paragraph */
    const char *more;         /* the rest of that paragraph, or NULL */
    /* False when this was all there was to do; o->status then says how it went. */
    bool (*take)(struct sh_options *o, const char *value);
};

static void print_help(FILE *out);
static void print_manual(FILE *out); /* as troff, for man(1) */
static void put_options(FILE *out);  /* a line each */

static bool add_step(struct sh_options *o, enum sh_step_kind kind, const char *text)
{
    o->steps[o->step_count++] = (struct sh_step){kind, text};
    return true;
}

static bool take_code(struct sh_options *o, const char *value)
{
    return add_step(o, SH_STEP_CODE, value);
}

static bool take_module(struct sh_options *o, const char *value)
{
    return add_step(o, SH_STEP_MODULE, value);
}

static bool take_warnings(struct sh_options *o, const char *value)
{
    return add_step(o, SH_STEP_WARNINGS, value);
}

static bool take_interactive(struct sh_options *o, const char *value)
{
    (void)value;
    return o->interactive = true;
}

static bool take_no_environment(struct sh_options *o, const char *value)
{
    (void)value;
    return o->no_environment = true;
}

static bool take_no_init(struct sh_options *o, const char *value)
{
    (void)value;
    return o->no_init = true;
}

static bool take_device(struct sh_options *o, const char *value)
{
    o->device = value;
    return true;
}

static bool take_version(struct sh_options *o, const char *value)
{
    (void)value;
    return o->version = true;
}

static bool take_own_version(struct sh_options *o, const char *value)
{
    (void)o, (void)value;
    printf("lunarray %s\n", LUNARRAY_VERSION);
    return false;
}

static bool take_info(struct sh_options *o, const char *value)
{
    (void)value;
    o->status = sh_print_info(stdout);
    return false;
}

static bool take_help(struct sh_options *o, const char *value)
{
    (void)o, (void)value;
    print_help(stdout);
    return false;
}

static bool take_man(struct sh_options *o, const char *value)
{
    (void)o, (void)value;
    print_manual(stdout);
    return false;
}

static bool misuse(struct sh_options *o, const char *option, const char *why)
{
    fprintf(stderr, "%s: %s %s\n", o->program, option, why);
    o->status = 1;
    return false;
}

static bool read_number(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && *end == '\0' && *out >= 0 && *out <= 1e6;
}

/* A file may begin with a digit, too. */
static bool is_number(const char *word)
{
    double number;
    return read_number(word, &number);
}

static bool take_present(struct sh_options *o, const char *value)
{
    (void)value;
    return o->present = true;
}

static bool take_typing(struct sh_options *o, const char *value)
{
    o->typing = SH_TYPING_SPEED;
    if (!value || (read_number(value, &o->typing) && o->typing > 0)) return true;
    return misuse(o, "--typing", "needs nothing, or a number of characters a second");
}

static bool take_auto(struct sh_options *o, const char *value)
{
    o->play = true;
    if (read_number(value, &o->pause)) return true;
    return misuse(o, "--auto", "needs a number of seconds between steps, as in --auto 2.5");
}

static bool take_record(struct sh_options *o, const char *value)
{
    o->record = value;
    return true;
}

static bool take_check(struct sh_options *o, const char *value)
{
    (void)value;
    return o->check = true;
}

static bool take_update(struct sh_options *o, const char *value)
{
    (void)value;
    return o->update = true;
}

static bool take_inplace(struct sh_options *o, const char *value)
{
    (void)value;
    return o->inplace = true;
}

static bool take_html(struct sh_options *o, const char *value)
{
    o->html_file = value;
    return o->html = true;
}

static const struct option option_rows[] = {
    {"-e", NULL, "CODE", "run CODE; may be repeated, a file runs after it", NULL, take_code},
    {"-l", NULL, "NAME", "require the module NAME into the global NAME; -l g=NAME into g", NULL, take_module},
    {"-i", NULL, NULL, "open the shell after the file or the code, unless these fail", NULL, take_interactive},
    {"-E", NULL, NULL, "ignore the environment's LUA_INIT, LUA_PATH and LUA_CPATH", NULL, take_no_environment},
    {"-W", NULL, NULL, "turn warnings on", NULL, take_warnings},
    {"--no-init", NULL, NULL, "leave out ~/.config/lunarray/init.lua, which the shell runs first", NULL, take_no_init},
    {"--inplace", NULL, NULL, "execute FILE.ipynb and store the outputs in it", NULL, take_inplace},
    {"--html", NULL, "[=FILE]", "execute FILE.ipynb, .md or .lua and write a page that needs nothing else",
     "Without a name it is FILE.html. Scripts of outputs do not run in it, and nothing is loaded from elsewhere.",
     take_html},
    {"--present", NULL, NULL, "present the cells of FILE.lua, .ipynb or .md, key by key; ? lists the keys",
     "Text is rendered, code stands there in colour and waits for a key before it runs. Cells can be edited, skipped, "
     "gone back to and jumped to; there is a live prompt, a clock, and a restart in a fresh session.",
     take_present},
    {"--typing", NULL, "[SPEED]", "... typing them, SPEED characters a second (20)", NULL, take_typing},
    {"--auto", NULL, "SECONDS", "... without keys, with a pause after each step",
     "It leaves at the end, with the status 1 when a cell failed that is not tagged raises-exception. It needs no "
     "terminal.",
     take_auto},
    {"--record", NULL, "FILE", "... and record the terminal, as an asciinema cast", NULL, take_record},
    {"--check", NULL, NULL, "run the cells, compare their outputs with those in the file",
     "What a cell is expected to put out stands in the notebook's outputs or, in comments that begin with -->, at the "
     "end of its code; ... there stands for anything, on a line of its own for any lines. Cells that are tagged "
     "volatile, or have no output to compare with, only have to run. Where something differs it is shown, and the "
     "status is 1.",
     take_check},
    {"--update", NULL, NULL, "... and write what differs into FILE.lua or .md, as what is expected", NULL, take_update},
    {"--device", NULL, "NAME", "default device: cpu, simt, cuda, cuda:N", NULL, take_device},
    {"--info", NULL, NULL, "show devices, libraries and folders", NULL, take_info},
    {"-v", NULL, NULL, "show the version of Lua and of lunarray, then go on", NULL, take_version},
    {"--version", NULL, NULL, "show the version of lunarray", NULL, take_own_version},
    {"--help", "-h", NULL, "show this text", NULL, take_help},
    {"--man", NULL, NULL, "write the manual page, as troff", NULL, take_man},
    {0}};

static const struct sh_command command_rows[] = {
    {"convert", "FROM TO", "turn FILE.lua with cell marks, FILE.ipynb or FILE.md into another of these, or .html",
     "A line -- %% begins a cell of a script; of Markdown, blocks of lua are cells, and what stands in a block without a "
     "language below one is its output. Outputs are kept where TO is a notebook that has the cell. Nothing is run: "
     "pages have the outputs that are stored; lunarray FILE --html runs it first.",
     sh_convert},
    {"prepare", "[CAPABILITY [DTYPE]]",
     "make the kernels that are needed first, for this machine's GPU or for those of CAPABILITY, such as 9.0",
     "They are kept in the cache, so that no first use of an operation waits for a compiler. Sessions that use a GPU do "
     "it by themselves, in the background, when it has not been done. It needs no GPU where its compute capability is "
     "named: for an image of a container, say. With a DTYPE, any of them, it is for arrays of that one alone.",
     sh_prepare},
    {"doc", "NAME | --html DIR", "show the reference of a name, or write all of it as pages with search", NULL, sh_doc},
    {"notebook", "[DIR]", "start JupyterLab with this kernel", NULL, jp_notebook},
    {"jupyter", "install|start ...", "make the kernel known to Jupyter; see lunarray jupyter --help", NULL, jp_main},
    {0}};

/* ---- parsing */

/* The long option that was meant, or NULL. */
static const char *meant(const char *option)
{
    char name[32];
    const char *found = NULL;
    int best = strlen(option) < 7 ? 2 : 4; /* so short that anything is near */
    snprintf(name, sizeof name, "%.*s", (int)strcspn(option, "="), option);
    for (const struct option *row = option_rows; row->name; row++) {
        if (row->name[1] != '-') continue;
        int d = rt_spelling_distance(name, row->name);
        /* "-help" and "--dev" are meant, too. */
        if (strlen(name) > 2 && strstr(row->name, name)) d = 0;
        if (d >= best || !strcmp(option, row->name)) continue;
        best = d;
        found = row->name;
    }
    return strlen(name) > 2 ? found : NULL;
}

/* What a stock lua says, with our list behind it. */
static bool bad_usage(struct sh_options *o, const char *format, const char *option)
{
    fprintf(stderr, "%s: ", o->program);
    fprintf(stderr, format, option);
    fprintf(stderr, "\nusage: %s [options] [script [args]]\nAvailable options are:\n", o->program);
    put_options(stderr);
    o->status = 1;
    return false;
}

static bool unknown_option(struct sh_options *o, const char *option)
{
    const char *name = meant(option);
    if (!name) return bad_usage(o, "unrecognized option '%s'", option);
    fprintf(stderr, "%s: unrecognized option '%s'; did you mean %s?\n", o->program, option, name);
    o->status = 1;
    return false;
}

/* The row of an option; *value is what is joined to it: -eCODE, --device=NAME, or NULL. */
static const struct option *find_option(const char *word, const char **value)
{
    *value = NULL;
    for (const struct option *row = option_rows; row->name; row++) {
        size_t n = strlen(row->name);
        if (!strcmp(word, row->name) || (row->alias && !strcmp(word, row->alias))) return row;
        if (!row->argument || strncmp(word, row->name, n) != 0) continue;
        bool is_long = row->name[1] == '-';
        if (is_long && word[n] != '=') continue;
        *value = word + n + is_long;
        return row;
    }
    return NULL;
}

static bool is_page(const char *word)
{
    size_t n = strlen(word);
    return n > 5 && strcmp(word + n - 5, ".html") == 0;
}

/* Takes the option at argv[*i], which goes to its last word. */
static bool take(int argc, char **argv, int *i, struct sh_options *o)
{
    const char *value;
    const struct option *row = find_option(argv[*i], &value);
    if (!row) return unknown_option(o, argv[*i]);
    bool is_long = row->name[1] == '-', optional = row->argument && *row->argument == '[', next = *i + 1 < argc;
    if (row->argument && !is_long && !value && (!next || argv[*i + 1][0] == '-'))
        return bad_usage(o, "'%s' needs argument", row->name);
    /* What may be left out is joined to the option, or is a number, or a page's name, as no script has. */
    bool number = optional && row->argument[1] != '=';
    bool given = next && (number ? is_number(argv[*i + 1]) : is_page(argv[*i + 1]));
    if (row->argument && !value && next && (!optional || given)) value = argv[++*i];
    if (row->argument && !optional && !value) {
        char text[200];
        snprintf(text, sizeof text, "needs %s: %s", row->argument, row->doc);
        return misuse(o, row->name, text);
    }
    return row->take(o, value);
}

bool sh_parse_options(int argc, char **argv, struct sh_options *o)
{
    int i = 1;
    o->program = argc > 0 && *argv[0] ? argv[0] : "lunarray";
    for (; i < argc; i++) {
        if (argv[i][0] != '-' || !argv[i][1]) break;
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (!take(argc, argv, &i, o)) return false;
    }
    o->argc = argc - i;
    o->argv = argv + i;
    o->before = i;
    /* A notebook's own options may follow it. */
    if (o->argc == 0 || !sh_names_notebook(o->argv[0])) return true;
    for (i = 1; i < o->argc && o->argv[i][0] == '-' && o->argv[i][1]; i++)
        if (!take(o->argc, o->argv, &i, o)) return false;
    return true;
}

const struct sh_command *sh_find_command(const struct sh_options *o)
{
    for (const struct sh_command *row = command_rows; row->name && o->argc > 0; row++)
        if (!strcmp(row->name, o->argv[0])) return row;
    return NULL;
}

/* ---- telling */

static const char usage[] = "[options] [FILE.lua [arguments] | FILE.ipynb | FILE.md]";
static const char summary[] = "An interactive shell, a script runner and a Jupyter kernel for GPU arrays in Lua.";
static const char without_file[] =
    "Without a file it opens the shell, or runs standard input when that is not a terminal.";
static const char notebooks[] = "FILE.ipynb and FILE.md run a notebook's cells in order and print their outputs.";

/* "-h, --help", "--device NAME". */
static void option_words(const struct option *row, char words[64])
{
    const char *argument = row->argument ? row->argument : "";
    snprintf(words, 64, "%s%s%s%s%s", row->alias ? row->alias : "", row->alias ? ", " : "", row->name,
             *argument && strncmp(argument, "[=", 2) != 0 ? " " : "", argument);
}

static void put_options(FILE *out)
{
    char words[64];
    for (const struct option *row = option_rows; row->name; row++) {
        option_words(row, words);
        fprintf(out, "  %-16s  %s\n", words, row->doc);
    }
    fprintf(out, "  %-16s  %s\n  %-16s  %s\n", "--", "end of options", "-", "run standard input as a script");
}

static void print_help(FILE *out)
{
    fprintf(out, "Usage: lunarray %s\n", usage);
    for (const struct sh_command *row = command_rows; row->name; row++)
        fprintf(out, "       lunarray %s %s\n", row->name, row->arguments);
    fprintf(out, "\n%s\n%s\n%s\n\n", summary, without_file, notebooks);
    put_options(out);
    fputc('\n', out);
    for (const struct sh_command *row = command_rows; row->name; row++)
        fprintf(out, "  lunarray %-9s %s\n", row->name, row->doc);
}

/* Text for troff: dashes that can be copied, and no line that begins a request. */
static void put_troff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
    }
}

static void put_entry(FILE *out, const char *words, const char *doc, const char *more)
{
    fputs(".TP\n.B ", out);
    put_troff(out, words);
    fputc('\n', out);
    put_troff(out, doc);
    fputs(".\n", out);
    if (!more) return;
    put_troff(out, more);
    fputc('\n', out);
}

struct fact {
    const char *name, *doc;
};

static const struct fact environment[] = {
    {"LUNARRAY_DEVICE", "the default device, as --device"},
    {"LUNARRAY_CACHE_DIR", "where compiled kernels are kept"},
    {"LUNARRAY_HISTORY", "the file of the shell's and the notebooks' history; empty for none"},
    {"LUA_INIT_5_4, LUA_INIT", "code to run first, or @ and the name of a file with it"},
    {"LUA_PATH_5_4, LUA_PATH, LUA_CPATH_5_4, LUA_CPATH", "where require looks"},
    {"NO_COLOR", "no colours"},
    {0}};
static const struct fact exits[] = {
    {"0", "all went well"},
    {"1",
     "the command line is wrong, a script, a cell or a command failed, --check found a difference, or what was to be "
     "printed could not be written, by others than scripts; but 0 after a failure of code that came from standard input "
     "without the word -"},
    {"130", "Ctrl-C ended --check"},
    {0}};

static void put_variables(FILE *out)
{
    char text[RT_VARIABLE_TEXT + 8];
    for (int v = 0; v < RT_VARIABLES; v++) {
        memcpy(text, "It is ", 6);
        rt_variable_expected(v, text + 6, sizeof text - 7);
        strcat(text, ".");
        put_entry(out, rt_variables[v].name, rt_variables[v].doc, text);
    }
}

static void put_facts(FILE *out, const char *heading, const struct fact *facts)
{
    fprintf(out, ".SH %s\n", heading);
    for (; facts->name; facts++) put_entry(out, facts->name, facts->doc, NULL);
}

static void print_manual(FILE *out)
{
    char words[160];
    fprintf(out, ".TH LUNARRAY 1 \"\" \"lunarray %s\" \"User Commands\"\n.SH NAME\nlunarray \\- ", LUNARRAY_VERSION);
    fputs("shell, script runner and Jupyter kernel for GPU arrays in Lua\n.SH SYNOPSIS\n.B lunarray\n", out);
    put_troff(out, usage);
    for (const struct sh_command *row = command_rows; row->name; row++) {
        fprintf(out, "\n.br\n.B lunarray %s\n", row->name);
        put_troff(out, row->arguments);
    }
    fputs("\n.SH DESCRIPTION\n", out);
    put_troff(out, summary);
    fputc('\n', out);
    put_troff(out, without_file);
    fputc('\n', out);
    put_troff(out, notebooks);
    fputs("\n.SH OPTIONS\n", out);
    for (const struct option *row = option_rows; row->name; row++) {
        option_words(row, words);
        put_entry(out, words, row->doc, row->more);
    }
    put_entry(out, "-", "run standard input as a script", NULL);
    put_entry(out, "--", "end of options", NULL);
    fputs(".SH COMMANDS\n", out);
    for (const struct sh_command *row = command_rows; row->name; row++) {
        snprintf(words, sizeof words, "%s %s", row->name, row->arguments);
        put_entry(out, words, row->doc, row->more);
    }
    put_facts(out, "ENVIRONMENT", environment);
    put_variables(out);
    put_facts(out, "EXIT STATUS", exits);
    fputs(".SH SEE ALSO\n.BR lua5.4 (1)\n", out);
}
