/* What was probably meant where Lua reads or does something else: for those who come from Python, C++ or CUDA C. A hint
 * belongs to one of Lua's own messages, and to the tokens around the place that it is about. */
#include "lang/hint.h"

#include <stdio.h>
#include <string.h>
#include "lang/lexer.h"

#define LOOP  "a loop is for i = 0, 9 do ... end, both ends included; over a table for i, v in ipairs(t) do ... end"
#define BLOCK "a block begins with then or do (a function's with its parameters) and ends with end; braces make tables"
#define SLICE                                                                                                          \
    "a slice is a string or a table, x[\"1:3\"] or x[{{1, 3}}]: indices count from 1, and both ends are included"
#define PARTS "a row, a column and their parts are x[{1, {}}] or x[\"1, :\"], x[{{1, 3}, 2}] or x[\"1:3, 2\"]"
#define FIELD "a table's field is written {a = 1}, or {[\"a b\"] = 1}"
#define LOCAL "a variable is made by local n = 3; it has no type"
#define CUDA  "CUDA C goes into gpu.kernel [[ ... ]], or a cell that begins with %%cuda"
#define FUNCT "a function is written function f(x) return x + 1 end, one without a name function(x) return x + 1 end"
#define TUPLE                                                                                                          \
    "parentheses make no tuple: a shape is gpu.ones(3, 4) or gpu.ones{3, 4}, a list {x, y}, several values are local a, b = 1, 2"
#define TRY   "what may fail is called by pcall: local ok, e = pcall(f, x); error(\"text\") raises, assert(x) checks"
#define SLASH "a comment begins with --; // divides and rounds down"
#define IF    "it is written if x > 1 then ... elseif y then ... else ... end"
#define DOT   "gpu is no object: its functions are called with a dot, gpu.zeros(3), gpu.random.uniform(0, 1, 3)"
#define ELEM  "whether a table has a key is t[k] ~= nil; which elements are among others x:isin(y); loops have in"
#define METH  "a method is called with parentheses, x:sum(); a field has a dot, x.shape"
#define MATH  "math's functions are for numbers; those for arrays are gpu's, gpu.sin(x), or methods, x:sin()"
#define MASK  "== and ~= give one boolean; the mask is x:eq(y) or x:ne(y)"
#define JOIN  "strings are joined by .., as in \"n = \" .. n"
#define ITEM  "a reduction of all elements gives a number already: x:sum() is one"
#define ADDR  "there are no addresses: a function returns what it makes, as x = gpu.zeros(n)"
#define WHILE "a loop is while x < 3 do ... end"
#define EQUAL "'equal' is written =="
#define LIST                                                                                                           \
    "a list is filled by a loop, local t = {} for i = 1, 3 do t[i] = 2 * i end; of arrays it is 2 * gpu.range(1, 3)"
#define WRITE                                                                                                          \
    "what print puts between and behind values is not chosen: io.write(x, \" \", y) writes just what it is given"
#define DEFAULT  "what an argument is without a value is said in the function: b = b or 3"
#define NOT      "'not' is written out, not x; ~x is of integers and masks"
#define JOINED   "a line that begins with ( or { goes on with the one before: a ; in front of it parts them"
#define PROMPT   "the code is what stands behind the prompt: it goes in without that, and without what was answered"
#define ELEMENTS "*, / and ^ work element by element; the matrix product is A:matmul(B)"
#define COLUMN   "a vector goes along the rows; a column is v:unsqueeze(2), or what x:mean(2, true) gives"
#define AXIS     "a new axis is x[\"newaxis\"], or x[\":, newaxis\"] behind the first one"
#define MADE     "a list is written {1, 2, 3}, an array gpu.array{1, 2, 3}"
#define TWICE    "repeat is a word of Lua's: x:tile(n) repeats all, x:repeat_interleave(n) each element"
#define RETURN   "what a function gives stands behind return: function f(x) return x + 1 end"
#define PICK     "x if c else y, or c ? x : y, is written c and x or y; of arrays gpu.where(c, x, y)"

/* The first row that holds. `message` is part of Lua's message, with $ its end (NULL: any about syntax), `tokens` a run
 * of tokens that has the place of the error in it or before it; "..." in front: that stands anywhere in the line, "^":
 * that begins it, "line:": that begins a line of the source and has a blank or the line's end behind it, as `try:run()`
 * has not, "loop:": the word that began the last loop, "begins:": behind which a line begins with a parenthesis, a
 * brace or a string; NULL: any. NAME, NUMBER, STRING and OP (an operator of two numbers) stand for any such token. */
