/* Markdown's inlines. The text becomes a list of pieces: nodes that are done, runs of *, _ and ~ that may open or close
 * an emphasis, and brackets that may open a link. When a link or the text is complete, runs inside are matched as
 * CommonMark's appendix describes it. */
#define _GNU_SOURCE /* memmem, stpcpy */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "repl/markdown_parts.h"

#define MAX_OPEN 64 /* brackets that wait for their other half; of more the outermost are text */

struct piece {
    struct sh_md_node *node; /* NULL for a run of marks */
    const char *marks;
    size_t count, length; /* of the marks that are left, that there were */
    bool opens, closes;
    struct piece *before, *after;
};

struct bracket {
    struct piece *piece; /* the text "[" or "![" */
    const char *inside;
    bool image, off; /* off: a link, and there are no links in links */
};

struct inlines {
    struct sh_md_parser *p;
    const char *s, *at, *end;
    struct piece *first, *last;
    struct bracket open[MAX_OPEN];
    size_t open_count;
    const char *no_ticks[MAX_OPEN]; /* by length: behind here no run of so many backticks comes */
};

static struct piece *add_piece(struct inlines *x, struct sh_md_node *node)
{
    struct piece *piece = sh_md_alloc(x->p, sizeof *piece);
    if (!piece) return NULL;
    piece->node = node;
    piece->before = x->last;
    if (x->last)
        x->last->after = piece;
    else
        x->first = piece;
    return x->last = piece;
}

/* A node that holds a text; NULL when memory is lacking. */
static struct piece *add_node(struct inlines *x, enum sh_md_kind kind, const char *text, size_t length)
{
    struct sh_md_node *node = sh_md_add(x->p, NULL, kind);
    if (!node) return NULL;
    node->text = sh_md_copy(x->p, text, length);
    node->length = length;
    return x->p->failed ? NULL : add_piece(x, node);
}

/* ---- entities and escapes */

/* The character that an entity at s stands for, as UTF-8 in out[8]; returns its bytes in the text, 0 for none. */
static size_t character_of(const char *s, size_t length, char *out)
{
    static const char *const names[][2] = {
        {"amp", "&"},    {"lt", "<"},     {"gt", ">"},     {"quot", "\""}, {"apos", "'"},  {"nbsp", "\u00a0"},
        {"copy", "©"},   {"reg", "®"},    {"hellip", "…"}, {"mdash", "—"}, {"ndash", "–"}, {"times", "×"},
        {"deg", "°"},    {"plusmn", "±"}, {"middot", "·"}, {"larr", "←"},  {"rarr", "→"},  {"le", "≤"},
        {"ge", "≥"},     {"ne", "≠"},     {"micro", "µ"},  {"bull", "•"},  {"trade", "™"}, {"laquo", "«"},
        {"raquo", "»"},  {"alpha", "α"},  {"beta", "β"},   {"gamma", "γ"}, {"delta", "δ"}, {"pi", "π"},
        {"lambda", "λ"}, {"mu", "μ"},     {"sigma", "σ"},  {"omega", "ω"}, {"infin", "∞"}, {"sum", "∑"},
    };
    size_t n = 1;
    if (length > 40) length = 40;
    while (n < length && s[n] != ';') n++;
    if (n >= length || n < 3 || *s != '&') return 0;
    if (s[1] == '#') {
        bool hex = s[2] == 'x' || s[2] == 'X';
        int32_t c = 0;
        for (size_t i = hex ? 3 : 2; i < n; i++) {
            if (!(hex ? isxdigit((unsigned char)s[i]) : isdigit((unsigned char)s[i]))) return 0;
            int digit = isdigit((unsigned char)s[i]) ? s[i] - '0' : tolower((unsigned char)s[i]) - 'a' + 10;
            if (c < 0x110000) c = c * (hex ? 16 : 10) + digit;
        }
        if (c <= 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
        out[sh_encode(c, out)] = '\0';
        return n + 1;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i][0]) != n - 1 || memcmp(names[i][0], s + 1, n - 1) != 0) continue;
        strcpy(out, names[i][1]);
        return n + 1;
    }
    return 0;
}

const char *sh_md_unescaped(struct sh_md_parser *p, const char *text, size_t length)
{
    char *copy = sh_md_alloc(p, length + 1), *to = copy, entity[8];
    if (!copy) return "";
    for (size_t i = 0; i < length;) {
        size_t n = text[i] == '&' ? character_of(text + i, length - i, entity) : 0;
        if (n) { /* no entity is shorter than what it stands for */
            to = stpcpy(to, entity);
            i += n;
            continue;
        }
        if (text[i] == '\\' && i + 1 < length && ispunct((unsigned char)text[i + 1])) i++;
        *to++ = text[i++];
    }
    return copy;
}

