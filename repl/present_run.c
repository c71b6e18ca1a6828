/* The presenter on a terminal: draws what present.c says, runs the cells, tells it the time. Without a terminal a demo
 * can play by itself, as plain text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lang/prepare.h"
#include "repl/asking.h"
#include "repl/output.h"
#include "repl/present.h"
#include "repl/record.h"
#include "repl/render.h"
#include "repl/repl.h"
#include "repl/settings.h"
#include "repl/terminal.h"
#include "repl/theme.h"
#include "runtime/host.h"

enum { ESCAPE_WAIT_MS = 40, PLAIN_COLUMNS = 80 };

struct run {
    const struct sh_options *options;
    struct sh_presenter presenter;
    struct lg_session *session;
    struct sh_output out;
    struct sh_screen screen;
    struct sh_frame frame;
    struct sh_decoder decoder;
    char input[256];
    size_t used, have;
    bool terminal; /* else plain text */
};

static long now_ms(void)
{
    return rt_now_ns() / 1000000;
}

/* The session */

static bool fresh_session(struct run *r)
{
    const struct sh_options *o = r->options;
    struct lg_options options = {.sink = sh_output_sink(&r->out),
                                 .device = o->device,
                                 .interactive = true,
                                 .extend = sh_open_settings,
                                 .history = "", /* what was typed elsewhere is no business of the audience */
                                 .argc = o->argc,
                                 .argv = o->argv,
                                 .before = o->before};
    sh_interrupts(NULL, false);
    if (r->session) lg_session_free(r->session);
    r->session = lg_session_new(&options);
    if (!r->session) {
        sh_terminal_restore();
        fprintf(stderr, "lunarray: out of memory\n");
        return false;
    }
    sh_interrupts(r->session, false);
    if (!o->no_init) sh_run_init(r->session, &r->out);
    return true;
}

/* Drawing */

static void write_plain(const struct sh_frame *f)
{
    for (size_t i = 0; i < f->count; i++) {
        fwrite(f->text.bytes + f->rows[i].start, 1, f->rows[i].end - f->rows[i].start, stdout);
        putchar('\n');
    }
    fflush(stdout);
}

/* `final`: the cell as it stays on the screen, the cursor below it. */
static void draw(struct run *r, bool final)
{
    int columns = PLAIN_COLUMNS, rows = 0;
    char clock[16];
    time_t day = time(NULL);
    struct tm local;
    struct sh_text bytes = {0};
    if (r->terminal) sh_terminal_size(&columns, &rows);
    if (r->screen.drawn && columns != r->frame.columns) sh_render_resize(&r->screen, columns, &bytes);
    if (!localtime_r(&day, &local) || strftime(clock, sizeof clock, "%H:%M", &local) == 0) *clock = '\0';
    struct sh_present_view view = {.columns = columns,
                                   .rows = final ? 0 : rows,
                                   .number = lg_session_count(r->session) + 1,
                                   .time = clock,
                                   .now = now_ms()};
    sh_present_frame(&r->presenter, &view, &r->frame);
    if (!r->terminal) {
        if (final) write_plain(&r->frame);
        if (final && r->frame.failed) {
            fprintf(stderr, "lunarray: out of memory\n");
            r->presenter.failed = true;
        }
        return;
    }
    sh_render(&r->screen, &r->frame, &bytes);
    if (final) sh_render_leave(&r->screen, &bytes);
    if (bytes.length) sh_terminal_write(bytes.bytes, bytes.length);
    sh_text_free(&bytes);
}

static void give_back(struct run *r)
{
    if (r->terminal) sh_await_answer(r->input, r->used, &r->have, sizeof r->input);
    sh_terminal_restore();
}

/* Takes away what is shown, for what draws on its own. */
static void wipe(struct run *r)
{
    struct sh_text bytes = {0};
    sh_render_resize(&r->screen, r->frame.columns, &bytes);
    if (bytes.length) sh_terminal_write(bytes.bytes, bytes.length);
    sh_text_free(&bytes);
}

