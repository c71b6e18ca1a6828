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
    e->vi.insertions = 0;
    e->vi.reg = 0;
    e->vi.selected.mode = SH_VI_INSERT;
    memset(e->vi.marks, 0, sizeof e->vi.marks);
    e->vi.count = 0;
    e->vi.key_count = 0;
    e->vi.begun = e->version;
    e->vi.no_repeat = true; /* what is typed first is no command */
}

void sh_vi_free(struct sh_editor *e)
{
    free(e->vi.keys);
    free(e->vi.again);
    for (int i = 0; i < SH_VI_REGISTERS; i++) sh_text_free(&e->vi.registers[i]);
    sh_text_free(&e->vi.over);
    e->vi = (struct sh_vi){0};
}

/* ---- commands of one letter ---- */

static int times(const struct sh_vi_command *c)
{
    return c->count > 0 ? c->count : 1;
}

static void put(struct sh_editor *e, const struct sh_vi_command *c)
{
    sh_vi_put(e, times(c), c->key == 'p');
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
    sh_vi_join(e, times(c), c->key == 'g');
}

/* As deep as this one. The cursor goes there afterwards: undoing leads back to where it was. */
static void open_line(struct sh_editor *e, bool above)
{
    size_t start = sh_line_start(e, e->cursor), first = sh_vi_first(e, e->cursor), end = sh_line_end(e, e->cursor);
    struct sh_text line = {0};
    const char *bytes = e->text.bytes ? e->text.bytes : "";
    bool good = (above || sh_text_append(&line, "\n", 1)) && sh_text_append(&line, bytes + start, first - start) &&
                (!above || sh_text_append(&line, "\n", 1));
    if (good && sh_edit(e, above ? start : end, above ? start : end, line.bytes, line.length) && above)
        e->cursor = first;
    sh_text_free(&line);
}

static void insert_here(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t end = sh_line_end(e, e->cursor);
    switch (c->key) {
    case 'a': e->cursor = e->cursor < end ? sh_forward(e, e->cursor) : end; break;
    case 'A': e->cursor = end; break;
    case 'I': e->cursor = sh_vi_first(e, e->cursor); break;
    case 'o':
    case 'O': open_line(e, c->key == 'O'); break;
    default: break;
    }
    sh_vi_insert(e, c->key, times(c));
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
    sh_vi_insert(e, c->key, 1);
    sh_search_start(e);
}

static void mark(struct sh_editor *e, const struct sh_vi_command *c)
{
    if (c->character >= 'a' && c->character <= 'z') e->vi.marks[c->character - 'a'] = e->cursor + 1;
    e->vi.no_repeat = true;
}

static void select_again(struct sh_editor *e, const struct sh_vi_command *c)
{
    (void)c;
    sh_vi_select_again(e);
}

static void again(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t count = e->vi.again_count;
    if (e->vi.repeating || count == 0) return;
    struct sh_key *keys = malloc(count * sizeof *keys); /* what is repeated may be replaced meanwhile */
    if (!keys) return;
    memcpy(keys, e->vi.again, count * sizeof *keys);
    e->vi.repeating = true;
    e->vi.repeat_count = c->count;
    e->vi.count = 0;
    for (size_t i = 0; i < count; i++) sh_editor_key(e, &keys[i]);
    e->vi.repeating = false;
    e->vi.repeat_count = 0;
    free(keys);
}

static const struct letter {
    int32_t key, second;  /* second: behind g, or 0 */
    bool takes;           /* another character follows */
    const char *short_of; /* the operator and motion that it stands for, or NULL */
    const char *doc;
    void (*run)(struct sh_editor *e, const struct sh_vi_command *c);
} letters[] = {
    {'i', 0, false, NULL, "inserts before the character; a: behind it", insert_here},
    {'a', 0, false, NULL, "", insert_here},
    {'I', 0, false, NULL, "inserts before the line's first letter; A: at its end", insert_here},
    {'A', 0, false, NULL, "", insert_here},
    {'o', 0, false, NULL, "opens a line below; O: above", insert_here},
    {'O', 0, false, NULL, "", insert_here},
    {'x', 0, false, "dl", "deletes the character; X: the one before", NULL},
    {'X', 0, false, "dh", "", NULL},
    {'D', 0, false, "d$", "deletes to the end of the line; C: changes to there", NULL},
    {'C', 0, false, "c$", "", NULL},
    {'s', 0, false, "cl", "changes the character; S: the line", NULL},
    {'S', 0, false, "cc", "", NULL},
    {'Y', 0, false, "yy", "copies the line", NULL},
    {'p', 0, false, NULL, "puts in what was deleted or copied, behind; P: before", put},
    {'P', 0, false, NULL, "", put},
    {'r', 0, true, NULL, "puts X in the character's place", replace},
    {'~', 0, false, NULL, "exchanges small and capital letters", swap_case},
    {'R', 0, false, NULL, "types over what stands there", insert_here},
    {'J', 0, false, NULL, "joins the next line to this one; gJ: without a blank", join},
    {'g', 'J', false, NULL, "", join},
    {'u', 0, false, NULL, "undoes; C-r does again", undo},
    {'.', 0, false, NULL, "repeats the last change", again},
    {'v', 0, false, NULL, "selects; V: whole lines; then d c y ~ u U < > J or an object", select_from_here},
    {'V', 0, false, NULL, "", select_from_here},
    {'g', 'v', false, NULL, "selects what was selected last", select_again},
    {'m', 0, true, NULL, "marks the place; `X goes there, 'X to its line, `` back", mark},
    {'/', 0, false, NULL, "searches earlier cells", search},
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
        if (m->second && typed[at + 1] != m->second) continue;
        c->motion = m;
        c->character = m->takes ? typed[at + 1] : 0;
        return COMPLETE;
    }
    return NONSENSE;
}

