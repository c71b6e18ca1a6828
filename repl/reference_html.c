/* The pages of the reference. */
#include "repl/reference.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/lang.h"
#include "lang/magic.h"
#include "repl/html.h"

struct entry {
    const char *name; /* as users write it: "gpu.sum", "shell.prompt", "%time", "print" */
    const char *page; /* the first bytes of page_length are the page's name */
    size_t page_length;
    const char *signature, *doc, *example; /* the last may be NULL */
};

struct pages {
    const char *folder;
    char *why;
    const struct entry *entries; /* in the order of pages, then of names */
    size_t count;
    struct lg_buffer page, contents, index; /* contents: links to the pages; index: to what is on them */
    bool ok;
};

/* What the pages are about, in the order of the list; others follow. */
static const char *const titles[][2] = {
    {"gpu", "The module gpu"},
    {"gpu.random", "gpu.random"},
    {"gpu.linalg", "gpu.linalg"},
    {"gpu.fft", "gpu.fft"},
    {"gpu.sparse", "gpu.sparse"},
    {"array", "Arrays"},
    {"sparse", "Sparse arrays"},
    {"kernel", "Kernels"},
    {"texture", "Textures"},
    {"stream", "Streams"},
    {"event", "Events"},
    {"graph", "Graphs"},
    {"topic", "Subjects"},
    {"magic", "Commands in cells"},
    {"session", "In a session"},
    {"display", "What cells show"},
    {"displayed", "What is shown already"},
    {"comm", "Messages to a notebook's page"},
    {"comm.comm", "One channel of messages"},
    {"shell", "Settings of the shell"},
    {"lua", "Lua: the language's functions"},
    {"string", "Lua: string"},
    {"table", "Lua: table"},
    {"math", "Lua: math"},
    {"utf8", "Lua: utf8"},
    {"io", "Lua: io"},
    {"file", "Lua: files"},
    {"os", "Lua: os"},
    {"coroutine", "Lua: coroutine"},
    {"debug", "Lua: debug"},
    {"package", "Lua: package"},
};

/* ---- what there is */

/* "gpu.random.normal" is on the page gpu.random; what has no dot is on one of its own. */
static void set_page(struct entry *e, const char *alone)
{
    const char *dot = strrchr(e->name, '.');
    e->page = dot ? e->name : alone;
    e->page_length = dot ? (size_t)(dot - e->name) : strlen(alone);
}

static struct entry entry_of_row(const char *name, const struct lg_function *row, const char *alone)
{
    struct entry e = {.name = name, .signature = row->signature, .doc = row->doc, .example = row->example};
    set_page(&e, alone);
    return e;
}

/* The scopes "session" and "topic" are not part of what users write. */
static struct entry entry_of_recorded(const char *name, const struct lg_function *row)
{
    static const char *const unwritten[] = {"session", "topic"};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(unwritten[i]);
        if (strncmp(name, unwritten[i], n) == 0 && name[n] == '.') return entry_of_row(name + n + 1, row, unwritten[i]);
    }
    return entry_of_row(name, row, "lua");
}

static struct entry entry_of_magic(const struct lg_magic *m)
{
    struct entry e = {.name = m->usage, .page = "magic", .page_length = 5, .signature = m->usage, .doc = m->doc};
    return e;
}

static size_t place_of(const struct entry *e)
{
    size_t i = 0, n = sizeof titles / sizeof *titles;
    while (i < n && (strlen(titles[i][0]) != e->page_length || memcmp(titles[i][0], e->page, e->page_length) != 0)) i++;
    return i;
}

static bool same_page(const struct entry *a, const struct entry *b)
{
    return a->page_length == b->page_length && memcmp(a->page, b->page, a->page_length) == 0;
}

