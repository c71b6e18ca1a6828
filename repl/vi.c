/* vi's commands: a count, an operator with another count, and a motion or an object; or one letter. */
#include "repl/vi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { MOST = 9999 }; /* of a count */

enum parsed { UNFINISHED, COMPLETE, NONSENSE };

void sh_vi_start(struct sh_editor *e)
{
    e->vi.mode = SH_VI_INSERT;
    e->vi.count = 0;
    e->vi.key_count = 0;
    e->vi.begun = e->version;
    e->vi.no_repeat = true; /* what is typed first is no command */
}

void sh_vi_free(struct sh_editor *e)
{
    free(e->vi.keys);
    free(e->vi.again);
    e->vi = (struct sh_vi){0};
}

bool sh_vi_selection(const struct sh_editor *e, size_t *from, size_t *to)
{
    if (!e->use_vi || e->vi.mode < SH_VI_VISUAL) return false;
    size_t anchor = e->vi.anchor < e->text.length ? e->vi.anchor : e->text.length;
    *from = anchor < e->cursor ? anchor : e->cursor;
    *to = anchor < e->cursor ? e->cursor : anchor;
    if (e->vi.mode == SH_VI_LINES) {
        *from = sh_line_start(e, *from);
        *to = sh_line_end(e, *to);
    } else {
        *to = sh_forward(e, *to);
    }
    return true;
}

/* ---- commands of one letter ---- */

static void insert_mode(struct sh_editor *e)
{
    e->vi.mode = SH_VI_INSERT;
}

static int times(const struct sh_vi_command *c)
{
    return c->count > 0 ? c->count : 1;
}

static void put(struct sh_editor *e, const struct sh_vi_command *c)
{
    const struct sh_text *t = sh_killed(e, 0);
    if (!t || t->length == 0) return;
    bool lines = t->bytes[t->length - 1] == '\n', behind = c->key == 'p';
    struct sh_text whole = {0};
    bool good = true;
    for (int i = 0; i < times(c) && good; i++) good = sh_text_append(&whole, t->bytes, t->length);
    size_t at = e->cursor, end = sh_line_end(e, at);
    bool last = lines && behind && end == e->text.length; /* behind the last line, which has no newline */
    if (lines && behind) {
        at = end + !last;
        if (last && good) {
            whole.length--;
            good = sh_text_insert(&whole, 0, "\n", 1);
        }
    } else if (lines) {
        at = sh_line_start(e, at);
    } else if (behind && at < end) {
        at = sh_forward(e, at);
    }
    if (good && sh_edit(e, at, at, whole.bytes, whole.length))
        e->cursor = lines ? sh_vi_first(e, at + last) : sh_backward(e, e->cursor);
    sh_text_free(&whole);
}

static void replace(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t to = e->cursor, end = sh_line_end(e, to);
    char bytes[4];
    size_t n = sh_encode(c->character, bytes);
    struct sh_text with = {0};
    for (int i = 0; i < times(c); i++, to = sh_forward(e, to)) {
        if (to >= end || !sh_text_append(&with, bytes, n)) {
            sh_text_free(&with);
            return;
        }
    }
    if (sh_edit(e, e->cursor, to, with.bytes, with.length)) e->cursor = sh_backward(e, e->cursor);
    sh_text_free(&with);
}

static void swap_case(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t to = e->cursor, end = sh_line_end(e, to);
    for (int i = 0; i < times(c) && to < end; i++) to = sh_forward(e, to);
    sh_swap_case(e, e->cursor, to);
}

static void join(struct sh_editor *e, const struct sh_vi_command *c)
{
    for (int i = 0; i < (times(c) > 1 ? times(c) - 1 : 1); i++) {
        size_t end = sh_line_end(e, e->cursor);
        if (end >= e->text.length) return;
        size_t next = sh_vi_first(e, end + 1);
        bool blank = next < e->text.length && e->text.bytes[next] != ')' && e->text.bytes[next] != '\n';
        sh_edit(e, end, next, " ", blank);
        e->cursor = end;
    }
}

static void insert_here(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t end = sh_line_end(e, e->cursor);
    switch (c->key) {
    case 'a': e->cursor = e->cursor < end ? sh_forward(e, e->cursor) : end; break;
    case 'A': e->cursor = end; break;
    case 'I': e->cursor = sh_vi_first(e, e->cursor); break;
    case 'o':
        e->cursor = end;
        sh_open_line(e);
        break;
    case 'O': {
        size_t start = sh_line_start(e, e->cursor), first = sh_vi_first(e, e->cursor);
        e->cursor = first;
        sh_open_line(e);
        e->cursor = start + (first - start);
        break;
    }
    default: break;
    }
    insert_mode(e);
}

