#include "repl/present.h"

#include <stdlib.h>
#include <string.h>

/* Going from cell to cell */

static bool runs_through(const struct sh_presenter *p)
{
    return p->at < p->until;
}

/* When the next step comes by itself, if it does. */
static void plan(struct sh_presenter *p, long now)
{
    p->due = -1;
    if (p->overlay != SH_NO_OVERLAY || p->phase == SH_AT_RUNNING) return;
    if (p->phase == SH_AT_TYPING || runs_through(p))
        p->due = now;
    else if (p->play)
        p->due = now + (long)(p->options.pause * 1000);
}

static void go_to(struct sh_presenter *p, size_t cell, bool type, long now)
{
    size_t length;
    p->at = cell < p->demo->count ? cell : p->demo->count;
    p->overlay = SH_NO_OVERLAY;
    p->scroll = 0;
    p->phase = p->at == p->demo->count ? SH_AT_END : SH_AT_CELL;
    sh_present_text(p, &length);
    p->typed = length;
    if (type && p->typing && p->phase == SH_AT_CELL && !p->demo->cells[p->at].markdown && !runs_through(p)) {
        p->phase = SH_AT_TYPING;
        p->typed = 0;
    }
    plan(p, now);
}

static void show_all(struct sh_presenter *p, long now)
{
    sh_present_text(p, &p->typed);
    p->phase = SH_AT_CELL;
    plan(p, now);
}

static enum sh_present_action forward(struct sh_presenter *p, long now)
{
    switch (p->phase) {
    case SH_AT_TYPING: show_all(p, now); break;
    case SH_AT_CELL:
        p->phase = SH_AT_RUNNING;
        plan(p, now);
        return SH_PRESENT_RUN;
    case SH_AT_OUTPUT: go_to(p, p->at + 1, true, now); break;
    case SH_AT_RUNNING:
    case SH_AT_END: break;
    }
    return SH_PRESENT_WAIT;
}

/* To the cell that has just run, or to the one before. */
static void back(struct sh_presenter *p, long now)
{
    go_to(p, p->phase == SH_AT_OUTPUT || p->at == 0 ? p->at : p->at - 1, false, now);
}

/* Typing */

/* Milliseconds until the next character, as uneven as hands are: half to one and a half of the mean, longer where a
 * line or a word ends. */
static long pace(struct sh_presenter *p, char typed)
{
    double mean = 1000 / p->options.typing;
    p->random = p->random * 1103515245u + 12345u;
    double uneven = 0.5 + (double)(p->random >> 16 & 0x7FFF) / 0x8000;
    return (long)(mean * uneven * (typed == '\n' ? 4 : typed == ' ' ? 1.5 : 1));
}

/* One character; indents come with their newline, as an editor gives them. */
static void type_one(struct sh_presenter *p, long now)
{
    size_t length, next;
    const char *text = sh_present_text(p, &length);
    if (p->typed >= length) {
        show_all(p, now);
        return;
    }
    char c = text[p->typed];
    next = sh_next_grapheme(text, length, p->typed);
    while (c == '\n' && next < length && text[next] == ' ') next++;
    p->typed = next;
    p->due += pace(p, c);
    if (p->typed >= length) show_all(p, now);
}

/* The list of cells */

static void open_list(struct sh_presenter *p, unsigned digit)
{
    p->overlay = SH_OVER_LIST;
    p->digits = digit;
    p->selected = p->at < p->demo->count ? p->at : p->demo->count - 1;
    if (digit && digit <= p->demo->count) p->selected = digit - 1;
}

static bool list_digit(struct sh_presenter *p, const struct sh_key *key)
{
    if (key->kind == SH_KEY_BACKSPACE)
        p->digits /= 10;
    else if (key->kind == SH_KEY_TEXT && !key->ctrl && !key->alt && key->c >= '0' && key->c <= '9')
        p->digits = p->digits < 100000 ? p->digits * 10 + (unsigned)(key->c - '0') : p->digits;
    else
        return false;
    if (p->digits >= 1 && p->digits <= p->demo->count) p->selected = p->digits - 1;
    return true;
}