static const struct letter *find_letter(int32_t key, int32_t second)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].key == key && (!letters[i].second || letters[i].second == second)) return &letters[i];
    return NULL;
}

static int product(int a, int b)
{
    if (!a || !b) return a ? a : b;
    return a * b < MOST ? a * b : MOST;
}

/* "a before a command: the register that it is about. */
static enum parsed read_register(const int32_t *typed, int n, int *at, struct sh_vi_command *c, int32_t *name)
{
    while (*at < n && typed[*at] == '"') {
        if (*at + 1 == n) return UNFINISHED;
        if (!sh_vi_is_register(typed[*at + 1])) return NONSENSE;
        *name = typed[*at + 1];
        *at += 2;
        c->count = product(c->count, read_count(typed, n, at));
    }
    return *at == n ? UNFINISHED : COMPLETE;
}

/* An operator: one letter, or ~ u U behind g. How many letters that is; 0 for none. */
static int read_operator(const int32_t *typed, int n, int at, int32_t *op)
{
    bool behind_g = typed[at] == 'g' && at + 1 < n && typed[at + 1] < 128 && strchr("~uU", (int)typed[at + 1]);
    if (!behind_g && !(typed[at] < 128 && strchr("dcy<>", (int)typed[at]))) return 0;
    *op = typed[at + behind_g];
    return 1 + behind_g;
}

static enum parsed parse(struct sh_vi *vi, struct sh_vi_command *c)
{
    const int32_t *typed = vi->typed;
    int at = 0, n = vi->count;
    bool visual = vi->mode >= SH_VI_VISUAL;
    *c = (struct sh_vi_command){.count = read_count(typed, n, &at)};
    vi->reg = 0;
    enum parsed p = read_register(typed, n, &at, c, &vi->reg);
    if (p != COMPLETE) return p;
    int letters_of_op = read_operator(typed, n, at, &c->op);
    c->key = typed[at];
    if (visual && letters_of_op) {
        c->key = c->op;
        c->op = 0;
        return COMPLETE;
    }
    if (letters_of_op) {
        at += letters_of_op;
        c->count = product(c->count, read_count(typed, n, &at));
        if (at == n) return UNFINISHED;
        c->key = typed[at];
        int32_t twice = 0;
        if (letters_of_op == 2 && c->key == 'g' && at + 1 == n) return UNFINISHED;
        c->lines = c->key == c->op || (read_operator(typed, n, at, &twice) == 2 && twice == c->op);
        if (c->lines) return COMPLETE;
    }
    if ((c->op || visual) && (c->key == 'i' || c->key == 'a')) {
        c->object = (char)c->key;
        if (at + 1 == n) return UNFINISHED;
        c->character = typed[at + 1];
        return COMPLETE;
    }
    if (visual && c->key == 'r') {
        c->character = at + 1 < n ? typed[at + 1] : 0;
        return c->character ? COMPLETE : UNFINISHED;
    }
    if (visual && c->key < 128 && strchr("xsRXDCSY~uUJopP", (int)c->key)) return COMPLETE;
    p = read_motion(typed, n, at, c);
    if (p != NONSENSE || c->op) return p;
    c->second = at + 1 < n ? typed[at + 1] : 0;
    const struct letter *l = find_letter(c->key, c->second);
    if (!l) return NONSENSE;
    if (l->takes && at + 1 == n) return UNFINISHED;
    c->character = l->takes ? typed[at + 1] : 0;
    return COMPLETE;
}