static void undo(struct sh_editor *e, const struct sh_vi_command *c)
{
    for (int i = 0; i < times(c); i++) sh_undo(e);
    e->vi.no_repeat = true;
}

static void select_from_here(struct sh_editor *e, const struct sh_vi_command *c)
{
    e->vi.anchor = e->cursor;
    e->vi.mode = c->key == 'v' ? SH_VI_VISUAL : SH_VI_LINES;
}

static void search(struct sh_editor *e, const struct sh_vi_command *c)
{
    (void)c;
    insert_mode(e);
    sh_search_start(e);
}

static void again(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t count = e->vi.again_count;
    (void)c;
    if (e->vi.repeating || count == 0) return;
    struct sh_key *keys = malloc(count * sizeof *keys); /* what is repeated may be replaced meanwhile */
    if (!keys) return;
    memcpy(keys, e->vi.again, count * sizeof *keys);
    e->vi.repeating = true;
    e->vi.count = 0;
    for (size_t i = 0; i < count; i++) sh_editor_key(e, &keys[i]);
    e->vi.repeating = false;
    free(keys);
}

static const struct letter {
    int32_t key;
    bool takes;           /* another character follows */
    const char *short_of; /* the operator and motion that it stands for, or NULL */
    const char *doc;
    void (*run)(struct sh_editor *e, const struct sh_vi_command *c);
} letters[] = {
    {'i', false, NULL, "inserts before the character; a: behind it", insert_here},
    {'a', false, NULL, "", insert_here},
    {'I', false, NULL, "inserts before the line's first letter; A: at its end", insert_here},
    {'A', false, NULL, "", insert_here},
    {'o', false, NULL, "opens a line below; O: above", insert_here},
    {'O', false, NULL, "", insert_here},
    {'x', false, "dl", "deletes the character; X: the one before", NULL},
    {'X', false, "dh", "", NULL},
    {'D', false, "d$", "deletes to the end of the line; C: changes to there", NULL},
    {'C', false, "c$", "", NULL},
    {'s', false, "cl", "changes the character; S: the line", NULL},
    {'S', false, "cc", "", NULL},
    {'Y', false, "yy", "copies the line", NULL},
    {'p', false, NULL, "puts in what was deleted or copied, behind; P: before", put},
    {'P', false, NULL, "", put},
    {'r', true, NULL, "puts X in the character's place", replace},
    {'~', false, NULL, "exchanges small and capital letters", swap_case},
    {'J', false, NULL, "joins the next line to this one", join},
    {'u', false, NULL, "undoes; C-r does again", undo},
    {'.', false, NULL, "repeats the last change", again},
    {'v', false, NULL, "selects; V: whole lines; then d c y ~ u U < > J or an object", select_from_here},
    {'V', false, NULL, "", select_from_here},
    {'/', false, NULL, "searches earlier cells", search},
};

/* ---- reading commands ---- */

static int read_count(const int32_t *typed, int n, int *at)
{
    int count = 0;
    while (*at < n && typed[*at] >= (count ? '0' : '1') && typed[*at] <= '9' && count <= MOST)
        count = count * 10 + (int)(typed[(*at)++] - '0');
    return count > MOST ? MOST : count;
}

/* The motion at typed[*at]. */
static enum parsed read_motion(const int32_t *typed, int n, int at, struct sh_vi_command *c)
{
    for (const struct sh_vi_motion *m = sh_vi_motions; m->key; m++) {
        if (m->key != typed[at]) continue;
        int more = at + 1 + (m->second || m->takes);
        if (n < more) return UNFINISHED;
        if (m->second && typed[at + 1] != m->second) return NONSENSE;
        c->motion = m;
        c->character = m->takes ? typed[at + 1] : 0;
        return COMPLETE;
    }
    return NONSENSE;
}

static const struct letter *find_letter(int32_t key)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].key == key) return &letters[i];
    return NULL;
}