static int compare(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    size_t i = place_of(a), j = place_of(b), n = a->page_length, m = b->page_length;
    if (i != j) return i < j ? -1 : 1;
    int order = memcmp(a->page, b->page, n < m ? n : m);
    if (order == 0 && n != m) order = n < m ? -1 : 1;
    return order ? order : strcmp(a->name, b->name);
}

/* Pushes what keeps the names, and the entries. */
static const struct entry *push_entries(lua_State *L, size_t *count)
{
    size_t n = 0, room = 1;
    lg_push_doc_names(L);
    size_t recorded = lua_rawlen(L, -1);
    room += recorded;
    for (const struct lg_function *row = lg_stdlib; row->name; row++) room++;
    for (const struct lg_magic *m = lg_magics; m->name; m++) room++;
    struct entry *entries = lua_newuserdatauv(L, room * sizeof *entries, 0);
    for (size_t i = 0; i < recorded; i++) {
        lua_rawgeti(L, -2, (lua_Integer)i + 1);
        const char *name = lua_tostring(L, -1);
        const struct lg_function *row = lg_doc_by_name(L, name);
        if (row) entries[n++] = entry_of_recorded(name, row);
        lua_pop(L, 1); /* the list keeps it */
    }
    for (const struct lg_function *row = lg_stdlib; row->name; row++)
        entries[n++] = entry_of_row(row->name, row, "lua");
    for (const struct lg_magic *m = lg_magics; m->name; m++) entries[n++] = entry_of_magic(m);
    qsort(entries, n, sizeof *entries, compare);
    *count = n;
    return entries;
}

/* ---- pieces */

static void put(struct lg_buffer *b, const char *text, size_t length)
{
    sh_html_attribute(b, text, length);
}

/* What an entry is called as the place of a link: without blanks and percent signs. */
static void put_place(struct lg_buffer *b, const struct entry *e)
{
    bool magic = !isalpha((unsigned char)*e->name);
    if (magic) lg_buffer_puts(b, "magic.");
    for (const char *c = e->name; *c && *c != ' '; c++)
        if (isalnum((unsigned char)*c) || *c == '_' || *c == '.') put(b, c, 1);
}

static void put_address(struct lg_buffer *b, const struct entry *e)
{
    lg_buffer_puts(b, "<a href=\"");
    put(b, e->page, e->page_length);
    lg_buffer_puts(b, ".html#");
    put_place(b, e);
    lg_buffer_puts(b, "\">");
}

static const struct entry *find(const struct pages *p, const char *word, size_t length)
{
    for (size_t i = 0; i < p->count; i++) {
        const char *name = p->entries[i].name;
        if (strncmp(name, word, length) == 0 && !name[length]) return &p->entries[i];
    }
    return NULL;
}

/* Text in which names of other entries ("gpu.sum", "shell.keys") are links to them. */
static void put_text(struct pages *p, const char *text, size_t length, const struct entry *here)
{
    struct lg_buffer *b = &p->page;
    size_t start = 0;
    for (size_t i = 0, end; i < length; i = end) {
        end = i + 1;
        if (!isalpha((unsigned char)text[i])) continue;
        bool dotted = false;
        while (end < length && (isalnum((unsigned char)text[end]) || text[end] == '_' ||
                                (text[end] == '.' && end + 1 < length && isalpha((unsigned char)text[end + 1]))))
            dotted |= text[end++] == '.';
        const struct entry *other = dotted ? find(p, text + i, end - i) : NULL;
        if (!other || other == here) continue;
        put(b, text + start, i - start);
        put_address(b, other);
        put(b, text + i, end - i);
        lg_buffer_puts(b, "</a>");
        start = end;
    }
    put(b, text + start, length - start);
}

/* Whether a line of a doc begins a table, whose columns blanks make. */
static bool begins_table(const char *line)
{
    const char *wide = strstr(line, "  ");
    return wide && wide < line + strcspn(line, "\n");
}