/* ---- emphasis */

static bool is_blank_at(const struct inlines *x, const char *at)
{
    return at < x->s || at >= x->end || isspace((unsigned char)*at);
}

static bool is_mark_at(const struct inlines *x, const char *at)
{
    return at >= x->s && at < x->end && ispunct((unsigned char)*at);
}

static void read_marks(struct inlines *x)
{
    const char *start = x->at, mark = *start;
    while (x->at < x->end && *x->at == mark) x->at++;
    bool blank_before = is_blank_at(x, start - 1), blank_after = is_blank_at(x, x->at);
    bool mark_before = is_mark_at(x, start - 1), mark_after = is_mark_at(x, x->at);
    bool left = !blank_after && (!mark_after || blank_before || mark_before);
    bool right = !blank_before && (!mark_before || blank_after || mark_after);
    size_t count = (size_t)(x->at - start);
    if (mark == '~' && count != 2) {
        add_node(x, SH_MD_TEXT, start, count);
        return;
    }
    struct piece *piece = add_piece(x, NULL);
    if (!piece) return;
    piece->marks = start;
    piece->count = piece->length = count;
    piece->opens = left && (mark != '_' || !right || mark_before);
    piece->closes = right && (mark != '_' || !left || mark_after);
}

/* Marks that matched nothing are text. */
static struct sh_md_node *finished(struct sh_md_parser *p, const struct piece *piece)
{
    if (piece->node || !piece->count) return piece->node;
    struct sh_md_node *node = sh_md_add(p, NULL, SH_MD_TEXT);
    if (!node) return NULL;
    node->text = sh_md_copy(p, piece->marks, piece->count);
    node->length = piece->count;
    return node;
}

/* Makes the pieces from `from` to before `to` the parent's children. */
static void adopt(struct sh_md_parser *p, struct sh_md_node *parent, struct piece *from, const struct piece *to)
{
    for (; from && from != to; from = from->after) {
        struct sh_md_node *node = finished(p, from);
        if (!node) continue;
        if (parent->last)
            parent->last->next = node;
        else
            parent->first = node;
        parent->last = node;
    }
}

static bool matches(const struct piece *opener, const struct piece *closer)
{
    if (opener->node || !opener->opens || !opener->count || *opener->marks != *closer->marks) return false;
    bool either = opener->closes || closer->opens;
    return !either || (opener->length + closer->length) % 3 || (opener->length % 3 == 0 && closer->length % 3 == 0);
}

/* Puts what stands between the two into a node, which takes their innermost marks. */
static void join(struct inlines *x, struct piece *opener, struct piece *closer)
{
    size_t used = opener->count >= 2 && closer->count >= 2 ? 2 : 1;
    enum sh_md_kind kind = *opener->marks == '~' ? SH_MD_STRIKE : used == 2 ? SH_MD_STRONG : SH_MD_EMPHASIS;
    struct sh_md_node *node = sh_md_add(x->p, NULL, kind);
    struct piece *piece = sh_md_alloc(x->p, sizeof *piece);
    if (!node || !piece) return;
    adopt(x->p, node, opener->after, closer);
    piece->node = node;
    piece->before = opener;
    piece->after = closer;
    opener->after = closer->before = piece;
    opener->count -= used;
    closer->count -= used;
}

/* Where the search for an opener ends: what was searched in vain for one kind of closer is not searched again. */
static const struct piece **floor_of(const struct piece *floors[3][2][3], const struct piece *closer)
{
    size_t mark = *closer->marks == '*' ? 0 : *closer->marks == '_' ? 1 : 2;
    return &floors[mark][closer->opens][closer->length % 3];
}

/* Matches the runs behind `bottom`, or all of them where that is NULL. */
static void match_marks(struct inlines *x, struct piece *bottom)
{
    const struct piece *floors[3][2][3];
    for (size_t i = 0; i < 18; i++) floors[i / 6][i / 3 % 2][i % 3] = bottom;
    struct piece *closer = bottom ? bottom->after : x->first;
    while (closer && !x->p->failed) {
        if (closer->node || !closer->closes || !closer->count) {
            closer = closer->after;
            continue;
        }
        const struct piece **floor = floor_of(floors, closer);
        struct piece *opener = closer->before;
        while (opener && opener != bottom && opener != *floor && !matches(opener, closer)) opener = opener->before;
        if (opener && opener != bottom && opener != *floor) {
            join(x, opener, closer);
        } else {
            *floor = closer->before;
            closer = closer->after;
        }
    }
}

