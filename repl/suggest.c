/* What the editor shows without being asked: the rest of an earlier cell that begins like this one, and how the
 * function is called whose arguments are being written. */
#include <stdlib.h>
#include <string.h>
#include "lang/lexer.h"
#include "repl/editing.h"

enum {
    RECENT = 5000, /* entries that are looked through for a suggestion */
    FAR = 50,      /* lines that a call may go on for */
    NESTED = 64,   /* brackets that are kept track of */
};

/* The newest entry that begins with the text. */
static const char *find_ghost(const struct sh_editor *e)
{
    size_t count = sh_entries(e), last = count > RECENT ? count - RECENT : 0;
    for (size_t i = count; i-- > last;) {
        const char *code = sh_entry(e, i);
        if (code && strncmp(code, e->text.bytes, e->text.length) == 0 && code[e->text.length]) return code;
    }
    return NULL;
}

const char *sh_ghost(struct sh_editor *e)
{
    if (e->use_vi && e->vi.mode != SH_VI_INSERT) return NULL;
    bool wanted = !e->no_ghost && e->text.length && e->cursor == e->text.length && !e->searching && !e->menu.count;
    if (!wanted || e->recalled == e->version || strlen(e->text.bytes) != e->text.length) return NULL;
    if (e->ghosted != e->version) {
        const char *code = strspn(e->text.bytes, " \t\n") < e->text.length ? find_ghost(e) : NULL;
        e->ghost.length = 0;
        if (code) sh_text_set(&e->ghost, code + e->text.length, strlen(code + e->text.length));
        e->ghosted = e->version;
    }
    return e->ghost.length ? e->ghost.bytes : NULL;
}

bool sh_take_ghost(struct sh_editor *e, bool word)
{
    size_t from = e->cursor;
    if (!sh_ghost(e) || !sh_insert(e, e->ghost.bytes, e->ghost.length)) return false;
    size_t to = word ? sh_word_forward(e, from) : e->text.length;
    sh_erase(e, to, e->text.length);
    return true;
}

/* A bracket that is open at the cursor. */
struct bracket {
    size_t at;
    char sort;
    int commas; /* behind it, outside of further brackets */
};

/* The innermost bracket that is open at the cursor, if it is that of a call: not when a body of code begins in between,
 * nor inside a string or a comment. */
static bool find_call(const struct sh_editor *e, size_t begin, struct bracket *call)
{
    struct bracket open[NESTED];
    struct lg_lexer x;
    struct lg_token t;
    int depth = 0;
    lg_lexer_init(&x, e->text.bytes, e->text.length);
    x.at = begin;
    while (lg_lexer_next(&x, &t) && t.start < e->cursor) {
        bool open_ended = t.unfinished || (t.kind == LG_TOKEN_COMMENT && !t.is_long);
        bool inside = t.end > e->cursor || (open_ended && t.end == e->cursor);
        if (inside && (t.kind == LG_TOKEN_COMMENT || t.is_long)) return false;
        int bracket = lg_token_bracket(&x, &t);
        if (t.first && strchr("%!?", e->text.bytes[t.start])) lg_lexer_skip_line(&x);
        if (lg_token_block(&t)) depth = 0;
        if (bracket > 0 && depth < NESTED) open[depth++] = (struct bracket){t.start, e->text.bytes[t.start], 0};
        if (bracket < 0 && depth > 0) depth--;
        if (depth && lg_token_is(&x, &t, ",")) open[depth - 1].commas++;
    }
    if (depth == 0 || open[depth - 1].sort != '(') return false;
    *call = open[depth - 1];
    return true;
}

const char *sh_form(const char *signature, bool method, size_t *length)
{
    const char *found = NULL, *end = signature + strcspn(signature, "\n");
    for (const char *form = signature, *gap; form < end; form = gap + strspn(gap, " ")) {
        gap = strstr(form, "   ");
        if (!gap || gap > end) gap = end;
        const char *paren = memchr(form, '(', (size_t)(gap - form));
        bool fits = paren && method == (memchr(form, ':', (size_t)(paren - form)) != NULL);
        if (!paren || (found && !fits)) continue;
        found = form;
        *length = (size_t)(gap - form);
        if (fits) break;
    }
    if (!found) *length = (size_t)(end - signature);
    return found ? found : signature;
}

/* How the function is called whose parenthesis that is, in e->signature. */
static void ask(struct sh_editor *e, size_t begin, size_t paren)
{
    size_t name = paren, length;
    e->signature.length = 0;
    char *known = e->host->inspect(e->host->context, e->text.bytes + begin, paren + 1 - begin, paren + 1 - begin);
    if (!known) return;
    while (name > 0 && sh_is_word(e, name - 1)) name--;
    const char *form = sh_form(known, name > 0 && e->text.bytes[name - 1] == ':', &length);
    if (memchr(form, '(', length)) sh_text_set(&e->signature, form, length);
    free(known);
}

/* The parameter number `n`, from 0, of a signature such as "f(a [, b] [, ...])"; the last one when it takes any number.
 */
static bool find_parameter(const char *signature, int n, size_t *from, size_t *to)
{
    const char *p = strchr(signature, '(') + 1, *begin = p;
    for (int depth = 0; *p; p++) {
        bool ends = depth == 0 && (*p == ',' || *p == ')');
        depth += (*p == '(' || *p == '{') - (*p == ')' || *p == '}');
        if (!ends) continue;
        const char *end = p;
        while (begin < end && strchr(" []", *begin)) begin++;
        while (begin < end && strchr(" []", end[-1])) end--;
        bool many = *p == ')' && end - begin >= 3 && memcmp(end - 3, "...", 3) == 0;
        *from = (size_t)(begin - signature);
        *to = (size_t)(end - signature);
        if (n-- == 0 || many) return end > begin;
        if (*p == ')') return false;
        begin = p + 1;
    }
    return false;
}

const char *sh_signature(struct sh_editor *e, size_t *from, size_t *to)
{
    struct bracket call;
    *from = *to = 0;
    if (!e->host->inspect || e->text.length == 0) return NULL;
    size_t begin = e->cursor;
    for (int i = 0; i < FAR && begin > 0; i++) begin = sh_line_start(e, begin - 1);
    begin = sh_fresh_line(e, begin);
    if (!find_call(e, begin, &call)) return NULL;
    if (e->signed_for != e->version || e->signed_at != call.at) ask(e, begin, call.at);
    e->signed_for = e->version;
    e->signed_at = call.at;
    if (e->signature.length == 0) return NULL;
    if (!find_parameter(e->signature.bytes, call.commas, from, to)) *from = *to = 0;
    return e->signature.bytes;
}