static void run_motion(struct sh_editor *e, const struct sh_vi_command *c)
{
    size_t at = c->motion->find(e, c->count, c->character);
    bool up = c->key == 'k', down = c->key == 'j';
    if (at != SH_NOWHERE) {
        if (strchr("G%{}()`'", (int)c->key) || (c->key == 'g' && c->motion->second == 'g'))
            e->vi.marks[SH_VI_MARKS - 1] = e->cursor + 1;
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
    const struct letter *l = c->motion || c->op || c->object ? NULL : find_letter(c->key, c->second);
    bool visual = e->vi.mode >= SH_VI_VISUAL;
    if (visual && (c->key == 'v' || c->key == 'V')) {
        enum sh_vi_mode wanted = c->key == 'v' ? SH_VI_VISUAL : SH_VI_LINES;
        if (e->vi.mode == wanted)
            sh_vi_leave_visual(e);
        else
            e->vi.mode = wanted;
    } else if (c->motion && !c->op) {
        run_motion(e, c);
    } else if (visual && l && (l->run == mark || l->run == select_again)) {
        l->run(e, c);
    } else if (visual) {
        sh_vi_run_visual(e, c);
    } else if (c->op) {
        sh_vi_run_operator(e, c);
    } else if (l && l->short_of) {
        struct sh_vi typed = {.typed = {l->short_of[0], l->short_of[1]}, .count = 2, .mode = SH_VI_NORMAL};
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
    if (e->vi.mode <= SH_VI_REPLACE || e->cursor != sh_line_end(e, e->cursor)) return;
    if (e->cursor > sh_line_start(e, e->cursor)) e->cursor = sh_backward(e, e->cursor);
}

static void record(struct sh_editor *e, const struct sh_key *key)
{
    struct sh_vi *vi = &e->vi;
    if (vi->repeating) return;
    if (vi->key_count == 0) vi->begun = e->version;
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
    bool typing = e->vi.mode <= SH_VI_REPLACE;
    if (typing) sh_vi_insert_end(e);
    if (typing && e->cursor > sh_line_start(e, e->cursor)) e->cursor = sh_backward(e, e->cursor);
    if (e->vi.mode >= SH_VI_VISUAL) sh_vi_leave_visual(e);
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
    if (vi->repeat_count) command.count = vi->repeat_count;
    vi->repeat_count = 0;
    if (p == COMPLETE) run(e, &command);
    settle(e);
    end_command(e);
}

/* Where the changes of the last step begin. */
static size_t step_start(const struct sh_undo *u)
{
    size_t i = u->done - 1, start = u->changes[i].at;
    for (; i > 0 && u->changes[i - 1].step == u->changes[i].step; i--)
        if (u->changes[i - 1].at < start) start = u->changes[i - 1].at; /* the text before that is as it was */
    return start;
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
    if (e->vi.mode == SH_VI_REPLACE) return sh_vi_replace_key(e, key);
    if (e->vi.mode == SH_VI_INSERT) return false;
    if (is_plain(key)) {
        letter(e, key->c == ' ' ? 'l' : key->c);
    } else if (key->kind == SH_KEY_BACKSPACE) {
        letter(e, 'h');
    } else if (key->kind == SH_KEY_TEXT && key->ctrl && key->c == 'r') {
        int n = 0, count = read_count(e->vi.typed, e->vi.count, &n);
        for (int i = 0; i < (count ? count : 1) && sh_redo(e); i++) e->cursor = step_start(&e->undo);
        e->vi.count = 0;
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

bool sh_vi_waits(const struct sh_editor *e, int *count)
{
    int at = 0;
    if (!e->use_vi || e->vi.mode < SH_VI_NORMAL || e->vi.repeating) return false;
    *count = read_count(e->vi.typed, e->vi.count, &at);
    return at == e->vi.count;
}

void sh_vi_give(struct sh_editor *e, const char *keys)
{
    enum sh_action action;
    e->vi.mapped = true;
    for (; *keys; keys++) {
        struct sh_key key = {.kind = SH_KEY_TEXT, .c = (unsigned char)*keys};
        if (!sh_vi_key(e, &key, &action)) sh_type(e, &key);
    }
    e->vi.mapped = false;
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
        "\nvi's keys (shell.vi = true), after Escape: \"x for register x, a count, d c y < > gu gU or g~ with a motion or an "
        "object (iw aw i\" i( a{ is ip ...), and\n\n";
    sh_text_append(out, head, sizeof head - 1);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        add_row(out, letters[i].key, letters[i].takes ? 'X' : letters[i].second, letters[i].doc);
    for (const struct sh_vi_motion *m = sh_vi_motions; m->key; m++)
        add_row(out, m->key, m->takes ? 'X' : m->second, m->doc);
}
