/* Markdown as a notebook: blocks between fences that say `lua`, or `cuda` and begin with %%cuda, are cells of code,
 * what is between them is text. A block without a language directly below code is what that has put out. It is what
 * notebook_markdown.h writes, and what people write who explain something. */
#ifndef SH_MARKDOWN_NOTEBOOK_H
#define SH_MARKDOWN_NOTEBOOK_H

#include "repl/document.h"

/* The notebook in the text; NULL with `why` when it cannot be one. */
json_t *sh_markdown_notebook(const char *text, size_t length, char why[SH_WHY]);
/* The text with the code and the outputs that cells of `notebook` have, which is the text's with some of them changed;
 * outputs are streams there. What did not change stays as it is, byte by byte. */
void sh_markdown_change(const char *text, size_t length, const json_t *notebook, struct lg_buffer *out);

#endif
