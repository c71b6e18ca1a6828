/* The text of CUDA C as its reader sees it: tokens for highlighting, and the words that completion offers inside kernel
 * strings. Nothing here raises, but lg_add_cuda_html, which may run out of memory. */
#ifndef LG_CUDA_H
#define LG_CUDA_H

#include <lauxlib.h>
#include <stdbool.h>
#include <stddef.h>

enum lg_cuda_kind { LG_CUDA_OTHER, LG_CUDA_WORD, LG_CUDA_NUMBER, LG_CUDA_STRING, LG_CUDA_COMMENT, LG_CUDA_DIRECTIVE };
struct lg_cuda_token {
    enum lg_cuda_kind kind; /* LG_CUDA_DIRECTIVE: "#include" with what is between its sign and its name */
    size_t start, end;
    bool unfinished; /* a string or comment that the text's end cut off */
};
/* The token at `at`, false at the end of the text. White space is LG_CUDA_OTHER. */
bool lg_cuda_next(const char *text, size_t length, size_t at, struct lg_cuda_token *out);

struct lg_cuda_word {
    const char *name, *kind; /* "keyword", "type", "variable", "function", "directive", "header" */
    const char *note;        /* a signature, a type, what a qualifier says, or "" */
    const char *does;        /* what a function does, or "" */
};
extern const struct lg_cuda_word lg_cuda_words[];                         /* ended by a NULL name */
extern const struct lg_cuda_word lg_cuda_directives[];                    /* likewise: what may follow # */
const struct lg_cuda_word *lg_cuda_find(const char *word, size_t length); /* or NULL */
/* Whether a text is the source of a kernel by what it says: it has the word __global__. */
bool lg_cuda_is_source(const char *text, size_t length);

/* The text with its tokens in the colours of the page's editor, where that has some, else in ones that suit dark and
 * light pages. [raises] */
void lg_add_cuda_html(luaL_Buffer *b, const char *text, size_t length);

#endif
