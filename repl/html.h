/* Pieces of HTML pages: code with its colours, Markdown, text with escape codes. Everything is escaped; what is linked
 * is where readers may go, never what a page needs. */
#ifndef SH_HTML_H
#define SH_HTML_H

#include <jansson.h>
#include "lang/buffer.h"
#include "repl/markdown.h"

/* A page's head up to <body>: UTF-8, light and dark, nothing from elsewhere allowed. `scripts`: its own may run. */
void sh_html_head(struct lg_buffer *b, const char *title, bool scripts);

/* A text between the quotes of an attribute. */
void sh_html_attribute(struct lg_buffer *b, const char *text, size_t length);
/* An image of a notebook (base64, or the text of an SVG) as an address that holds it: data:image/png;base64,... */
void sh_html_data_address(struct lg_buffer *b, const char *mime, const char *data, size_t length);
/* <pre> with the code in colours; language: "lua", "cuda", "c", "cpp", "c++"; others stay plain. */
void sh_html_code(struct lg_buffer *b, const char *language, const char *code, size_t length);
/* A text whose escape codes for colours become spans; others are left out. */
void sh_html_ansi(struct lg_buffer *b, const char *text, size_t length);
/* A text of Markdown. */
void sh_html_markdown_text(struct lg_buffer *b, const char *text, size_t length, const json_t *attachments);

#endif