/* ---- links */

size_t sh_md_destination(struct sh_md_parser *p, const char *s, size_t length, bool parentheses, const char **address,
                         const char **title)
{
    size_t i = 0, start, depth = 0;
    if (parentheses && (!length || s[i++] != '(')) return 0;
    while (i < length && isspace((unsigned char)s[i])) i++;
    bool angled = i < length && s[i] == '<';
    for (start = i += angled; i < length; i++) {
        if (angled ? s[i] == '>' || s[i] == '\n' : isspace((unsigned char)s[i])) break;
        if (s[i] == '\\' && i + 1 < length && ispunct((unsigned char)s[i + 1]))
            i++;
        else if (!angled && s[i] == '(')
            depth++;
        else if (!angled && s[i] == ')' && depth-- == 0)
            break;
    }
    if (angled && (i >= length || s[i] != '>')) return 0;
    if (i > length) i = length;
    *address = sh_md_unescaped(p, s + start, i - start);
    *title = "";
    i += angled;
    size_t behind = i;
    while (i < length && isspace((unsigned char)s[i])) i++;
    if (i > behind && i < length && strchr("\"'(", s[i])) {
        char close = s[i] == '(' ? ')' : s[i];
        for (start = ++i; i < length && s[i] != close; i++) i += s[i] == '\\';
        if (i >= length) return 0;
        *title = sh_md_unescaped(p, s + start, i - start);
        behind = ++i;
    }
    if (!parentheses) return behind;
    while (i < length && isspace((unsigned char)s[i])) i++;
    return i < length && s[i] == ')' ? i + 1 : 0;
}

static const struct sh_md_reference *find_reference(const struct sh_md_parser *p, const char *label, size_t length)
{
    for (const struct sh_md_reference *r = p->references; r; r = r->next)
        if (strlen(r->label) == length && strncasecmp(r->label, label, length) == 0) return r;
    return NULL;
}

/* What follows the bracket that closes at x->at: an address or a label. Returns where it ends; NULL for no link. */
static const char *read_target(struct inlines *x, const struct bracket *b, struct sh_md_node *link)
{
    const char *behind = x->at + 1, *label = b->inside;
    size_t left = (size_t)(x->end - behind), length = (size_t)(x->at - label);
    size_t n = sh_md_destination(x->p, behind, left, true, &link->info, &link->title);
    if (n) return behind + n;
    if (left >= 2 && *behind == '[') {
        const char *close = memchr(behind, ']', left);
        if (close && close > behind + 1) {
            label = behind + 1;
            length = (size_t)(close - label);
        }
        if (close) behind = close + 1;
    }
    const struct sh_md_reference *r = find_reference(x->p, label, length);
    if (!r) return NULL;
    link->info = r->address;
    link->title = r->title;
    return behind;
}

static void open_bracket(struct inlines *x, bool image)
{
    struct piece *piece = add_node(x, SH_MD_TEXT, x->at, image ? 2 : 1);
    x->at += image ? 2 : 1;
    if (!piece) return;
    if (x->open_count == MAX_OPEN) memmove(x->open, x->open + 1, --x->open_count * sizeof *x->open);
    x->open[x->open_count++] = (struct bracket){piece, x->at, image, false};
}

static void close_bracket(struct inlines *x)
{
    struct bracket b = x->open_count ? x->open[--x->open_count] : (struct bracket){.off = true};
    struct sh_md_node *link = b.off ? NULL : sh_md_add(x->p, NULL, b.image ? SH_MD_IMAGE : SH_MD_LINK);
    const char *behind = link ? read_target(x, &b, link) : NULL;
    if (!behind) {
        add_node(x, SH_MD_TEXT, "]", 1);
        x->at++;
        return;
    }
    match_marks(x, b.piece);
    adopt(x->p, link, b.piece->after, NULL);
    b.piece->node = link; /* in the bracket's place */
    b.piece->after = NULL;
    x->last = b.piece;
    x->at = behind;
    for (size_t i = 0; i < x->open_count && !b.image; i++)
        if (!x->open[i].image) x->open[i].off = true;
}

static void add_link(struct inlines *x, const char *scheme, const char *text, size_t length)
{
    struct piece *piece = add_node(x, SH_MD_LINK, "", 0);
    struct sh_text address = {0};
    if (!piece) return;
    if (!sh_text_append(&address, scheme, strlen(scheme)) || !sh_text_append(&address, text, length))
        x->p->failed = true;
    else
        piece->node->info = sh_md_copy(x->p, address.bytes, address.length);
    sh_text_free(&address);
    struct sh_md_node *words = sh_md_add(x->p, piece->node, SH_MD_TEXT);
    if (!words) return;
    words->text = sh_md_copy(x->p, text, length);
    words->length = length;
}

