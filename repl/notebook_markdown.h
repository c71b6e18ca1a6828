/* A notebook as a file of Markdown: text as it is, code between fences, and below it what it put out. */
#ifndef SH_NOTEBOOK_MARKDOWN_H
#define SH_NOTEBOOK_MARKDOWN_H

#include "repl/document.h"

/* Pictures are in the file itself, as data: addresses. */
void sh_notebook_markdown(const json_t *notebook, struct lg_buffer *out);
/* A text between fences that are longer than any backticks in it; `language` is "" or stands behind the first. */
void sh_markdown_fenced(struct lg_buffer *b, const char *language, const char *text, size_t length);

#endif
