/* The interactive loop: a prompt, a cell, its output. On a terminal cells are edited by editor.c; anywhere else lines
 * are taken as they come. */
#include <errno.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lang/prepare.h"
#include "repl/asking.h"
#include "repl/background.h"
#include "repl/editor.h"
#include "repl/highlight.h"
#include "repl/keymap.h"
#include "repl/output.h"
#include "repl/program.h"
#include "repl/render.h"
#include "repl/repl.h"
#include "repl/settings.h"
#include "repl/status.h"
#include "repl/terminal.h"
#include "repl/theme.h"
#include "runtime/device.h"

enum {
    ESCAPE_WAIT_MS = 40, /* how long the rest of an escape sequence may take */
    IDLE_MS = 300,       /* without keys, until the cell is looked at for a mistake */
};

struct shell {
    struct lg_session *session;
    struct sh_output *out;
    struct sh_host host;
    struct sh_editor editor;
    struct sh_decoder decoder;
    struct sh_screen screen;
    struct sh_frame frame;
    char input[4096]; /* read from the terminal, not all of it used yet */
    size_t used, have;
    char prompt[96], more[96];
    struct sh_status status;
    struct sh_text background; /* came while the user types, not shown yet */
    bool leave;
    bool remembers; /* the history has been read */
    bool prepared;  /* the names that completion looks through are known, since the last cell */
};

/* The editor's questions, answered by the session. */

static size_t host_history_count(void *context)
{
    return lg_history_count(((struct shell *)context)->session);
}

static void host_refresh(void *context)
{
    lg_history_refresh(((struct shell *)context)->session);
}

static const char *host_history(void *context, size_t i)
{
    struct lg_history_entry entry;
    return lg_history_get(((struct shell *)context)->session, i, &entry) ? entry.code : NULL;
}

static enum lg_completeness host_completeness(void *context, const char *code, size_t length, int *indent)
{
    (void)context;
    return lg_is_complete(code, length, indent);
}

static void host_complete(void *context, const char *code, size_t length, size_t cursor, struct lg_completion *out)
{
    lg_session_complete(((struct shell *)context)->session, code, length, cursor, out);
}

static char *host_inspect(void *context, const char *code, size_t length, size_t cursor)
{
    struct lg_bundle bundle;
    if (!lg_session_inspect(((struct shell *)context)->session, code, length, cursor, 0, &bundle)) return NULL;
    for (size_t i = 0; i < bundle.count; i++)
        if (strcmp(bundle.items[i].type, "text/plain") == 0)
            return strndup(bundle.items[i].data, bundle.items[i].length);
    return NULL;
}

static void host_highlight(void *context, const char *code, size_t length, size_t from, size_t to,
                           unsigned char *styles)
{
    (void)context;
    sh_highlight_part(code, length, from, to, styles);
}

static bool key_waits(void *context)
{
    (void)context;
    return sh_terminal_pending();
}

static enum lg_mistake host_mistake(void *context, const char *code, size_t length, size_t *from, size_t *to)
{
    return lg_find_mistake(code, length, key_waits, context, from, to);
}

/* Drawing */

static void draw(struct shell *sh, bool final)
{
    int columns, rows;
    struct sh_text bytes = {0};
    sh_terminal_size(&columns, &rows);
    if (sh->screen.drawn && columns != sh->frame.columns) sh_render_resize(&sh->screen, columns, &bytes);
    bool status = sh_settings->status && !final && rows > 2;
    sh_editor_frame(&sh->editor, columns, final ? 0 : rows - status, &sh->frame);
    if (status) sh_status_frame(&sh->status, &sh->frame);
    sh_render(&sh->screen, &sh->frame, &bytes);
    if (final) sh_render_leave(&sh->screen, &bytes);
    if (bytes.length) sh_terminal_write(bytes.bytes, bytes.length);
    sh_text_free(&bytes);
}

/* In other colours. */
static void draw_anew(struct shell *sh)
{
    struct sh_text bytes = {0};
    if (sh->screen.drawn) sh_render_resize(&sh->screen, sh->frame.columns, &bytes);
    if (bytes.length) sh_terminal_write(bytes.bytes, bytes.length);
    sh_text_free(&bytes);
}

static void clear_screen(struct shell *sh)
{
    static const char clear[] = "\033[H\033[2J";
    sh_terminal_write(clear, sizeof clear - 1);
    sh->screen.drawn = false;
}