static void move_selection(struct sh_presenter *p, long step)
{
    long to = (long)p->selected + step, last = (long)p->demo->count - 1;
    p->digits = 0;
    p->selected = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

static void list_key(struct sh_presenter *p, const struct sh_key *key, long now)
{
    enum { PAGE = 10 };
    bool plain = key->kind == SH_KEY_TEXT && !key->ctrl && !key->alt;
    if (list_digit(p, key)) return;
    if (key->kind == SH_KEY_UP) {
        move_selection(p, -1);
    } else if (key->kind == SH_KEY_DOWN) {
        move_selection(p, 1);
    } else if (key->kind == SH_KEY_PAGE_UP) {
        move_selection(p, -PAGE);
    } else if (key->kind == SH_KEY_PAGE_DOWN) {
        move_selection(p, PAGE);
    } else if (key->kind == SH_KEY_ENTER) {
        go_to(p, p->selected, true, now);
    } else if (plain && key->c == 'r') {
        p->until = p->selected;
        go_to(p, p->until > p->at ? p->phase == SH_AT_OUTPUT ? p->at + 1 : p->at : p->selected, false, now);
    } else {
        p->overlay = SH_NO_OVERLAY;
        plan(p, now);
    }
}

/* Keys */

static bool is_yes(const struct sh_key *key, enum sh_present_overlay question)
{
    if (key->kind == SH_KEY_ENTER) return true;
    if (key->kind != SH_KEY_TEXT || key->alt) return false;
    if (key->ctrl) return question == SH_OVER_LEAVE && (key->c == 'c' || key->c == 'd');
    return key->c == 'y' || key->c == (question == SH_OVER_LEAVE ? 'q' : 'R');
}

/* The frame knows where it ends. */
static bool scroll(struct sh_presenter *p, const struct sh_key *key)
{
    if (key->kind == SH_KEY_UP)
        p->scroll -= p->scroll > 0;
    else if (key->kind == SH_KEY_DOWN)
        p->scroll++;
    else
        return false;
    return true;
}

static enum sh_present_action overlay_key(struct sh_presenter *p, const struct sh_key *key, long now)
{
    enum sh_present_overlay overlay = p->overlay;
    if (overlay == SH_OVER_LIST) {
        list_key(p, key, now);
        return SH_PRESENT_WAIT;
    }
    if (overlay == SH_OVER_KEYS && scroll(p, key)) return SH_PRESENT_WAIT;
    p->overlay = SH_NO_OVERLAY;
    if (overlay == SH_OVER_KEYS) p->scroll = 0;
    plan(p, now);
    if (overlay == SH_OVER_KEYS || !is_yes(key, overlay)) return SH_PRESENT_WAIT;
    return overlay == SH_OVER_LEAVE ? SH_PRESENT_LEAVE : SH_PRESENT_RESTART;
}

static enum sh_present_action open_overlay(struct sh_presenter *p, enum sh_present_overlay overlay)
{
    p->overlay = overlay;
    if (overlay == SH_OVER_KEYS) p->scroll = 0;
    p->due = -1;
    return SH_PRESENT_WAIT;
}

/* The cell to edit: the one in sight. */
static enum sh_present_action edit(struct sh_presenter *p, long now)
{
    if (p->at >= p->demo->count || p->demo->cells[p->at].markdown) {
        p->note = "only code is edited here; b goes back, ? keys";
        return SH_PRESENT_WAIT;
    }
    show_all(p, now);
    p->due = -1;
    return SH_PRESENT_EDIT;
}

static enum sh_present_action control_key(struct sh_presenter *p, int32_t c)
{
    switch (c) {
    case 'c':
    case 'd': return open_overlay(p, SH_OVER_LEAVE);
    case 'l': return SH_PRESENT_CLEAR;
    case 'z': return SH_PRESENT_SUSPEND;
    default: return SH_PRESENT_WAIT;
    }
}

static enum sh_present_action letter_key(struct sh_presenter *p, int32_t c, long now)
{
    if (c >= '1' && c <= '9' && p->demo->count) {
        open_list(p, (unsigned)(c - '0'));
        return open_overlay(p, SH_OVER_LIST);
    }
    switch (c) {
    case ' ':
    case 'n': return forward(p, now);
    case 'b': back(p, now); break;
    case 's': go_to(p, p->at + 1, true, now); break;
    case 'e': return edit(p, now);
    case 'p': p->due = -1; return SH_PRESENT_PROMPT;
    case 'g':
        if (p->demo->count) open_list(p, 0);
        p->due = -1;
        break;
    case 'R': return open_overlay(p, SH_OVER_RESTART);
    case 'c': p->clock = !p->clock; break;
    case 't':
        p->typing = !p->typing;
        if (p->phase == SH_AT_TYPING) show_all(p, now);
        break;
    case 'a':
        p->play = !p->play;
        if (p->phase != SH_AT_TYPING) plan(p, now);
        break;
    case 'q': return open_overlay(p, SH_OVER_LEAVE);
    case 'h':
    case '?': return open_overlay(p, SH_OVER_KEYS);
    default: break;
    }
    return SH_PRESENT_WAIT;
}

enum sh_present_action sh_present_key(struct sh_presenter *p, const struct sh_key *key, long now)
{
    if (key->pasted || key->kind == SH_KEY_NONE || p->phase == SH_AT_RUNNING) return SH_PRESENT_WAIT;
    if (runs_through(p)) { /* whoever presses a key wants to be asked again */
        p->until = 0;
        plan(p, now);
    }
    p->note = NULL;
    if (p->overlay != SH_NO_OVERLAY) return overlay_key(p, key, now);
    if (scroll(p, key)) return SH_PRESENT_WAIT;
    switch (key->kind) {
    case SH_KEY_ENTER:
    case SH_KEY_RIGHT:
    case SH_KEY_PAGE_DOWN: return forward(p, now);
    case SH_KEY_LEFT:
    case SH_KEY_PAGE_UP:
    case SH_KEY_BACKSPACE: back(p, now); break;
    case SH_KEY_TEXT:
        if (key->alt) break;
        return key->ctrl ? control_key(p, key->c) : letter_key(p, key->c, now);
    default: break;
    }
    return SH_PRESENT_WAIT;
}

/* Time */

int sh_present_wait(const struct sh_presenter *p, long now)
{
    long wait = p->due < 0 ? -1 : p->due > now ? p->due - now : 0;
    long second = 1000 - (now - p->started) % 1000;
    if (p->clock && p->phase != SH_AT_RUNNING && (wait < 0 || second < wait)) wait = second;
    return (int)wait;
}

enum sh_present_action sh_present_tick(struct sh_presenter *p, long now)
{
    if (p->due < 0 || now < p->due) return SH_PRESENT_WAIT;
    if (p->phase == SH_AT_END) return p->options.play && p->play ? SH_PRESENT_LEAVE : SH_PRESENT_WAIT;
    if (p->phase != SH_AT_TYPING) return forward(p, now);
    while (p->phase == SH_AT_TYPING && p->due <= now) type_one(p, now);
    return SH_PRESENT_WAIT;
}

/* Answers */

void sh_present_done(struct sh_presenter *p, enum lg_status status, long now)
{
    const struct sh_demo_cell *cell = &p->demo->cells[p->at];
    bool bad = status == LG_INTERRUPTED || (status == LG_ERROR && !cell->may_fail);
    p->failed = p->failed || bad;
    if (bad) p->until = 0;
    if (status == LG_INTERRUPTED) p->play = false;
    p->phase = SH_AT_OUTPUT;
    if (cell->markdown)
        go_to(p, p->at + 1, true, now);
    else
        plan(p, now);
}

enum sh_present_action sh_present_edited(struct sh_presenter *p, const char *text, size_t length, long now)
{
    show_all(p, now);
    if (!text || !sh_text_set(&p->edits[p->at], text, length)) return SH_PRESENT_WAIT;
    show_all(p, now);
    return forward(p, now);
}

void sh_present_resume(struct sh_presenter *p, long now)
{
    plan(p, now);
}

static void forget_edits(struct sh_presenter *p)
{
    for (size_t i = 0; p->edits && i < p->demo->count; i++) sh_text_free(&p->edits[i]);
}

void sh_present_restart(struct sh_presenter *p, long now)
{
    forget_edits(p);
    p->started = now;
    p->until = 0;
    go_to(p, 0, true, now);
}

/* Beginning and end */

bool sh_present_start(struct sh_presenter *p, const struct sh_demo *demo, const struct sh_present_options *o, long now)
{
    *p = (struct sh_presenter){.demo = demo, .options = *o, .typing = o->typing > 0, .play = o->play};
    if (!p->typing) p->options.typing = SH_TYPING_SPEED;
    p->edits = calloc(demo->count + 1, sizeof *p->edits);
    if (p->edits) sh_present_restart(p, now);
    return p->edits != NULL;
}

void sh_present_free(struct sh_presenter *p)
{
    forget_edits(p);
    free(p->edits);
    p->edits = NULL;
}

const char *sh_present_text(const struct sh_presenter *p, size_t *length)
{
    *length = 0;
    if (p->at >= p->demo->count) return "";
    const struct sh_text *edit_of = &p->edits[p->at];
    *length = edit_of->bytes ? edit_of->length : p->demo->cells[p->at].text.length;
    return edit_of->bytes ? edit_of->bytes : p->demo->cells[p->at].text.bytes;
}