static const struct {
    const char *message, *tokens, *text;
} hints[] = {
    {NULL, "line: try :", TRY},
    {"'}' expected", "line: try {", TRY},
    {"'...' expected near '*'", NULL, "arguments of any number are function f(...), a table of them {...}"},
    {NULL, "! =", "'not equal' is written ~=; of arrays x:ne(y)"},
    {NULL, "< >", "'not equal' is written ~=; of arrays x:ne(y)"},
    {NULL, "= ! NAME", "'not' is written out, not x; what a command prints is io.popen(\"ls\"):read(\"a\")"},
    {NULL, "! ", "'not' is written out, not x; of masks ~x"},
    {NULL, "( &", ADDR},
    {NULL, "( void *", ADDR},
    {NULL, "& &", "'and' is written out, a and b; of masks a & b"},
    {NULL, "| |", "'or' is written out, a or b; of masks a | b"},
    {NULL, "+ +", "Lua has no ++: write i = i + 1"},
    {NULL, "== =", EQUAL},
    {"unexpected symbol near '='", "... until", EQUAL},
    {NULL, "OP =", "Lua has no += and the like: write x = x + 1, or x:add_(1) to change an array in place"},
    {NULL, "* *", "a power is written x ^ y"},
    {NULL, "- >", FUNCT},
    {NULL, "= >", FUNCT},
    {NULL, "... lambda", FUNCT},
    {NULL, "?", PICK},
    {"'then' expected near 'else'", "... if", PICK},
    {"<eof> expected near 'if'", NULL, PICK},
    {NULL, "line: NUMBER >", PROMPT},
    {NULL, "line: >> >", PROMPT},
    {NULL, "line: >>", PROMPT},
    {NULL, "line: In [ NUMBER ] :", PROMPT},
    {NULL, "line: Out [ NUMBER ] :", PROMPT},
    {NULL, "line: >", PROMPT},
    {NULL, "^ @", "Lua has no decorators: a kernel is CUDA C in gpu.kernel [[ ... ]]"},
    {NULL, "@", "the matrix product is A:matmul(B)"},
    {NULL, "<< <", "a launch k<<<grid, block>>>(x) is written k(grid, block)(x)"},
    {NULL, ": =", "a value is set by ="},
    {"'}' expected near 'for'", NULL, LIST},
    {"unexpected symbol near '['", "... for NAME in", LIST},
    {"'then' expected near 'in'", NULL, ELEM},
    {"near 'in'", "... for", LOOP},
    {"unexpected symbol near 'do'", "in do", LOOP},
    {"near 'in'", "NAME in", ELEM},
    {"near 'in'", "NUMBER in", ELEM},
    {"near 'in'", "STRING in", ELEM},
    {"near 'in'", ") in", ELEM},
    {"near 'in'", "] in", ELEM},
    {"near 'not'", "not in", ELEM},
    {"<name> expected near 'in'", NULL, "'in' is a word of Lua's; a field of that name is x[\"in\"]"},
    {"'then' expected near '='", NULL, EQUAL},
    {"'do' expected near '='", NULL, EQUAL},
    {"']' expected near ','", "... gpu . array [", MADE},
    {"']' expected near ','", "... , :", PARTS},
    {"']' expected near ','", "... , NUMBER :", PARTS},
    {"']' expected near ','", NULL, "several indices go in a table, x[{1, 2}]; a launch is k(grid, block)(x)"},
    {"']' expected near ':'", NULL, SLICE},
    {"unexpected symbol near ':'", "[ :", SLICE},
    {"unexpected symbol near '::'", "[ ::", SLICE},
    {"']' expected near '::'", NULL, SLICE},
    {"unexpected symbol near '::'", "... [", SLICE},
    {"unexpected symbol near ':'", "... [", SLICE},
    {NULL, ") :", BLOCK},
    {"<name> expected near '('", "for (", LOOP},
    {"'=' or 'in' expected", NULL, LOOP},
    {"<name> expected near <eof>", "... for NAME", LOOP},
    {"<name> expected near <eof>", "... while", WHILE},
    {"<name> expected near <eof>", "... if", IF},
    {"'do' expected", "loop: while", WHILE},
    {"',' expected", "... for NAME", LOOP},
    {"'do' expected", "... for NAME", LOOP},
    {"'do' expected", "... while", WHILE},
    {"'do' expected", NULL, LOOP},
    {"'then' expected", NULL, IF},
    {"'end' expected", "... else if", "elseif is one word: else if opens another if, which has an end of its own"},
    {NULL, "... elif", IF},
    {NULL, "elseif", IF},
    {"'end' expected near <eof>", NULL, "each function, if, for, while and do has an end"},
    {"'end' expected near", "... return", "return is the last statement of its block"},
    {"'end' expected", NULL, "each function, if, for, while and do has an end"},
    {"<eof> expected near 'end'", NULL, "there is one end more than there are blocks"},
    {NULL, "STRING [", "the first character of a string is (\"abc\"):sub(1, 1)"},
    {"near '['", "NAME [", "a local is one name; a table is made by local a = {}, an array by gpu.zeros(3)"},
    {"unexpected symbol near ')'", ", )",
     "behind a comma in a call an argument is missing; only lists, in {}, may end with one"},
    {"unexpected symbol near '['", NULL, MADE},
    {"unexpected symbol near '{'", NULL, BLOCK},
    {"near '}'", ") {", BLOCK},
    {"'}' expected near ':'", NULL, FIELD},
    {"'}' expected near '='", NULL, FIELD},
    {"'}' expected near", "NUMBER NUMBER",
     "elements are separated by commas, rows are tables of their own: {{1, 2}, {3, 4}}"},
    {"<name> expected", "... { NAME :", FIELD},
    {"<name> expected near 'repeat'", ": repeat", TWICE},
    {"<name> expected near 'repeat'", ". repeat", TWICE},
    {"<name> expected near 'and'", NULL, "'and' is a word of Lua's; of masks it is a & b"},
    {"<name> expected near 'or'", NULL, "'or' is a word of Lua's; of masks it is a | b"},
    {"<name> expected near 'not'", NULL, "'not' is a word of Lua's; of masks it is ~a"},
    {"near 'end'", "... continue end",
     "Lua has no continue: goto continue leaves the round where ::continue:: stands before its end"},
    {"near 'end'", ", end", WRITE},
    {"<name> expected near 'end'", ". end",
     "'end' is a word of Lua's: a field of that name is x[\"end\"], the last element x[-1]"},
    {"<name> expected near '*'", ". *", ELEMENTS},
    {"<name> expected near '/'", ". /", ELEMENTS},
    {"<name> expected near '^'", ". ^", ELEMENTS},
    {NULL, "\\", "equations are solved by gpu.linalg.solve(A, b)"},
    {"syntax error near '+'", "... function", RETURN},
    {"syntax error near '-'", "... function", RETURN},
    {"syntax error near '*'", "... function", RETURN},
    {"syntax error near '/'", "... function", RETURN},
    {NULL, "STRING STRING STRING", "a string of several lines is [[ ... ]]"},
    {"invalid escape sequence", NULL,
     "a backslash is written twice, \"a\\\\b\", or in [[a\\b]]; patterns have %d for digits"},
    {"malformed number", NULL,
     "a number has no suffix and no _: 3, 0.5, 1e-3, 0xff; a complex one is gpu.complex(0, 1); in a launch it becomes what the parameter is"},
    {"unfinished string", "... STRING NAME", "a quote is written \\' in a string, or between the others: \"it's\""},
    {"unfinished long string", NULL, "what [[ begins is ended by ]]"},
    {"near '`'", NULL, "a string of several lines is [[ ... ]]"},
    {"unfinished string", NULL, "a string ends in its line; one of several lines is [[ ... ]]"},
    {"')' expected near '='", "... print (", WRITE},
    {"')' expected near '='", "... function (", DEFAULT},
    {"')' expected near '='", "... function NAME (", DEFAULT},
    {"')' expected near '='", "... axis =",
     "arguments have no names; options go in a table, x:sum{axis = 1, keepdims = true}, and axes count from 1"},
    {"')' expected near '='",
     "... : NAME ( NAME =", "arguments have no names; options go in a table, x:sort{descending = true}"},
    {"')' expected near '='", NULL,
     "arguments have no names; options go in a table, gpu.ones({3, 4}, {dtype = \"int32\"})"},
    {"')' expected near ','", "... , ) , (", LG_HINT_GRID},
    {"')' expected near ','", "... NUMBER ) , ( NUMBER", LG_HINT_GRID},
    {"')' expected near ','", NULL, TUPLE},
    {NULL, "... STRING . join", "it is written table.concat(t, \",\")"},
    {NULL, "... STRING . format",
     "a text with values in it is string.format(\"n = %d\", n); %g is any number, %s anything"},
    {NULL, "... STRING .", "a string in front of its method stands in parentheses, (\"abc\"):upper()"},
    {"unexpected symbol", "... STRING :", "a string in front of its method stands in parentheses, (\"abc\"):upper()"},
    {"unexpected symbol near '='", "NAME = NAME =", "one = sets several by x, y = 1, 1: it gives no value itself"},
    {"unexpected symbol near '='", "... local NAME = ", "several locals are local x, y = 1, 2"},
    {NULL, "# include", CUDA},
    {NULL, "# define", CUDA},
    {NULL, "# pragma", CUDA},
    {NULL, "#", "a comment begins with --"},
    {"get length of a nil", "^ # include", CUDA},
    {"get length of a nil", "^ # NAME", "a comment begins with --; #x is the length of x"},
    {NULL, "^ //", SLASH},
    {NULL, "/ *", SLASH},
    {"arithmetic on a nil value (global", "// NAME", SLASH},
    {NULL, "__global__", CUDA},
    {NULL, "__device__", CUDA},
    {NULL, "template", CUDA},
    {NULL, "void", CUDA},
    {NULL, "std ::", CUDA},
    {NULL, "thrust ::", CUDA},
    {NULL, "import", "there is nothing to import: gpu is there; modules of Lua come by require \"name\""},
    {NULL, "from", "there is nothing to import: gpu is there; modules of Lua come by require \"name\""},
    {NULL, "def", FUNCT},
    {NULL, "fn", FUNCT},
    {NULL, "func", FUNCT},
    {NULL, "fun", FUNCT},
    {NULL, "let", LOCAL},
    {NULL, "const", LOCAL},
    {NULL, "var", LOCAL},
    {NULL, "auto", LOCAL},
    {NULL, "int", LOCAL},
    {NULL, "float", LOCAL},
    {NULL, "double", LOCAL},
    {NULL, "bool", LOCAL},
    {NULL, "global", "a variable without local is global already"},
    {NULL, "nonlocal", "a function sees the locals around it, and may set them"},
    {NULL, "using", "there is nothing to import: gpu is there; modules of Lua come by require \"name\""},
    {NULL, "dim3", LG_HINT_GRID},
    {NULL, "del", "a name is let go by x = nil, an array's memory by x:free()"},
    {NULL, "delete", "a name is let go by x = nil, an array's memory by x:free()"},
    {NULL, "is", "'is' is written ==, 'is not' ~="},
    {NULL, "print", "print is a function: print(x)"},
    {NULL, "assert", TRY},
    {NULL, "raise", TRY},
    {NULL, "except", TRY},
    {"function arguments expected", "... while NAME :", WHILE},
    {NULL, "with",
     "work goes into a stream by s:with(function() ... end); local f <close> = ... is closed at the end of its block"},
    {NULL, "class", "Lua has no classes: objects are tables, see setmetatable"},
    {NULL, "switch", IF},
    {"'}' expected", "... switch", IF},
    {"call a table value (for iterator", NULL,
     "a table is gone through by for i, v in ipairs(t) do; its keys by pairs(t)"},
    {"call a number value (for iterator", NULL, LOOP},
    {"call an array value (for iterator", NULL, LOOP},
    {"attempt to mul a 'string'", NULL, "a string is repeated by (\"ab\"):rep(3)"},
    {"bitwise operation on a boolean", "... ~ true", NOT},
    {"bitwise operation on a boolean", "... ~ NAME", NOT},
    {"attempt to add a 'string'", NULL, JOIN},
    {"attempt to add a 'number' with a 'string'", NULL, JOIN},
    {"with -1, and not array", "... max (", "the greater of two arrays, element by element, is gpu.maximum(x, y)"},
    {"with -1, and not array", "... min (", "the lesser of two arrays, element by element, is gpu.minimum(x, y)"},
    {"'max' (array expected, got number)", "gpu . max", "of numbers it is math.max(1, 2)"},
    {"'min' (array expected, got number)", "gpu . min", "of numbers it is math.min(1, 2)"},
    {"'read' (invalid format", NULL, "io.read reads what is typed; a file's text is io.open(name):read(\"a\")"},
    {"add' (array or number expected, got string)", NULL, JOIN},
    {"attempt to index a function value", "NAME [", "a function is called with parentheses, f(3)"},
    {"index a number value (field", "... ] [",
     "several indices go in one table, x[{1, 2}]; an element is a number, which has no indices"},
    {"index a number value", "... . item", ITEM},
    {"index a number value", "... : item", ITEM},
    {"index a number value", "... : to", ITEM},
    {"index a number value", "... . dtype", ITEM},
    {"index a number value", "... . shape", ITEM},
    {"assertion failed!", "... allclose",
     "how far apart they are is (x - y):abs():max(), and where, (~x:isclose(y)):nonzero()"},
    {"or a mask, not by boolean", "... ==", MASK},
    {"or a mask, not by boolean", "... ~=", MASK},
    {"not by nil", "... [ None", AXIS},
    {"not by nil", "... , None", AXIS},
    {"'kernel' (table expected, got number)", "... gsub",
     "gsub also gives how many it replaced; in parentheses, gpu.kernel((s:gsub(a, b))), it is the text alone"},
    {"expected (N, C, H, W) or (C, H, W)", NULL,
     "an image of rows and columns becomes one by x[\"newaxis, ...\"]; gpu.ndimage.convolve filters it as it is"},
    {"0 or more, got stream", NULL,
     "a stream comes behind the bytes, k(grid, block, 0, s)(x), or is named, {stream = s}"},
    {"arithmetic on a nil value (global", "^ float *", LOCAL},
    {"arithmetic on a nil value (global", "^ double *", LOCAL},
    {"arithmetic on a nil value (global", "^ int *", LOCAL},
    {"arithmetic on a nil value (global", "^ char *", LOCAL},
    {"to 'mul' (array or number expected, got nil)", "line: float", LOCAL},
    {"to 'mul' (array or number expected, got nil)", "line: double", LOCAL},
    {"to 'mul' (array or number expected, got nil)", "line: int", LOCAL},
    {"to 'mul' (array or number expected, got nil)", "line: char", LOCAL},
    {"expected a stream, as gpu.stream() makes, got number", NULL, LG_HINT_GRID},
    {"'imshow' (array expected, got string)", NULL, "a picture in a file is shown by gpu.imshow(gpu.load(\"x.png\"))"},
    {"'imshow' (table expected, got string)", NULL, "colours are an option, gpu.imshow(x, {cmap = \"gray\"})"},
    {"(number expected, got array)", "math . NAME (", MATH},
    {"number has no integer representation", "... format", "%d takes whole numbers; others are written by %g or %.3f"},
    {"'format' (number expected, got array)", NULL, "an array is written by %s; an element is a number, x[1]"},
    {"attempt to concatenate a boolean value", NULL, "it is written tostring(x)"},
    {"attempt to concatenate a table value", NULL,
     "a table of strings and numbers is a text by table.concat(t, \", \"); a cell that ends with its name shows any"},
    {"arithmetic on a table value", NULL,
     "tables have no arithmetic; gpu.array(t) makes an array of one, and 2 * x + 1 is of all its elements"},
    {"module 'numpy' not found", NULL, "NumPy's functions are gpu's, as gpu.zeros(3): ?numpy tells what is otherwise"},
    {"module 'torch' not found", NULL,
     "PyTorch's functions are gpu's, as gpu.zeros(3): ?numpy tells what is otherwise"},
    {"module 'cupy' not found", NULL, "CuPy's functions are gpu's, as gpu.zeros(3): ?cuda tells what is where"},
    {"module 'gpu' not found", NULL, "gpu is there without it"},
    {"attempt to index a nil value$", "... io . open (",
     "io.open gives nil and the reason for a file that it cannot open: assert(io.open(name))"},
    {"attempt to call a nil value$", "begins: )", JOINED},
    {"attempt to call a table value", "begins: )", JOINED},
    {"attempt to call a number value", "begins: )", JOINED},
    {"attempt to call a string value", "begins: )", JOINED},
    {"attempt to call a nil value$", "... load (",
     "load gives nil and the reason for what does not compile: assert(load(text))()"},
    {"attempt to call a nil value$", "... loadfile (",
     "loadfile gives nil and the reason for what does not compile: assert(loadfile(name))()"},
    {"arithmetic on a nil value$", "... tonumber (", "tonumber gives nil for what is no number"},
    {"'shl' (array or number expected, got nil)", "... cout <<", "it is written print(x)"},
    {"attempt to mod a 'string'", NULL, "a text with numbers in it is string.format(\"%.3f\", x)"},
    {"(global 'f')", "f STRING", "a text with values in it is \"n = \" .. n, or string.format(\"n = %d\", n)"},
    {"syntax error near '=='", NULL, "== asks whether two values are equal; a variable or an element gets one by ="},
    {"function arguments expected", "... if NAME :", IF},
    {"function arguments expected", "... lambda NAME :", FUNCT},
    {"function arguments expected", NULL, METH},
    {"syntax error near", "NAME NUMBER", "a call has parentheses, f(3); one string or table alone can do without"},
    {"", "... gpu : NAME", DOT},
    {"", "... gpu . NAME : NAME", DOT},
    {"on a shape value", NULL, LG_HINT_SHAPE},
    {"number expected, got shape", NULL, LG_HINT_SHAPE},
    {"(method 'unpack')", NULL, "it is written table.unpack(t), of shapes too"},
    {"nil value (field 'integer index')", NULL, "no element has this index: a table's first one is t[1]"},
    {"nil value (field '?')", NULL, "no element has this index or key: a table's first one is t[1]"},
};