/* Output of others comes above the cell: its whole lines at once, and the rest (all) when it stays unfinished. */
static void show_background(struct shell *sh, bool all)
{
    struct sh_text *text = &sh->background, bytes = {0};
    size_t n = text->length;
    while (!all && n > 0 && text->bytes[n - 1] != '\n') n--;
    if (n == 0) return;
    sh_render_resize(&sh->screen, sh->frame.columns, &bytes);
    sh_text_append(&bytes, text->bytes, n);
    if (text->bytes[n - 1] != '\n') sh_text_append(&bytes, "\n", 1);
    if (bytes.length) sh_terminal_write(bytes.bytes, bytes.length);
    sh_text_free(&bytes);
    sh_text_delete(text, 0, n);
}

/* The terminal is the editor's, until let_go. */
static bool take_hold(void)
{
    if (!sh_terminal_raw()) return false;
    sh_background_begin();
    return true;
}

static void make_room(struct shell *sh)
{
    memmove(sh->input, sh->input + sh->used, sh->have - sh->used);
    sh->have -= sh->used;
    sh->used = 0;
}

static void let_go(struct shell *sh)
{
    make_room(sh);
    sh_await_answer(sh->input, sh->used, &sh->have, sizeof sh->input);
    sh_background_end(&sh->background);
    show_background(sh, true);
    sh_terminal_restore();
}

static void suspend(struct shell *sh)
{
    draw(sh, true);
    let_go(sh);
    sh_terminal_suspend();
    take_hold();
}

/* The cell goes to the user's editor and comes back. */
static void edit(struct shell *sh)
{
    struct sh_text text = {0};
    char why[512];
    draw(sh, true);
    let_go(sh);
    bool ok = sh_text_set(&text, sh->editor.text.bytes ? sh->editor.text.bytes : "", sh->editor.text.length);
    if (ok && !sh_run_editor(&text, why, sizeof why)) fprintf(stderr, "%s\n", why), ok = false;
    while (text.length && strchr("\r\n", text.bytes[text.length - 1])) text.length--;
    if (ok) sh_editor_set(&sh->editor, text.bytes, text.length);
    sh_text_free(&text);
    take_hold();
}

/* Reading a cell */

/* The next key in *key: true. False when the terminal has gone. Draws before it waits. */
static bool next_key(struct shell *sh, struct sh_key *key)
{
    for (;;) {
        while (sh->used < sh->have)
            if (sh_decode(&sh->decoder, (unsigned char)sh->input[sh->used++], key)) return true;
        if (sh_take_answer(&sh->decoder)) draw_anew(sh);
        bool waiting = sh_decoder_waiting(&sh->decoder);
        if (!waiting) draw(sh, false);
        sh_ask();
        /* Behind the prompt, so that the first key does not wait for it. */
        if (!sh->remembers && !sh_terminal_pending()) {
            sh->remembers = true;
            host_history(sh, 0);
        }
        if (!sh->prepared && !sh_terminal_pending()) {
            sh->prepared = true;
            lg_session_prepare(sh->session);
        }
        bool soon = sh_editor_waits(&sh->editor) || sh->background.length;
        switch (sh_terminal_wait(waiting ? ESCAPE_WAIT_MS : soon ? IDLE_MS : -1)) {
        case SH_WAIT_TIMEOUT:
            if (sh_decoder_flush(&sh->decoder, key)) return true;
            if (!waiting) sh_editor_idle(&sh->editor);
            if (!waiting) show_background(sh, true);
            break;
        case SH_WAIT_RESIZED: break;
        case SH_WAIT_CONTINUED:
            sh_terminal_start_row();
            sh->screen.drawn = false;
            break;
        case SH_WAIT_WATCHED:
            sh_background_read(&sh->background);
            show_background(sh, false);
            break;
        case SH_WAIT_END: return false;
        case SH_WAIT_INPUT:
            sh->used = 0;
            sh->have = sh_terminal_read(sh->input, sizeof sh->input);
            if (sh->have == 0) return false;
        }
    }
}

struct lua_prompt {
    const char *global;
    char *to, *end;
    bool set;
};

