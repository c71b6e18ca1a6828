/* Any bytes as Markdown: a tree comes out whose kinds hold what they may hold. */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include "repl/markdown.h"

static void check(const struct sh_md_node *node)
{
    bool leaf = node->kind >= SH_MD_TEXT || node->kind == SH_MD_CODE || node->kind == SH_MD_RULE;
    assert(!leaf || !node->first);
    assert(node->text[node->length] == '\0');
    for (const struct sh_md_node *c = node->first; c; c = c->next) {
        assert((node->kind == SH_MD_LIST) == (c->kind == SH_MD_ITEM));
        assert((node->kind == SH_MD_TABLE) == (c->kind == SH_MD_ROW));
        assert((node->kind == SH_MD_ROW) == (c->kind == SH_MD_CELL));
        assert(c->next || c == node->last);
        check(c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sh_markdown m;
    if (!sh_markdown_parse((const char *)data, size, &m)) return 0;
    check(m.root);
    sh_markdown_free(&m);
    return 0;
}
