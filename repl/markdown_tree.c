/* The memory of a tree of Markdown: nodes and texts lie in a few large pieces and go at once. */
#include <stdlib.h>
#include <string.h>
#include "repl/markdown_parts.h"
#include "runtime/memory.h"

#define PIECE 4096

struct sh_md_memory {
    struct sh_md_memory *next;
    size_t used, size;
    _Alignas(max_align_t) char bytes[];
};

void *sh_md_alloc(struct sh_md_parser *p, size_t size)
{
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct sh_md_memory *m = p->memory;
    if (!m || m->size - m->used < size) {
        size_t room = size > PIECE ? size : PIECE;
        m = rt_calloc(1, sizeof *m + room);
        if (!m) {
            p->failed = true;
            return NULL;
        }
        m->size = room;
        m->next = p->memory;
        p->memory = m;
    }
    void *at = m->bytes + m->used;
    m->used += size;
    return at;
}

const char *sh_md_copy(struct sh_md_parser *p, const char *text, size_t length)
{
    char *copy = sh_md_alloc(p, length + 1);
    if (!copy) return "";
    memcpy(copy, text, length);
    return copy;
}

struct sh_md_node *sh_md_add(struct sh_md_parser *p, struct sh_md_node *parent, enum sh_md_kind kind)
{
    struct sh_md_node *node = sh_md_alloc(p, sizeof *node);
    if (!node) return NULL;
    node->kind = kind;
    node->text = node->info = node->title = "";
    if (parent && parent->last)
        parent->last->next = node;
    else if (parent)
        parent->first = node;
    if (parent) parent->last = node;
    return node;
}

void sh_markdown_free(struct sh_markdown *m)
{
    for (struct sh_md_memory *piece = m->memory, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    *m = (struct sh_markdown){0};
}

bool sh_markdown_words(const struct sh_md_node *node, struct sh_text *out)
{
    bool ok = sh_text_append(out, node->text, node->kind == SH_MD_TAG ? 0 : node->length);
    if (node->kind == SH_MD_SOFT_BREAK || node->kind == SH_MD_BREAK) ok = sh_text_append(out, " ", 1);
    for (const struct sh_md_node *c = node->first; c && ok; c = c->next) ok = sh_markdown_words(c, out);
    return ok;
}