/* Whether the part is in the message's first line; before a $, at its end. */
static bool says(const char *message, const char *part)
{
    size_t n = strlen(part), line = strcspn(message, "\n");
    if (n == 0 || part[n - 1] != '$') return strstr(message, part) != NULL;
    return line >= n - 1 && memcmp(message + line - (n - 1), part, n - 1) == 0;
}

/* Whether the token is the word, or of the kind that it stands for. */
static bool is(const struct lg_lexer *x, const struct lg_token *t, const char *word)
{
    static const char operators[] = " + - * / % ^ // .. & | ~ << >> ";
    if (strcmp(word, "NAME") == 0) return t->kind == LG_TOKEN_NAME;
    if (strcmp(word, "NUMBER") == 0) return t->kind == LG_TOKEN_NUMBER;
    if (strcmp(word, "STRING") == 0) return t->kind == LG_TOKEN_STRING;
    if (strcmp(word, "OP") != 0)
        return t->end - t->start == strlen(word) && !memcmp(x->text + t->start, word, strlen(word));
    char spaced[8];
    size_t n = t->end - t->start;
    if (t->kind != LG_TOKEN_OPERATOR || n > 3) return false;
    spaced[0] = ' ';
    memcpy(spaced + 1, x->text + t->start, n);
    memcpy(spaced + 1 + n, " ", 2);
    return strstr(operators, spaced) != NULL;
}