/* An address that stands in the text as it is. */
static bool read_bare_address(struct inlines *x)
{
    size_t left = (size_t)(x->end - x->at), n = 0, open = 0;
    bool word = x->at > x->s && isalnum((unsigned char)x->at[-1]);
    if (word || left < 9 || (strncmp(x->at, "http://", 7) != 0 && strncmp(x->at, "https://", 8) != 0)) return false;
    while (n < left && !isspace((unsigned char)x->at[n]) && x->at[n] != '<') {
        if (x->at[n] == ')' && open-- == 0) break;
        open += x->at[n++] == '(';
    }
    while (n > 8 && strchr("?!.,:;*_~'\"]", x->at[n - 1])) n--;
    add_link(x, "", x->at, n);
    x->at += n;
    return true;
}

/* ---- tags */

/* The value of an attribute in a tag, or "". */
static const char *attribute(struct inlines *x, const char *tag, const char *end, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = tag; p + n + 1 < end; p++) {
        if (!isspace((unsigned char)*p) || strncasecmp(p + 1, name, n) != 0 || p[n + 1] != '=') continue;
        const char *value = p + n + 2, *stop;
        char quote = value < end && (*value == '"' || *value == '\'') ? *value++ : 0;
        for (stop = value; stop < end && (quote ? *stop != quote : !isspace((unsigned char)*stop)); stop++) {
        }
        return sh_md_unescaped(x->p, value, (size_t)(stop - value));
    }
    return "";
}

static bool is_tag(const char *tag, size_t length, const char *name)
{
    size_t n = strlen(name);
    return length > n + 1 && strncasecmp(tag + 1, name, n) == 0 && strchr(" />\t\n", tag[n + 1]);
}

static bool read_tag(struct inlines *x)
{
    size_t left = (size_t)(x->end - x->at);
    const char *close = memchr(x->at, '>', left), *name = x->at + 1;
    if (left >= 4 && memcmp(x->at, "<!--", 4) == 0) {
        const char *stop = memmem(x->at, left, "-->", 3);
        if (stop) x->at = stop + 3;
        return stop;
    }
    if (!close || close < name + 1) return false;
    size_t length = (size_t)(close - x->at) + 1, n = 0;
    while (name + n < close && (isalnum((unsigned char)name[n]) || strchr("+.-", name[n]))) n++;
    bool address = n >= 2 && name[n] == ':', mail = memchr(name, '@', length - 2);
    if ((address || mail) && !memchr(name, ' ', length - 2) && !memchr(name, '\n', length - 2)) {
        add_link(x, address ? "" : "mailto:", name, length - 2);
    } else if (!isalpha((unsigned char)*name) && (*name != '/' || !isalpha((unsigned char)name[1]))) {
        return false;
    } else if (is_tag(x->at, length, "br")) {
        add_node(x, SH_MD_BREAK, "", 0);
    } else if (is_tag(x->at, length, "img")) {
        const char *alt = attribute(x, x->at, close, "alt");
        struct piece *image = add_node(x, SH_MD_IMAGE, "", 0);
        if (!image) return true;
        image->node->info = attribute(x, x->at, close, "src");
        struct sh_md_node *words = sh_md_add(x->p, image->node, SH_MD_TEXT);
        if (words) words->text = alt, words->length = strlen(alt);
    } else {
        add_node(x, SH_MD_TAG, x->at, length);
    }
    x->at = close + 1;
    return true;
}

/* ---- code, formulas, and the rest */

static bool read_code_span(struct inlines *x)
{
    const char *start = x->at;
    while (start < x->end && *start == '`') start++;
    size_t ticks = (size_t)(start - x->at);
    const char **missing = &x->no_ticks[ticks < MAX_OPEN ? ticks : 0];
    for (const char *p = *missing && *missing <= x->at ? x->end : start; p < x->end;) {
        size_t n = 0;
        while (p + n < x->end && p[n] == '`') n++;
        if (n != ticks) {
            p += n ? n : 1;
            continue;
        }
        size_t length = (size_t)(p - start);
        bool padded = length > 2 && *start == ' ' && p[-1] == ' ' && strspn(start, " ") < length;
        struct piece *piece = add_node(x, SH_MD_CODE_SPAN, start + padded, length - 2 * padded);
        if (piece) /* its newlines are blanks */
            for (char *c = (char *)(size_t)piece->node->text; *c; c++)
                if (*c == '\n') *c = ' ';
        x->at = p + ticks;
        return true;
    }
    if (ticks < MAX_OPEN && !*missing) *missing = x->at;
    add_node(x, SH_MD_TEXT, x->at, ticks);
    x->at = start;
    return true;
}

