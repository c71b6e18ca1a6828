/* A notebook as a tree of JSON (nbformat 4), whole, for what changes it or turns it into something else: read from a
 * .ipynb, or from a .lua with cell marks (percent.h), or from Markdown (markdown_notebook.h); written as the nbformat
 * package writes it, byte by byte. The view that runners have of it is in notebook.h. */
#ifndef SH_DOCUMENT_H
#define SH_DOCUMENT_H

#include <jansson.h>
#include "lang/buffer.h"

enum { SH_WHY = 512 }; /* bytes of a message that says in one line what is wrong */

/* JSON is built without looking at each step: these say at the end whether memory lacked in one of them. What is read
 * and written below asks by itself. The first begins anew. */
void sh_json_watch(void);
bool sh_json_failed(void);
void sh_json_fail(void); /* it lacked for something that JSON was to hold */

/* The notebook in the bytes of a .ipynb, texts of several lines joined. NULL when it is none; `why` says so. */
json_t *sh_document_parse(const char *text, size_t length, char why[SH_WHY]);
/* Whether a name is that of a notebook, .ipynb or .md, and no script's; whether it is Markdown's. */
bool sh_names_notebook(const char *path);
bool sh_names_markdown(const char *path);
/* The notebook in a file of any kind: .ipynb, .md, or a script. */
json_t *sh_document_load(const char *path, char why[SH_WHY]);
/* The bytes of its .ipynb. */
void sh_document_put(const json_t *notebook, struct lg_buffer *out);
/* Replaces a file by the bytes, whole or not at all. */
bool sh_document_store(const char *path, const struct lg_buffer *bytes, char why[SH_WHY]);

/* The metadata of a notebook for this kernel; a new reference, NULL when memory is lacking. */
json_t *sh_document_metadata(void);

/* Gives it what nbformat 4.5 wants and it lacks: metadata, outputs, ids of cells that have none of their own. */
void sh_document_complete(json_t *notebook);
/* Whether a cell may have this id. */
bool sh_is_id(const char *id);
/* Whether a cell's metadata have the tag. */
bool sh_cell_has_tag(const json_t *cell, const char *tag);
/* A member's text, "" when it is none. */
const char *sh_json_text(const json_t *object, const char *key);
/* The text of a JSON value as Python writes it in one line (sorted keys, no blanks after the outer marks). */
void sh_json_put(const json_t *value, struct lg_buffer *out);

#endif
