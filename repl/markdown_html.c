/* Markdown as HTML. */
#include <string.h>
#include <strings.h>
#include "repl/html.h"

static void put_text(struct lg_buffer *b, const char *text)
{
    sh_html_attribute(b, text, strlen(text));
}

/* Addresses that a click may follow: of the web, of mail, or of files beside. */
static bool is_safe(const char *address)
{
    static const char *const schemes[] = {"http:", "https:", "mailto:"};
    const char *colon = strpbrk(address, ":/?#");
    if (!colon || *colon != ':') return true;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(address, schemes[i], strlen(schemes[i])) == 0) return true;
    return false;
}

static void put_node(struct lg_buffer *b, const struct sh_md_node *node, const json_t *attachments);

static void put_children(struct lg_buffer *b, const struct sh_md_node *node, const json_t *attachments)
{
    for (const struct sh_md_node *c = node->first; c; c = c->next) put_node(b, c, attachments);
}

static void put_element(struct lg_buffer *b, const char *name, const struct sh_md_node *node, const json_t *attachments)
{
    lg_buffer_printf(b, "<%s>", name);
    put_children(b, node, attachments);
    lg_buffer_printf(b, "</%s>", name);
}

static void put_link(struct lg_buffer *b, const struct sh_md_node *node, const json_t *attachments)
{
    bool safe = is_safe(node->info);
    if (safe) {
        lg_buffer_puts(b, "<a href=\"");
        put_text(b, node->info);
        lg_buffer_puts(b, "\" rel=\"noreferrer\">");
    }
    put_children(b, node, attachments);
    if (safe) lg_buffer_puts(b, "</a>");
}

/* An image that the notebook has in itself; of others the description links to them. */
static void put_image(struct lg_buffer *b, const struct sh_md_node *node, const json_t *attachments)
{
    const char *mime = NULL, *data = NULL, *address = node->info;
    json_t *value;
    if (strncmp(address, "attachment:", 11) == 0) {
        json_object_foreach(json_object_get(attachments, address + 11), mime, value)
        {
            if (strncmp(mime, "image/", 6) == 0 && (data = json_string_value(value))) break;
        }
    }
    if (!data && strncmp(address, "data:image/", 11) != 0) {
        put_link(b, node, attachments);
        return;
    }
    lg_buffer_puts(b, "<img src=\"");
    if (data) {
        lg_buffer_puts(b, "data:");
        put_text(b, mime);
        lg_buffer_puts(b, ";base64,");
    }
    put_text(b, data ? data : address);
    lg_buffer_puts(b, "\" alt=\"");
    struct sh_text words = {0};
    if (!sh_markdown_words(node, &words)) b->failed = true;
    if (words.bytes) put_text(b, words.bytes);
    sh_text_free(&words);
    lg_buffer_puts(b, "\">");
}

/* Tags without attributes that change how text looks. */
static void put_tag(struct lg_buffer *b, const char *tag)
{
    static const char *const known[] = {"b",   "i",   "u",   "s",    "em",    "strong",
                                        "sub", "sup", "kbd", "code", "small", "mark"};
    const char *name = tag + 1 + (tag[1] == '/');
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i]);
        if (strncmp(name, known[i], n) == 0 && strcmp(name + n, ">") == 0) lg_buffer_puts(b, tag);
    }
}

static void put_list(struct lg_buffer *b, const struct sh_md_node *list, const json_t *attachments)
{
    static const char *const boxes[] = {"", "\u2610 ", "\u2611 "};
    if (list->ordered)
        lg_buffer_printf(b, "<ol start=\"%d\">\n", list->number);
    else
        lg_buffer_puts(b, "<ul>\n");
    for (const struct sh_md_node *item = list->first; item; item = item->next) {
        lg_buffer_printf(b, "<li>%s", boxes[item->task]);
        for (const struct sh_md_node *c = item->first; c; c = c->next) {
            if (list->tight && c->kind == SH_MD_PARAGRAPH)
                put_children(b, c, attachments);
            else
                put_node(b, c, attachments);
        }
        lg_buffer_puts(b, "</li>\n");
    }
    lg_buffer_puts(b, list->ordered ? "</ol>\n" : "</ul>\n");
}

static void put_table(struct lg_buffer *b, const struct sh_md_node *table, const json_t *attachments)
{
    static const char *const aligned[] = {"", " style=\"text-align:left\"", " style=\"text-align:center\"",
                                          " style=\"text-align:right\""};
    lg_buffer_puts(b, "<table>\n");
    for (const struct sh_md_node *row = table->first; row; row = row->next) {
        const char *name = row == table->first ? "th" : "td";
        lg_buffer_puts(b, "<tr>");
        for (const struct sh_md_node *cell = row->first; cell; cell = cell->next) {
            lg_buffer_printf(b, "<%s%s>", name, aligned[cell->align]);
            put_children(b, cell, attachments);
            lg_buffer_printf(b, "</%s>", name);
        }
        lg_buffer_puts(b, "</tr>\n");
    }
    lg_buffer_puts(b, "</table>\n");
}

static void put_math(struct lg_buffer *b, const struct sh_md_node *node)
{
    const char *name = node->block ? "div" : "span";
    lg_buffer_printf(b, "<%s class=\"math\">", name);
    put_text(b, node->text);
    lg_buffer_printf(b, "</%s>", name);
}

/* A node with all that is in it. `attachments` are a cell's (nbformat), or NULL. */
static void put_node(struct lg_buffer *b, const struct sh_md_node *node, const json_t *attachments)
{
    char heading[4] = "h1";
    switch (node->kind) {
    case SH_MD_QUOTE: put_element(b, "blockquote", node, attachments); break;
    case SH_MD_LIST: put_list(b, node, attachments); break;
    case SH_MD_TABLE: put_table(b, node, attachments); break;
    case SH_MD_HEADING:
        heading[1] = (char)('0' + node->number);
        put_element(b, heading, node, attachments);
        lg_buffer_puts(b, "\n");
        break;
    case SH_MD_PARAGRAPH:
        put_element(b, "p", node, attachments);
        lg_buffer_puts(b, "\n");
        break;
    case SH_MD_CODE: sh_html_code(b, node->info, node->text, node->length); break;
    case SH_MD_RULE: lg_buffer_puts(b, "<hr>\n"); break;
    case SH_MD_EMPHASIS: put_element(b, "em", node, attachments); break;
    case SH_MD_STRONG: put_element(b, "strong", node, attachments); break;
    case SH_MD_STRIKE: put_element(b, "del", node, attachments); break;
    case SH_MD_LINK: put_link(b, node, attachments); break;
    case SH_MD_IMAGE: put_image(b, node, attachments); break;
    case SH_MD_TEXT: put_text(b, node->text); break;
    case SH_MD_CODE_SPAN:
        lg_buffer_puts(b, "<code>");
        put_text(b, node->text);
        lg_buffer_puts(b, "</code>");
        break;
    case SH_MD_MATH: put_math(b, node); break;
    case SH_MD_TAG: put_tag(b, node->text); break;
    case SH_MD_SOFT_BREAK: lg_buffer_puts(b, "\n"); break;
    case SH_MD_BREAK: lg_buffer_puts(b, "<br>\n"); break;
    default: put_children(b, node, attachments); break;
    }
}

void sh_html_markdown_text(struct lg_buffer *b, const char *text, size_t length, const json_t *attachments)
{
    struct sh_markdown m;
    if (!sh_markdown_parse(text, length, &m)) {
        b->failed = true;
        return;
    }
    put_node(b, m.root, attachments);
    sh_markdown_free(&m);
}