/* Its lines are paragraphs, but for tables: lines of one length. */
static void put_doc(struct pages *p, const struct entry *e)
{
    for (const char *doc = e->doc ? e->doc : "", *end; *doc; doc = end + (*end == '\n')) {
        bool table = begins_table(doc);
        size_t n = strcspn(doc, "\n");
        end = doc + n;
        while (table && *end && strcspn(end + 1, "\n") == n) end += 1 + n;
        lg_buffer_puts(&p->page, table ? "<pre>" : "<p>");
        put_text(p, doc, (size_t)(end - doc), e);
        lg_buffer_puts(&p->page, table ? "</pre>\n" : "</p>\n");
    }
}

/* "sum" of "gpu.sum". */
static const char *plain_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static void put_entry(struct pages *p, const struct entry *e)
{
    const char *doc = e->doc ? e->doc : "", *signature = e->signature ? e->signature : e->name;
    lg_buffer_puts(&p->page, "<h2 id=\"");
    put_place(&p->page, e);
    lg_buffer_puts(&p->page, "\"><code>");
    if (!strstr(signature, plain_name(e->name))) { /* a subject */
        put(&p->page, e->name, strlen(e->name));
        lg_buffer_puts(&p->page, "</code></h2>\n<p class=\"signature\"><code>");
        put(&p->page, signature, strlen(signature));
        lg_buffer_puts(&p->page, "</code></p>\n");
    } else {
        put(&p->page, signature, strlen(signature));
        lg_buffer_puts(&p->page, "</code></h2>\n");
    }
    put_doc(p, e);
    if (e->example) sh_html_code(&p->page, "lua", e->example, strlen(e->example));
    lg_buffer_puts(&p->index, "<li>");
    put_address(&p->index, e);
    lg_buffer_puts(&p->index, "<code>");
    put(&p->index, e->name, strlen(e->name));
    lg_buffer_puts(&p->index, "</code></a> ");
    put(&p->index, doc, strcspn(doc, "\n"));
    lg_buffer_puts(&p->index, "</li>\n");
}

static void put_title(struct lg_buffer *b, const struct entry *e)
{
    size_t i = place_of(e);
    if (i < sizeof titles / sizeof *titles)
        lg_buffer_puts(b, titles[i][1]);
    else
        put(b, e->page, e->page_length);
}

/* ---- pages */

static const char style_sheet[] =
    "<style>h2{font-size:1rem;margin-top:2.2rem;padding-top:.6rem;border-top:1px solid var(--line)}"
    "h2 code,.signature code{white-space:pre-wrap;overflow-wrap:anywhere}ul{padding:0;list-style:none}li{padding:.15rem 0}"
    "input{width:100%;font:inherit;padding:.4rem;color:inherit;background:var(--box);border:1px solid var(--line);"
    "border-radius:6px}#count{color:var(--dim);margin:.3rem 0}h2:target{background:var(--box)}nav a{margin-right:1rem;display:inline-block}</style>\n";

/* Words narrow the list; Enter and the arrows go to what is left. What another page asks for is in the address. */
static const char search[] =
    "<script>const box=document.getElementById('find'),count=document.getElementById('count'),"
    "all=[...document.querySelectorAll('li')];"
    "const links=()=>all.filter(l=>!l.hidden).map(l=>l.querySelector('a'));"
    "function narrow(){const words=box.value.toLowerCase().split(/\\s+/);"
    "for(const l of all)l.hidden=!words.every(w=>l.textContent.toLowerCase().includes(w));"
    "for(const s of document.querySelectorAll('section'))s.hidden=!s.querySelector('li:not([hidden])');"
    "count.textContent=links().length+' of '+all.length}"
    "box.addEventListener('input',narrow);"
    "document.addEventListener('keydown',e=>{const l=links(),at=l.indexOf(document.activeElement);"
    "if(e.key==='/'&&document.activeElement!==box)box.focus();"
    "else if(e.key==='Enter'&&document.activeElement===box&&l[0])l[0].click();"
    "else if(e.key==='ArrowDown'&&l[at+1])l[at+1].focus();"
    "else if(e.key==='ArrowUp'&&at>=0)(l[at-1]||box).focus();"
    "else return;e.preventDefault()});"
    "box.value=new URLSearchParams(location.search).get('q')||'';narrow()</script>\n";