static void clear_screen(struct run *r)
{
    static const char clear[] = "\033[H\033[2J";
    sh_terminal_write(clear, sizeof clear - 1);
    r->screen.drawn = false;
}

/* The terminal as cells and the shell want it; what was typed ahead is theirs. */
static void hand_over(struct run *r)
{
    sh_terminal_unread(r->input + r->used, r->have - r->used);
    r->used = r->have = 0;
}

/* Actions */

static void run_cell(struct run *r)
{
    size_t length;
    const char *code = sh_present_text(&r->presenter, &length);
    const struct lg_error *error = NULL;
    enum lg_status status = LG_DONE;
    draw(r, true);
    if (!r->presenter.demo->cells[r->presenter.at].markdown) {
        struct lg_request request = {.code = code, .length = length, .store_history = true};
        give_back(r);
        status = lg_session_evaluate(r->session, &request, &error);
        /* The terminal has shown ^C where the cursor was. */
        if (sh_interrupted() && r->terminal) r->out.open_line = true;
        if (status != LG_DONE) sh_output_error(&r->out, error);
        sh_output_end(&r->out);
        lg_prepare_beside();
        if (r->terminal && sh_terminal_raw()) sh_terminal_start_row();
    }
    sh_present_done(&r->presenter, status, now_ms());
}

static enum sh_present_action edit_cell(struct run *r)
{
    size_t length;
    const char *code = sh_present_text(&r->presenter, &length);
    struct sh_text cell = {0};
    if (!sh_text_set(&cell, code, length)) return SH_PRESENT_WAIT;
    wipe(r);
    hand_over(r);
    sh_terminal_write("\n", 1); /* the blank row that the cell has above it */
    bool accepted = sh_shell_edit(r->session, &cell);
    sh_terminal_write("\033[A", 3);
    enum sh_present_action next = sh_present_edited(&r->presenter, accepted ? cell.bytes : NULL, cell.length, now_ms());
    sh_text_free(&cell);
    return next;
}

static void live_prompt(struct run *r)
{
    wipe(r);
    hand_over(r);
    sh_terminal_write("\n", 1);
    r->out.shell = true; /* there, unlike in the talk, long texts go to the pager */
    sh_shell_prompt(r->session, &r->out);
    r->out.shell = false;
    sh_terminal_raw();
    sh_present_resume(&r->presenter, now_ms());
}

static void suspend(struct run *r)
{
    wipe(r);
    give_back(r);
    sh_terminal_suspend();
    sh_terminal_raw();
}

/* Waiting */

/* A key from what was read: true. */
static bool decoded(struct run *r, struct sh_key *key)
{
    while (r->used < r->have)
        if (sh_decode(&r->decoder, (unsigned char)r->input[r->used++], key)) return true;
    return false;
}

/* Until something is to be done; draws whenever it waits. */
static enum sh_present_action next_event(struct run *r)
{
    struct sh_key key;
    if (decoded(r, &key)) return sh_present_key(&r->presenter, &key, now_ms());
    if (sh_take_answer(&r->decoder)) wipe(r); /* in other colours now */
    bool unfinished = sh_decoder_waiting(&r->decoder);
    if (!unfinished) draw(r, false);
    sh_ask();
    int wait = unfinished ? ESCAPE_WAIT_MS : sh_present_wait(&r->presenter, now_ms());
    switch (sh_terminal_wait(wait)) {
    case SH_WAIT_TIMEOUT:
        if (!unfinished) return sh_present_tick(&r->presenter, now_ms());
        if (sh_decoder_flush(&r->decoder, &key)) return sh_present_key(&r->presenter, &key, now_ms());
        break;
    case SH_WAIT_WATCHED:
    case SH_WAIT_RESIZED: break;
    case SH_WAIT_CONTINUED:
        sh_terminal_start_row();
        r->screen.drawn = false;
        break;
    case SH_WAIT_END: return SH_PRESENT_LEAVE;
    case SH_WAIT_INPUT:
        r->used = 0;
        r->have = sh_terminal_read(r->input, sizeof r->input);
        if (r->have == 0) return SH_PRESENT_LEAVE;
    }
    return SH_PRESENT_WAIT;
}