static int copy_prompt(lua_State *L)
{
    struct lua_prompt *p = lua_touserdata(L, 1);
    lua_pushglobaltable(L);
    lua_pushstring(L, p->global);
    p->set = lua_rawget(L, -2) == LUA_TSTRING;
    char *to = p->to;
    for (const char *from = p->set ? lua_tostring(L, -1) : ""; *from && to < p->end; from++) {
        size_t code = strncmp(from, "\033[", 2) == 0 ? strspn(from + 2, "0123456789;") : 0;
        if (code)
            from += 2 + code - (from[2 + code] == '\0');
        else if ((unsigned char)*from >= ' ')
            *to++ = *from;
    }
    if (p->set) *to = '\0';
    return 0;
}

/* _PROMPT or _PROMPT2, which a stock lua goes by, without escape codes; false where it is no text. */
static bool lua_prompt(struct shell *sh, const char *global, char *to, size_t size)
{
    struct lua_prompt p = {global, to, to + size - 1, false};
    lua_State *L = lg_session_state(sh->session);
    lua_pushcfunction(L, copy_prompt);
    lua_pushlightuserdata(L, &p);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1); /* no memory */
    return p.set;
}

/* The prompt with its number, and as many dots before later lines. */
static void number_prompt(struct shell *sh)
{
    char *to = sh->prompt, *end = to + sizeof sh->prompt - 24;
    for (const char *p = sh_settings->prompt; *p && to < end;) {
        if (strncmp(p, "{n}", 3) == 0) {
            to += sprintf(to, "%d", lg_session_count(sh->session) + 1);
            p += 3;
        } else {
            *to++ = *p++;
        }
    }
    *to = '\0';
    if (lua_prompt(sh, "_PROMPT", sh->prompt, sizeof sh->prompt - 24)) to = sh->prompt + strlen(sh->prompt);
    size_t blanks = 0;
    while (to - sh->prompt > (long)blanks && to[-1 - (long)blanks] == ' ') blanks++;
    int width = sh_width(sh->prompt, strlen(sh->prompt)) - (int)blanks;
    memset(sh->more, '.', sizeof sh->more);
    memset(sh->more + width, ' ', blanks);
    sh->more[width + (int)blanks] = '\0';
    lua_prompt(sh, "_PROMPT2", sh->more, sizeof sh->more);
}

/* What a magic has put into the next cell; true when that is to be run as it is. */
static bool take_next(struct shell *sh)
{
    struct sh_text *next = &sh->out->next;
    bool ready = next->length && sh->out->run_next;
    while (next->length && strchr("\r\n", next->bytes[next->length - 1])) next->length--;
    if (next->length) sh_editor_set(&sh->editor, next->bytes, next->length);
    next->length = 0;
    if (ready) draw(sh, true);
    return ready;
}

/* True: the editor holds a cell to run. */
static bool read_cell(struct shell *sh)
{
    struct sh_key key;
    number_prompt(sh);
    sh->prepared = false;
    sh->editor.use_vi = sh_settings->vi;
    host_refresh(sh);
    sh_editor_start(&sh->editor);
    if (take_next(sh)) return true;
    while (next_key(sh, &key)) {
        switch (sh_editor_key(&sh->editor, &key)) {
        case SH_CONTINUE: break;
        case SH_ACCEPT: draw(sh, true); return true;
        case SH_CANCEL:
            draw(sh, true);
            sh_editor_start(&sh->editor);
            break;
        case SH_LEAVE: draw(sh, true); return !(sh->leave = true);
        case SH_SUSPEND: suspend(sh); break;
        case SH_CLEAR: clear_screen(sh); break;
        case SH_EDIT: edit(sh); break;
        }
    }
    return !(sh->leave = true);
}

/* Running a cell */

static bool is_blank(const char *code, size_t length)
{
    return strspn(code, " \t\r\n") >= length;
}

/* The words that people try first to get out. */
static bool is_farewell(const char *code, size_t length)
{
    static const char *const words[] = {"exit", "quit", "exit()", "quit()"};
    while (length > 0 && strchr(" \t\r\n", code[length - 1])) length--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], code, length) == 0) return true;
    return false;
}