static void store(struct pages *p, const char *name, size_t length, struct lg_buffer *page)
{
    struct lg_buffer path = {0};
    lg_buffer_puts(page, "</body>\n</html>\n");
    lg_buffer_puts(&path, p->folder);
    lg_buffer_puts(&path, "/");
    lg_buffer_add(&path, name, length);
    lg_buffer_puts(&path, ".html");
    p->ok = p->ok && !path.failed && sh_document_store(path.data, page, p->why);
    lg_buffer_release(&path);
    lg_buffer_release(page);
}

static void put_page_link(struct lg_buffer *b, const struct entry *e)
{
    lg_buffer_puts(b, "<a href=\"");
    put(b, e->page, e->page_length);
    lg_buffer_puts(b, ".html\">");
    put_title(b, e);
    lg_buffer_puts(b, "</a>");
}

static void begin_page(struct pages *p, const struct entry *e)
{
    struct lg_buffer title = {0};
    put_title(&title, e);
    sh_html_head(&p->page, title.data ? title.data : "", false);
    lg_buffer_puts(&p->page, style_sheet);
    lg_buffer_puts(&p->page, "<form action=\"index.html\"><input name=\"q\" type=\"search\" placeholder=\"Search\" "
                             "aria-label=\"Search\"></form>\n<p><a href=\"index.html\">Reference</a></p>\n<h1>");
    put_title(&p->page, e);
    lg_buffer_puts(&p->page, "</h1>\n");
    lg_buffer_puts(&p->index, "<section>\n<h2>");
    put_page_link(&p->index, e);
    lg_buffer_puts(&p->index, "</h2>\n<ul>\n");
    lg_buffer_puts(&p->contents, "\n");
    put_page_link(&p->contents, e);
    p->page.failed = p->page.failed || title.failed;
    lg_buffer_release(&title);
}

/* The pages, then all that is on them. */
static void store_index(struct pages *p)
{
    sh_html_head(&p->page, "lunarray reference", true);
    lg_buffer_puts(&p->page, style_sheet);
    lg_buffer_puts(&p->page, "<h1>lunarray " LUNARRAY_VERSION "</h1>\n<input id=\"find\" type=\"search\" "
                             "placeholder=\"Search\" aria-label=\"Search\" autofocus>\n<p id=\"count\"></p>\n<nav>");
    lg_buffer_add(&p->page, p->contents.data, p->contents.length);
    lg_buffer_puts(&p->page, "\n</nav>\n");
    lg_buffer_add(&p->page, p->index.data, p->index.length);
    lg_buffer_puts(&p->page, search);
    p->page.failed = p->page.failed || p->contents.failed || p->index.failed;
    store(p, "index", 5, &p->page);
    lg_buffer_release(&p->contents);
    lg_buffer_release(&p->index);
}

bool sh_reference_write(lua_State *L, const char *folder, char why[SH_WHY])
{
    struct pages p = {.folder = folder, .why = why, .ok = true};
    snprintf(why, SH_WHY, "out of memory");
    p.entries = push_entries(L, &p.count);
    for (size_t i = 0; i < p.count; i++) {
        const struct entry *e = &p.entries[i];
        if (i == 0 || !same_page(e, e - 1)) begin_page(&p, e);
        put_entry(&p, e);
        if (i + 1 < p.count && same_page(e, e + 1)) continue;
        lg_buffer_puts(&p.index, "</ul>\n</section>\n");
        store(&p, e->page, e->page_length, &p.page);
    }
    store_index(&p);
    return p.ok;
}