static bool add_math(struct inlines *x, const char *from, const char *to, const char *behind, bool block)
{
    struct piece *piece = add_node(x, SH_MD_MATH, from, (size_t)(to - from));
    if (piece) piece->node->block = block;
    x->at = behind;
    return true;
}

/* $x$ and $$x$$; a dollar before a blank or a figure after the last one are money. */
static bool read_math(struct inlines *x)
{
    size_t left = (size_t)(x->end - x->at);
    if (left > 4 && x->at[1] == '$') {
        const char *stop = memmem(x->at + 2, left - 2, "$$", 2);
        return stop && stop > x->at + 2 && add_math(x, x->at + 2, stop, stop + 2, true);
    }
    if (left < 3 || isspace((unsigned char)x->at[1])) return false;
    for (const char *p = x->at + 1; p < x->end; p++) {
        if (*p == '\\') {
            p++;
        } else if (*p == '$') {
            bool money = isspace((unsigned char)p[-1]) || (p + 1 < x->end && isdigit((unsigned char)p[1]));
            return !money && p > x->at + 1 && add_math(x, x->at + 1, p, p + 1, false);
        }
    }
    return false;
}

/* \begin{align} ... \end{align} is a formula, too. */
static bool read_environment(struct inlines *x)
{
    size_t left = (size_t)(x->end - x->at);
    const char *close = left > 8 && memcmp(x->at, "\\begin{", 7) == 0 ? memchr(x->at, '}', left) : NULL;
    size_t n = close ? (size_t)(close - x->at) - 7 : 0;
    if (!n || n > 30) return false;
    for (const char *p = close; (p = memmem(p, (size_t)(x->end - p), "\\end{", 5)); p += 5)
        if ((size_t)(x->end - p) > n + 5 && memcmp(p + 5, x->at + 7, n + 1) == 0)
            return add_math(x, x->at, p + 6 + n, p + 6 + n, true);
    return false;
}

static bool read_escape(struct inlines *x)
{
    if (read_environment(x)) return true;
    if (x->at + 1 >= x->end) return false;
    if (x->at[1] == '\n')
        add_node(x, SH_MD_BREAK, "", 0);
    else if (ispunct((unsigned char)x->at[1]))
        add_node(x, SH_MD_TEXT, x->at + 1, 1);
    else
        return false;
    x->at += 2;
    return true;
}

/* Two blanks before it make a newline a break. */
static bool read_newline(struct inlines *x)
{
    struct sh_md_node *text = x->last ? x->last->node : NULL;
    size_t blanks = 0;
    if (text && text->kind == SH_MD_TEXT) {
        while (blanks < text->length && text->text[text->length - 1 - blanks] == ' ') blanks++;
        text->length -= blanks;
        ((char *)(size_t)text->text)[text->length] = '\0';
    }
    add_node(x, blanks >= 2 ? SH_MD_BREAK : SH_MD_SOFT_BREAK, "", 0);
    x->at++;
    return true;
}

static bool read_entity(struct inlines *x)
{
    char character[8];
    size_t n = character_of(x->at, (size_t)(x->end - x->at), character);
    if (n) add_node(x, SH_MD_TEXT, character, strlen(character));
    x->at += n;
    return n;
}

/* What the character at x->at begins; false when it is text. */
static bool read_special(struct inlines *x)
{
    switch (*x->at) {
    case '\\': return read_escape(x);
    case '`': return read_code_span(x);
    case '*':
    case '_':
    case '~': return read_marks(x), true;
    case '[': return open_bracket(x, false), true;
    case '!': return x->at + 1 < x->end && x->at[1] == '[' ? open_bracket(x, true), true : false;
    case ']': return close_bracket(x), true;
    case '<': return read_tag(x);
    case '&': return read_entity(x);
    case '$': return read_math(x);
    case 'h': return read_bare_address(x);
    case '\n': return read_newline(x);
    default: return false;
    }
}

void sh_md_inlines(struct sh_md_parser *p, struct sh_md_node *node, const char *text, size_t length)
{
    struct inlines x = {.p = p, .s = text, .at = text, .end = text + length};
    while (x.at < x.end && !p->failed) {
        if (read_special(&x)) continue;
        const char *start = x.at++;
        while (x.at < x.end && !strchr("\\`*_~[!]<&$h\n", *x.at)) x.at++;
        add_node(&x, SH_MD_TEXT, start, (size_t)(x.at - start));
    }
    match_marks(&x, NULL);
    adopt(p, node, x.first, NULL);
}
