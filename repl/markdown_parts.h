/* Shared by the two halves of the Markdown reader, blocks (markdown.c) and inlines (markdown_inline.c). */
#ifndef SH_MARKDOWN_PARTS_H
#define SH_MARKDOWN_PARTS_H

#include "repl/markdown.h"

/* [label]: address "title" */
struct sh_md_reference {
    const char *label, *address, *title;
    struct sh_md_reference *next;
};

struct sh_md_memory;
struct sh_md_parser {
    struct sh_md_memory *memory; /* where all that the tree has lies */
    bool failed;                 /* memory was lacking: the tree is incomplete and is thrown away */
    struct sh_md_reference *references;
};

/* All zeros; NULL when memory is lacking, which p->failed notes. */
void *sh_md_alloc(struct sh_md_parser *p, size_t size);
/* A copy of a text, NUL-terminated; "" when memory is lacking. */
const char *sh_md_copy(struct sh_md_parser *p, const char *text, size_t length);
/* A text without the backslashes that escape punctuation, and with characters for entities. */
const char *sh_md_unescaped(struct sh_md_parser *p, const char *text, size_t length);
/* A new node, behind the parent's last child unless that is NULL; NULL when memory is lacking. */
struct sh_md_node *sh_md_add(struct sh_md_parser *p, struct sh_md_node *parent, enum sh_md_kind kind);

/* Reads `text` as inlines, which become the node's children. */
void sh_md_inlines(struct sh_md_parser *p, struct sh_md_node *node, const char *text, size_t length);
/* The parts of a link behind its brackets, `(address "title")` or, in definitions, `address "title"`; returns the bytes
 * read, 0 when there is none. */
size_t sh_md_destination(struct sh_md_parser *p, const char *s, size_t length, bool parentheses, const char **address,
                         const char **title);

#endif
