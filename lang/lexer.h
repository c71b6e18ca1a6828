/* The lexical elements of Lua 5.4, found without a Lua state: for highlighting, for the question whether an input is
 * complete, for completion at a position, and for the rewriting of cells. Any bytes are accepted; what Lua would refuse
 * is a token of kind LG_TOKEN_ERROR or one marked unfinished. Nothing is allocated. */
#ifndef LG_LEXER_H
#define LG_LEXER_H

#include <stdbool.h>
#include <stddef.h>

enum lg_token_kind {
    LG_TOKEN_END,
    LG_TOKEN_NAME,
    LG_TOKEN_KEYWORD,
    LG_TOKEN_NUMBER,
    LG_TOKEN_STRING,  /* with its quotes or long brackets */
    LG_TOKEN_COMMENT, /* with its dashes, without the newline that ends a short one */
    LG_TOKEN_OPERATOR,
    LG_TOKEN_ERROR, /* one byte that begins no token, e.g. '!' or '$', or a malformed number */
};

enum lg_keyword {
    LG_NO_KEYWORD,
    LG_AND,
    LG_BREAK,
    LG_DO,
    LG_ELSE,
    LG_ELSEIF,
    LG_END,
    LG_FALSE,
    LG_FOR,
    LG_FUNCTION,
    LG_GOTO,
    LG_IF,
    LG_IN,
    LG_LOCAL,
    LG_NIL,
    LG_NOT,
    LG_OR,
    LG_REPEAT,
    LG_RETURN,
    LG_THEN,
    LG_TRUE,
    LG_UNTIL,
    LG_WHILE,
    LG_KEYWORD_COUNT
};

struct lg_token {
    enum lg_token_kind kind;
    enum lg_keyword keyword; /* LG_NO_KEYWORD for everything but keywords */
    size_t start, end;       /* byte offsets into the text */
    int line;                /* of its first byte, from 1 */
    bool first;              /* nothing but white space stands before it on its line */
    bool unfinished;         /* a string or long comment that the text's end (short strings: the line's end) cuts off */
    bool is_long;            /* a string or comment in long brackets */
};

struct lg_lexer {
    const char *text;
    size_t length, at;
    int line;
    bool fresh; /* only white space since the line's start */
};

void lg_lexer_init(struct lg_lexer *x, const char *text, size_t length);
/* The next token, comments included; false (and LG_TOKEN_END) at the text's end. */
bool lg_lexer_next(struct lg_lexer *x, struct lg_token *out);
/* The same without comments. */
bool lg_lexer_code(struct lg_lexer *x, struct lg_token *out);
/* Continues at the newline that ends the current line (or the text's end). */
void lg_lexer_skip_line(struct lg_lexer *x);

/* The keyword's spelling; the keyword that a word is. */
const char *lg_keyword_name(enum lg_keyword k);
enum lg_keyword lg_keyword_find(const char *word, size_t length);
bool lg_is_name(const char *text, size_t length); /* a word, and no keyword: t.name means the field */

/* True when the token is exactly this text (operators, names). */
bool lg_token_is(const struct lg_lexer *x, const struct lg_token *t, const char *text);

/* +1 for a token that opens a block (do, function, if, repeat), -1 for one that closes it (end, until), else 0. */
int lg_token_block(const struct lg_token *t);
/* +1 for an opening bracket of any kind, -1 for a closing one, else 0. */
int lg_token_bracket(const struct lg_lexer *x, const struct lg_token *t);

#endif