static enum parsed parse(const struct sh_vi *vi, struct sh_vi_command *c)
{
    const int32_t *typed = vi->typed;
    int at = 0, n = vi->count;
    bool visual = vi->mode >= SH_VI_VISUAL;
    *c = (struct sh_vi_command){.count = read_count(typed, n, &at)};
    if (at == n) return UNFINISHED;
    c->key = typed[at];
    bool operates = c->key < 128 && strchr("dcy<>", (int)c->key);
    if (operates && !visual) {
        c->op = c->key;
        at++;
        int second = read_count(typed, n, &at);
        if (at == n) return UNFINISHED;
        if (second) c->count = (c->count ? c->count : 1) * second < MOST ? (c->count ? c->count : 1) * second : MOST;
        c->key = typed[at];
        c->lines = c->key == c->op;
        if (c->lines) return COMPLETE;
    }
    if ((c->op || visual) && (c->key == 'i' || c->key == 'a')) {
        c->object = (char)c->key;
        if (at + 1 == n) return UNFINISHED;
        c->character = typed[at + 1];
        return COMPLETE;
    }
    if (visual && c->key < 128 && strchr("dcyxsXDY~uUJ<>op", (int)c->key)) return COMPLETE;
    enum parsed p = read_motion(typed, n, at, c);
    if (p != NONSENSE || c->op) return p;
    const struct letter *l = find_letter(c->key);
    if (!l) return NONSENSE;
    if (l->takes && at + 1 == n) return UNFINISHED;
    c->character = l->takes ? typed[at + 1] : 0;
    return COMPLETE;
}

static void run_visual(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t from, to;
    bool lines = e->vi.mode == SH_VI_LINES;
    if (c->object) {
        if (!sh_vi_object(e, c->object == 'a', c->character, &from, &to) || from == to) return;
        e->vi.anchor = from;
        e->cursor = sh_backward(e, to);
        return;
    }
    if (!sh_vi_selection(e, &from, &to)) return;
    int32_t key = c->key;
    if (key == 'o') {
        size_t anchor = e->vi.anchor;
        e->vi.anchor = e->cursor;
        e->cursor = anchor < e->text.length ? anchor : e->text.length;
        return;
    }
    e->vi.mode = SH_VI_NORMAL;
    if (key == 'x' || key == 'X' || key == 'D') key = 'd';
    if (key == 's') key = 'c';
    if (key == 'Y') key = 'y';
    if (key == 'J') {
        e->cursor = from;
        while (sh_line_end(e, e->cursor) < to && sh_line_end(e, e->cursor) < e->text.length) {
            size_t before = e->text.length;
            join(e, &(struct sh_vi_command){0});
            to -= before - e->text.length;
        }
    } else if (key == 'p') {
        struct sh_text t = {0};
        const struct sh_text *killed = sh_killed(e, 0);
        if (killed && sh_text_set(&t, killed->bytes, killed->length)) sh_edit(e, from, to, t.bytes, t.length);
        sh_text_free(&t);
    } else {
        sh_vi_operate(e, key, from, to, lines);
    }
}

static void run_motion(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t at = c->motion->find(e, c->count, c->character);
    bool up = c->key == 'k', down = c->key == 'j';
    if (at != SH_NOWHERE) {
        e->cursor = at;
        if (up || down) e->last = SH_DID_VERTICAL;
    } else if ((up || down) && e->vi.mode == SH_VI_NORMAL && c->count < 2) {
        unsigned long version = e->version;
        sh_recall(e, up ? -1 : 1, false);
        if (e->version != version) e->cursor = up ? sh_line_start(e, e->cursor) : 0;
        e->vi.no_repeat = true;
    }
}

static void run(struct sh_editor *e, const struct sh_vi_command *c)
{
    const struct letter *l = c->motion || c->op || c->object ? NULL : find_letter(c->key);
    bool visual = e->vi.mode >= SH_VI_VISUAL;
    if (visual && (c->key == 'v' || c->key == 'V')) {
        enum sh_vi_mode wanted = c->key == 'v' ? SH_VI_VISUAL : SH_VI_LINES;
        e->vi.mode = e->vi.mode == wanted ? SH_VI_NORMAL : wanted;
    } else if (c->motion && !c->op) {
        run_motion(e, c);
    } else if (visual) {
        run_visual(e, c);
    } else if (c->op) {
        sh_vi_run_operator(e, c);
    } else if (l && l->short_of) {
        struct sh_vi typed = {.typed = {l->short_of[0], l->short_of[1]}, .count = 2};
        struct sh_vi_command whole;
        parse(&typed, &whole);
        whole.count = c->count;
        sh_vi_run_operator(e, &whole);
    } else if (l) {
        l->run(e, c);
    }
}

/* ---- keys ---- */

/* In normal mode the cursor is on a character, not behind the last one of its line. */
static void settle(struct sh_editor *e)
{
    if (e->vi.mode == SH_VI_INSERT || e->cursor != sh_line_end(e, e->cursor)) return;
    if (e->cursor > sh_line_start(e, e->cursor)) e->cursor = sh_backward(e, e->cursor);
}

