/* Markdown as a terminal shows it: a tree (markdown.h) becomes rows of styled text. */
#ifndef SH_MARKDOWN_TEXT_H
#define SH_MARKDOWN_TEXT_H

#include "repl/frame.h"
#include "repl/markdown.h"

/* Adds the document to the frame, from the row it is on, broken at words to the frame's columns. Memory that is lacking
 * shows in out->failed. */
void sh_markdown_frame(const struct sh_markdown *m, struct sh_frame *out);

#endif