/* Whether the words are the tokens from t on, the place among them or right behind; or (parted) a blank or the line's
 * end. */
static bool matches_at(struct lg_lexer x, struct lg_token t, const char *words, bool first, bool parted, const char *at)
{
    const char *from = x.text + t.start;
    size_t end = t.end;
    if (first && !t.first) return false;
    while (*words) {
        char word[16];
        size_t n = strcspn(words, " ");
        memcpy(word, words, n);
        word[n] = '\0';
        if (t.kind == LG_TOKEN_END || !is(&x, &t, word)) return false;
        words += n + (words[n] == ' ');
        end = t.end;
        lg_lexer_code(&x, &t);
    }
    if (parted && end < x.length && !strchr(" \t\r\n", x.text[end])) return false;
    return !at || (at >= from && at <= x.text + t.start);
}

/* Whether the loop that was begun last before the place is begun by the word. */
static bool in_loop(const struct lg_place *p, const char *word)
{
    struct lg_lexer x;
    struct lg_token t, last = {0};
    if (!p->at) return false;
    lg_lexer_init(&x, p->source, (size_t)(p->at - p->source));
    while (lg_lexer_code(&x, &t))
        if (t.keyword == LG_FOR || t.keyword == LG_WHILE) last = t;
    return last.end && is(&x, &last, word);
}