static void record(struct sh_editor *e, const struct sh_key *key)
{
    struct sh_vi *vi = &e->vi;
    if (vi->repeating) return;
    if (vi->key_count == vi->key_capacity) {
        size_t capacity = vi->key_capacity ? 2 * vi->key_capacity : 32;
        struct sh_key *more = realloc(vi->keys, capacity * sizeof *more);
        vi->no_repeat |= !more;
        if (!more) return;
        vi->keys = more;
        vi->key_capacity = capacity;
    }
    vi->keys[vi->key_count++] = *key;
}

/* A command has come to its end in normal mode: what . does from here on, if it changed the text. */
static void end_command(struct sh_editor *e)
{
    struct sh_vi *vi = &e->vi;
    if (vi->mode != SH_VI_NORMAL || vi->count || vi->repeating) return;
    if (e->version != vi->begun && !vi->no_repeat && vi->key_count) {
        struct sh_key *again = realloc(vi->again, vi->key_count * sizeof *again);
        if (again) {
            memcpy(again, vi->keys, vi->key_count * sizeof *again);
            vi->again = again;
            vi->again_count = vi->key_count;
        }
    }
    vi->key_count = 0;
    vi->no_repeat = false;
    vi->begun = e->version;
}

static bool is_plain(const struct sh_key *key)
{
    return key->kind == SH_KEY_TEXT && !key->ctrl && !key->alt && !key->pasted;
}

static void escape(struct sh_editor *e)
{
    if (e->vi.mode == SH_VI_INSERT && e->cursor > sh_line_start(e, e->cursor)) e->cursor = sh_backward(e, e->cursor);
    e->vi.mode = SH_VI_NORMAL;
    e->vi.count = 0;
    settle(e);
    end_command(e);
}

static void letter(struct sh_editor *e, int32_t c)
{
    struct sh_vi *vi = &e->vi;
    struct sh_vi_command command;
    vi->typed[vi->count++] = c;
    enum parsed p = parse(vi, &command);
    if (p == UNFINISHED && vi->count < (int)(sizeof vi->typed / sizeof *vi->typed)) return;
    vi->count = 0;
    if (p == COMPLETE) run(e, &command);
    settle(e);
    end_command(e);
}

bool sh_vi_key(struct sh_editor *e, const struct sh_key *key, enum sh_action *action)
{
    *action = SH_CONTINUE;
    bool escaped = key->kind == SH_KEY_ESCAPE || (key->kind == SH_KEY_TEXT && key->ctrl && key->c == '[');
    if (escaped) {
        record(e, key);
        escape(e);
        return true;
    }
    if (key->kind == SH_KEY_TEXT && key->alt && !key->ctrl) { /* Escape and a letter, given quickly */
        struct sh_key second = *key;
        second.alt = false;
        sh_vi_key(e, &(struct sh_key){.kind = SH_KEY_ESCAPE}, action);
        return sh_vi_key(e, &second, action);
    }
    record(e, key);
    if (e->vi.mode == SH_VI_INSERT) return false;
    if (is_plain(key)) {
        letter(e, key->c == ' ' ? 'l' : key->c);
    } else if (key->kind == SH_KEY_BACKSPACE) {
        letter(e, 'h');
    } else if (key->kind == SH_KEY_TEXT && key->ctrl && key->c == 'r') {
        sh_redo(e);
        settle(e);
        e->vi.no_repeat = true;
        end_command(e);
    } else {
        e->vi.count = 0;
        e->vi.key_count = 0;
        return false;
    }
    return true;
}

/* second: another letter of the key, X for one that is the user's, or 0 */
static void add_row(struct sh_text *out, int32_t key, int32_t second, const char *doc)
{
    char line[200];
    if (!*doc) return;
    int n = snprintf(line, sizeof line, "%-22s %-24s %s\n", "", (char[]){(char)key, (char)second, '\0'}, doc);
    sh_text_append(out, line, (size_t)n);
}

void sh_vi_keys_text(struct sh_text *out)
{
    static const char head[] =
        "\nvi's keys (shell.vi = true), after Escape: a count, d c y < or > with a motion or an object (iw aw i\" i( a{ ...), "
        "and\n\n";
    sh_text_append(out, head, sizeof head - 1);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        add_row(out, letters[i].key, letters[i].takes ? 'X' : 0, letters[i].doc);
    for (const struct sh_vi_motion *m = sh_vi_motions; m->key; m++)
        add_row(out, m->key, m->takes ? 'X' : m->second, m->doc);
}