static const char help[] = "A cell is Lua 5.4; its last value is shown and kept in _. gpu has the arrays.\n"
                           "\n"
                           "  ?name              what is known of a name: ?gpu.linspace ?np.arange ?atomicAdd\n"
                           "  ?lua ?numpy ?cuda  what is otherwise than elsewhere; ?indexing, ?shell\n"
                           "  %time  %timeit     measure an expression; %%cuda: a cell of CUDA C\n"
                           "  %edit  %load       a cell in your editor, a file; %lsmagic lists them all\n"
                           "  !command           runs a shell command\n"
                           "\n"
                           "  Enter              runs a complete cell, else opens a line; Alt-Enter opens one\n"
                           "  Tab                completes; again goes through the list, Escape leaves it\n"
                           "  Shift-Tab          shows what is known of the name or call at the cursor\n"
                           "  Up, Down           lines of the cell, then earlier cells that begin alike\n"
                           "  Ctrl-R             searches earlier cells\n"
                           "  Ctrl-C             stops what runs, LAPACK, NVRTC, finalizers at their end;\n"
                           "                     at the prompt gives the cell up\n"
                           "  Ctrl-X Ctrl-E      opens the cell in $EDITOR\n"
                           "  Ctrl-D             leaves, on an empty cell\n"
                           "  ??                 all keys of the editor\n";

/* "?" shows the help, "??" the keys; false: the cell is neither. */
static bool show_help(const struct shell *sh, const char *code, size_t length)
{
    while (length > 0 && strchr(" \t\r\n", code[length - 1])) length--;
    if (length == 0 || length > 2 || strspn(code, "?") < length) return false;
    struct sh_text keys = {0};
    if (length == 2) sh_keys_text(sh->editor.keymap, &keys);
    const char *text = length == 1 ? help : keys.bytes ? keys.bytes : "";
    if (isatty(STDOUT_FILENO))
        sh_output_page(sh->out, text, strlen(text));
    else
        fputs(text, stdout);
    sh_text_free(&keys);
    return true;
}

static void run_cell(struct shell *sh, const char *code, size_t length)
{
    struct lg_request request = {.code = code, .length = length, .store_history = true};
    const struct lg_error *error = NULL;
    if (show_help(sh, code, length)) return;
    if (sh_settings->status) sh_status_begin(&sh->status);
    enum lg_status status = lg_session_evaluate(sh->session, &request, &error);
    sh_status_end(&sh->status);
    /* The terminal has shown ^C where the cursor was. */
    if (sh_interrupted() && isatty(STDOUT_FILENO)) sh->out->open_line = true;
    if (status != LG_DONE) sh_output_error(sh->out, error);
    sh_output_end(sh->out);
    lg_prepare_beside();
}

static void edited_loop(struct shell *sh)
{
    while (!sh->leave && take_hold()) {
        if (!read_cell(sh)) break;
        let_go(sh);
        const struct sh_text *cell = &sh->editor.text;
        if (cell->length == 0 || is_blank(cell->bytes, cell->length)) continue;
        if (is_farewell(cell->bytes, cell->length)) break;
        run_cell(sh, cell->bytes, cell->length);
        sh_terminal_start_row();
    }
    let_go(sh);
}

/* Lines as a dumb terminal or a pipe gives them. */
static void plain_loop(struct shell *sh)
{
    struct sh_text cell = {0};
    char *line = NULL;
    size_t capacity = 0;
    for (;;) {
        const char *prompt = cell.length ? ".. " : ">> ";
        if (lua_prompt(sh, cell.length ? "_PROMPT2" : "_PROMPT", sh->prompt, sizeof sh->prompt)) prompt = sh->prompt;
        fputs(prompt, stdout);
        fflush(stdout);
        ssize_t got = getline(&line, &capacity, stdin);
        if (got < 0 && errno == EINTR && sh_interrupted()) {
            clearerr(stdin);
            cell.length = 0;
            putchar('\n');
            continue;
        }
        if (got < 0 || !sh_text_append(&cell, line, (size_t)got)) break;
        int indent;
        bool blank = is_blank(cell.bytes, cell.length);
        size_t length = cell.length - (cell.length > 0 && cell.bytes[cell.length - 1] == '\n');
        if (!blank && host_completeness(sh, cell.bytes, length, &indent) == LG_INCOMPLETE) continue;
        if (is_farewell(cell.bytes, cell.length)) break;
        if (!blank) run_cell(sh, cell.bytes, cell.length);
        cell.length = 0;
    }
    putchar('\n');
    if (cell.length && !is_farewell(cell.bytes, cell.length)) run_cell(sh, cell.bytes, cell.length);
    sh_text_free(&cell);
    free(line);
}

/* A GPU is opened when it is first used: that takes a while. */
static void banner(void)
{
    struct rt_error e = {0};
    bool near = rt_device_is_near();
    struct rt_device *d = near ? rt_device_default(&e) : NULL;
    printf("lunarray %s, Lua 5.4", LUNARRAY_VERSION);
    if (near) printf(", device %s", d ? d->name : "none");
    puts("; ? for help, Ctrl-D to leave");
    if (near && !d) fprintf(stderr, "%s\n", e.text);
    rt_error_clear(&e);
    fflush(stdout);
}