/* Whether a call of what stands before it may be a line of its own. */
static bool begins_behind(const struct lg_place *p, const char *word)
{
    struct lg_lexer x;
    struct lg_token t, before = {0};
    lg_lexer_init(&x, p->source, p->source_length);
    for (; lg_lexer_code(&x, &t); before = t)
        if (t.first && (lg_token_is(&x, &t, "(") || lg_token_is(&x, &t, "{") || t.kind == LG_TOKEN_STRING) &&
            is(&x, &before, word))
            return true;
    return false;
}

static bool matches(const struct lg_place *p, const char *words)
{
    if (strncmp(words, "begins: ", 8) == 0) return begins_behind(p, words + 8);
    if (strncmp(words, "loop: ", 6) == 0) return in_loop(p, words + 6);
    struct lg_lexer x;
    struct lg_token t;
    bool wide = strncmp(words, "line: ", 6) == 0, anywhere = wide || strncmp(words, "... ", 4) == 0;
    bool first = strncmp(words, "^ ", 2) == 0;
    if (!p->at && !anywhere) return false;
    words += wide ? 6 : first ? 2 : anywhere ? 4 : 0;
    lg_lexer_init(&x, wide ? p->source : p->text, wide ? p->source_length : p->length);
    while (lg_lexer_code(&x, &t))
        if (matches_at(x, t, words, first || wide, wide, anywhere ? NULL : p->at)) return true;
    return false;
}

