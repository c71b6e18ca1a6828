/* Markdown as notebooks have it, read into a tree: CommonMark's blocks and inlines, GitHub's tables, strikethrough,
 * task lists and bare addresses, and formulas between dollars, which stay as they are. Pure: bytes in, nodes out.
 * Renderers walk the tree: markdown_html.c for pages, the presenter for terminals. Any bytes are accepted. */
#ifndef SH_MARKDOWN_H
#define SH_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>
#include "repl/text.h"

enum sh_md_kind {
    SH_MD_DOCUMENT,
    /* Blocks that hold blocks */
    SH_MD_QUOTE,
    SH_MD_LIST, /* of items; `number` is the first one's where it is ordered */
    SH_MD_ITEM,
    SH_MD_TABLE, /* of rows, the first of which is the heading */
    SH_MD_ROW,   /* of cells, as many in each row */
    /* Blocks that hold inlines */
    SH_MD_HEADING, /* `number` is its level, 1 to 6 */
    SH_MD_PARAGRAPH,
    SH_MD_CELL,
    /* Blocks that hold nothing */
    SH_MD_CODE, /* `text` with a newline at each line's end; `info` is the language or "" */
    SH_MD_RULE,
    /* Inlines that hold inlines */
    SH_MD_EMPHASIS,
    SH_MD_STRONG,
    SH_MD_STRIKE,
    SH_MD_LINK,  /* `info` is the address, `title` its title or "" */
    SH_MD_IMAGE, /* the same; its inlines describe it */
    /* Inlines that hold nothing */
    SH_MD_TEXT,
    SH_MD_CODE_SPAN,
    SH_MD_MATH, /* TeX, without its dollars; `block` when it is a line of its own */
    SH_MD_TAG,  /* a tag of HTML as it was written, e.g. "<sub>"; img and br are images and breaks instead */
    SH_MD_SOFT_BREAK,
    SH_MD_BREAK,
};

enum sh_md_align { SH_MD_NO_ALIGN, SH_MD_LEFT, SH_MD_CENTER, SH_MD_RIGHT };
enum sh_md_task { SH_MD_NO_TASK, SH_MD_OPEN, SH_MD_DONE };

struct sh_md_node {
    enum sh_md_kind kind;
    int number;
    bool ordered, tight, block; /* of lists: items without blank lines between them; of formulas */
    enum sh_md_align align;     /* of cells */
    enum sh_md_task task;       /* of items */
    const char *text;           /* NUL-terminated; "" where a kind has none */
    size_t length;
    const char *info, *title;
    struct sh_md_node *first, *last, *next; /* children, and the next sibling */
};

struct sh_markdown { /* released with sh_markdown_free; starts as all zeros */
    struct sh_md_node *root;
    struct sh_md_memory *memory;
};

/* False when memory is lacking; there is nothing to release then. */
bool sh_markdown_parse(const char *text, size_t length, struct sh_markdown *out);
void sh_markdown_free(struct sh_markdown *m);

/* The words of a node's inlines without their marks, as for a table of contents; false when memory is lacking. */
bool sh_markdown_words(const struct sh_md_node *node, struct sh_text *out);

#endif