/* Without a terminal: time passes. */
static enum sh_present_action next_step(struct run *r)
{
    int wait = sh_present_wait(&r->presenter, now_ms());
    struct timespec rest = {wait / 1000, wait % 1000 * 1000000L};
    if (wait > 0) nanosleep(&rest, NULL);
    bool interrupted = sh_interrupted();
    r->presenter.failed = r->presenter.failed || interrupted;
    if (wait < 0 || interrupted) return SH_PRESENT_LEAVE; /* wait < 0: a cell was interrupted */
    return sh_present_tick(&r->presenter, now_ms());
}

static void present(struct run *r)
{
    enum sh_present_action action = SH_PRESENT_WAIT;
    while (action != SH_PRESENT_LEAVE && (!r->terminal || sh_terminal_raw())) {
        switch (action) {
        case SH_PRESENT_RUN: run_cell(r); break;
        case SH_PRESENT_EDIT: action = edit_cell(r); continue;
        case SH_PRESENT_PROMPT: live_prompt(r); break;
        case SH_PRESENT_RESTART:
            wipe(r);
            if (!fresh_session(r)) return;
            sh_present_restart(&r->presenter, now_ms());
            clear_screen(r);
            break;
        case SH_PRESENT_SUSPEND: suspend(r); break;
        case SH_PRESENT_CLEAR: clear_screen(r); break;
        case SH_PRESENT_WAIT:
        case SH_PRESENT_LEAVE: break;
        }
        action = r->terminal ? next_event(r) : next_step(r);
    }
    if (r->terminal) wipe(r);
    give_back(r);
}

static int start(struct run *r, const struct sh_demo *demo)
{
    const struct sh_options *o = r->options;
    struct sh_present_options options = {
        .typing = r->terminal ? o->typing : 0, .pause = o->play ? o->pause : 2, .play = o->play};
    bool ok = fresh_session(r) && sh_present_start(&r->presenter, demo, &options, now_ms());
    if (ok) {
        sh_survive_broken_pipes();
        present(r);
        /* Whoever is there has seen what failed; who had it played has the status. */
        ok = !o->play || !r->presenter.failed;
        sh_present_free(&r->presenter);
    }
    sh_interrupts(NULL, false);
    if (r->session) lg_session_free(r->session);
    sh_screen_free(&r->screen);
    sh_frame_free(&r->frame);
    return sh_output_finish() && ok ? 0 : 1;
}

int sh_run_present(const struct sh_options *o)
{
    static struct run r;
    struct sh_demo demo;
    char why[SH_WHY];
    int status = 1;
    if (!sh_demo_load(o->argv[0], &demo, NULL, why)) {
        fprintf(stderr, "lunarray: %s: %s\n", o->argv[0], why);
        return 1;
    }
    if (!o->record || sh_record(o->record, o->argv[0], &status)) {
        r.options = o;
        r.terminal = sh_terminal_usable();
        if (r.terminal) sh_terminal_guard();
        if (o->record) sh_ask_nothing(); /* who plays it back may have another background */
        r.out = (struct sh_output){.color = sh_takes_color(STDERR_FILENO), .flush = true};
        r.screen.color = sh_takes_color(STDOUT_FILENO);
        r.screen.few_glyphs = sh_few_glyphs();
        if (r.terminal || o->play) {
            status = start(&r, &demo);
        } else {
            fprintf(stderr, "lunarray: --present needs a terminal; --auto SECONDS plays without one\n");
        }
    }
    sh_demo_free(&demo);
    return status;
}