const char *lg_hint_brackets(const char *text, size_t length)
{
    struct lg_lexer x;
    struct lg_token t, string = {0};
    int open = 0;
    lg_lexer_init(&x, text, length);
    while (lg_lexer_code(&x, &t))
        if (t.kind == LG_TOKEN_STRING && t.is_long && !t.unfinished) string = t;
    for (size_t i = string.start; i < string.end; i++) open += (text[i] == '{') - (text[i] == '}');
    if (open <= 0 || text[string.start + 1] != '[') return NULL;
    return "]] ends the string, in x[y[i]] too: write gpu.kernel [=[ ... ]=]";
}

/* On two shapes that do not broadcast: a product that was meant of matrices, a vector that was meant as a column. */
static const char *of_shapes(const struct lg_place *p, const char *message)
{
    long long rows, columns, other_rows, other_columns, length;
    const char *at = strstr(message, "the shapes (");
    if (!at || !says(message, ") do not broadcast")) return NULL;
    if (sscanf(at, "the shapes (%lld, %lld) and (%lld, %lld)", &rows, &columns, &other_rows, &other_columns) == 4)
        return columns == other_rows && matches(p, "... *") ? ELEMENTS : NULL;
    bool vector = sscanf(at, "the shapes (%lld, %lld) and (%lld,)", &rows, &columns, &length) == 3 ||
                  sscanf(at, "the shapes (%lld,) and (%lld, %lld)", &length, &rows, &columns) == 3;
    return vector && length == rows ? COLUMN : NULL;
}

/* Whether the place has a bracket that ends what nothing in the source before it began. */
static bool closes_nothing(const struct lg_place *p)
{
    static const char closing[] = ")]}";
    struct lg_lexer x;
    struct lg_token t;
    size_t open = 0;
    if (!p->at || p->at < p->source || p->at >= p->source + p->source_length || !*p->at || !strchr(closing, *p->at))
        return false;
    lg_lexer_init(&x, p->source, (size_t)(p->at - p->source));
    while (lg_lexer_code(&x, &t)) {
        if (t.kind != LG_TOKEN_OPERATOR || t.end - t.start != 1) continue;
        if (strchr("([{", x.text[t.start])) open++;
        if (strchr(closing, x.text[t.start])) open -= open > 0;
    }
    return open == 0;
}

const char *lg_hint(const struct lg_place *p, const char *message, bool syntax)
{
    if (syntax && closes_nothing(p))
        return "this bracket ends nothing: it is one too many, or one is missing before it";
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        if (hints[i].message ? !says(message, hints[i].message) : !syntax) continue;
        if (!hints[i].tokens || matches(p, hints[i].tokens)) return hints[i].text;
    }
    return of_shapes(p, message);
}