/* `sh` is all zeros. */
static void open_shell(struct shell *sh, struct lg_session *session, struct sh_output *out)
{
    sh->host = (struct sh_host){.context = sh,
                                .history_count = host_history_count,
                                .refresh = host_refresh,
                                .history = host_history,
                                .completeness = host_completeness,
                                .complete = host_complete,
                                .inspect = host_inspect,
                                .highlight = host_highlight,
                                .mistake = host_mistake};
    sh->session = session;
    sh->out = out;
    sh->screen.color = sh_takes_color(STDOUT_FILENO);
    sh->screen.few_glyphs = sh_few_glyphs();
    sh->editor.no_ghost = !sh->screen.color; /* it could not be told from what was typed */
    sh->editor.keymap = &sh_settings->keys;
    sh->editor.host = &sh->host;
    sh->editor.prompt = sh->prompt;
    sh->editor.more = sh->more;
}

/* Leaves the terminal to whoever reads from it next, with what was typed ahead. */
static void close_shell(struct shell *sh)
{
    sh_terminal_unread(sh->input + sh->used, sh->have - sh->used);
    sh_editor_free(&sh->editor);
    sh_text_free(&sh->background);
    sh_screen_free(&sh->screen);
    sh_frame_free(&sh->frame);
    if (sh->out) sh_text_free(&sh->out->next);
}

void sh_shell_prompt(struct lg_session *s, struct sh_output *out)
{
    static struct shell sh;
    sh = (struct shell){0};
    open_shell(&sh, s, out);
    edited_loop(&sh);
    close_shell(&sh);
}

bool sh_shell_edit(struct lg_session *s, struct sh_text *cell)
{
    static struct shell sh;
    struct sh_key key;
    enum sh_action action = SH_CONTINUE;
    sh = (struct shell){0};
    open_shell(&sh, s, NULL);
    number_prompt(&sh);
    sh_editor_start(&sh.editor);
    sh_editor_set(&sh.editor, cell->bytes ? cell->bytes : "", cell->length);
    while (action != SH_ACCEPT && action != SH_CANCEL && action != SH_LEAVE && sh_terminal_raw() &&
           next_key(&sh, &key)) {
        action = sh_editor_key(&sh.editor, &key);
        if (action == SH_SUSPEND) suspend(&sh);
        if (action == SH_CLEAR) clear_screen(&sh);
    }
    struct sh_text bytes = {0};
    sh_render_resize(&sh.screen, sh.frame.columns, &bytes);
    if (bytes.length) sh_terminal_write(bytes.bytes, bytes.length);
    sh_text_free(&bytes);
    bool ok = action == SH_ACCEPT && sh_text_set(cell, sh.editor.text.bytes, sh.editor.text.length);
    close_shell(&sh);
    return ok;
}

int sh_run_shell(struct sh_options *o)
{
    o->lossy = true;
    if (sh_terminal_usable()) sh_terminal_guard();
    static struct shell sh;
    struct sh_output out = {.color = sh_takes_color(STDERR_FILENO), .flush = true, .shell = sh_terminal_usable()};
    struct lg_options options = {.sink = sh_output_sink(&out),
                                 .device = o->device,
                                 .no_environment = o->no_environment,
                                 .interactive = true,
                                 .extend = sh_open_settings,
                                 .argc = o->argc,
                                 .argv = o->argv,
                                 .before = o->before};
    struct lg_session *session = lg_session_new(&options);
    if (!session) {
        fprintf(stderr, "lunarray: out of memory\n");
        return 1;
    }
    open_shell(&sh, session, &out);
    sh_survive_broken_pipes();
    sh_interrupts(session, false);
    /* By lines, also where the first one comes while standard output leads elsewhere (background.c). */
    if (sh_terminal_usable()) setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (o->argc == 0 && o->step_count == 0) banner();
    if (!o->no_init) sh_run_init(session, &out);
    bool ok = sh_run_given(session, o, false);
    if (ok && sh_terminal_usable())
        edited_loop(&sh);
    else if (ok)
        plain_loop(&sh);
    sh_interrupts(NULL, false);
    lg_session_free(session);
    close_shell(&sh);
    return ok ? 0 : 1;
}
