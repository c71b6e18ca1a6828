/* One row for each function of Lua's standard library, so that ?name and completion can explain them. */
#include "lang/session_state.h"

/* Rows G(name, ...) for globals, X(table, name, ...) for fields: what follows the name in the signature, the summary.
 */
#define ROWS(G, X)                                                                                                     \
    G("assert", "(value [, message ...])", "Raises `message` when the value is false or nil; else returns all.")       \
    G("collectgarbage", "([option [, arg]])",                                                                          \
      "Controls the garbage collector: \"collect\" (the default), \"count\" (KiB in use), \"step\", \"stop\", "        \
      "\"restart\", \"incremental\", \"generational\", \"isrunning\".")                                                \
    G("dofile", "([filename])", "Runs a Lua file and returns what it returns.")                                        \
    G("error", "(message [, level])", "Raises an error; level 2 blames the caller.")                                   \
    G("getmetatable", "(object)", "The object's metatable, or its __metatable field.")                                 \
    G("ipairs", "(t)", "Iterates over t[1], t[2], ... up to the first nil: for i, v in ipairs(t) do.")                 \
    G("load", "(chunk [, chunkname [, mode [, env]]])",                                                                \
      "Compiles Lua text into a function; nil and a message when it has a syntax error.")                              \
    G("loadfile", "([filename [, mode [, env]]])", "Compiles a Lua file into a function, without running it.")         \
    G("next", "(table [, index])", "The key and value that follow a key; from nil the first.")                         \
    G("pairs", "(t)", "Iterates over all keys and values, in no order: for k, v in pairs(t) do.")                      \
    G("pcall", "(f [, arg ...])", "Calls f: true and its results, or false and the error.")                            \
    G("print", "(...)", "Writes its arguments, separated by tabs, and a newline.")                                     \
    G("rawequal", "(v1, v2)", "Equality without metamethods.")                                                         \
    G("rawget", "(table, index)", "table[index] without metamethods.")                                                 \
    G("rawlen", "(v)", "The length of a table or string without metamethods.")                                         \
    G("rawset", "(table, index, value)", "table[index] = value without metamethods; returns the table.")               \
    G("require", "(modname)", "Loads a module, once, and returns its value.")                                          \
    G("select", "(n, ...)", "The arguments from the n-th on; \"#\" gives their number.")                               \
    G("setmetatable", "(table, metatable)", "Sets the table's metatable and returns the table.")                       \
    G("tonumber", "(e [, base])", "The number that e is or stands for, else nil.")                                     \
    G("tostring", "(v)", "The value as text, by its __tostring where it has one.")                                     \
    G("type", "(v)", "The type's name: nil, number, string, boolean, table, function, thread or userdata.")            \
    G("warn", "(msg1 ...)", "Emits a warning; \"@on\" and \"@off\" switch warnings.")                                  \
    G("xpcall", "(f, handler [, arg ...])", "As pcall, with a function that sees the error where it arose.")           \
    X("coroutine", "close", "(co)", "Closes a coroutine and its pending <close> variables.")                           \
    X("coroutine", "create", "(f)", "A new coroutine that will run f.")                                                \
    X("coroutine", "isyieldable", "([co])", "Whether the coroutine can yield.")                                        \
    X("coroutine", "resume", "(co [, value ...])", "Starts or continues a coroutine: true and what it yields.")        \
    X("coroutine", "running", "()", "The running coroutine, and whether it is the main one.")                          \
    X("coroutine", "status", "(co)", "\"running\", \"suspended\", \"normal\" or \"dead\".")                            \
    X("coroutine", "wrap", "(f)", "A function that resumes a new coroutine each time it is called.")                   \
    X("coroutine", "yield", "(...)", "Suspends the running coroutine; the values are what resume returns.")            \
    X("debug", "getinfo", "([thread,] f [, what])", "A table of what is known of a function or call level.")           \
    X("debug", "getlocal", "([thread,] f, n)", "Name and value of a local variable of a call level.")                  \
    X("debug", "getupvalue", "(f, n)", "Name and value of an upvalue.")                                                \
    X("debug", "sethook", "([thread,] hook, mask [, count])", "Sets a hook; the session's interrupt uses it too.")     \
    X("debug", "traceback", "([thread,] [message [, level]])", "The calls that are active, as text.")                  \
    X("io", "close", "([file])", "Closes a file, or the default output.")                                              \
    X("io", "input", "([file])", "Sets or returns the default input.")                                                 \
    X("io", "lines", "([filename, ...])", "Iterates over the lines of a file: for line in io.lines(name) do.")         \
    X("io", "open", "(filename [, mode])",                                                                             \
      "Opens a file: \"r\", \"w\", \"a\", with + to update, with b for binary; nil and a message on failure.")         \
    X("io", "output", "([file])", "Sets or returns the default output.")                                               \
    X("io", "popen", "(prog [, mode])", "Runs a program and returns a file to read from it or write to it.")           \
    X("io", "read", "(...)", "Reads by formats: \"n\", \"l\" (the default), \"L\", \"a\" or a number of bytes.")       \
    X("io", "tmpfile", "()", "A temporary file that is removed when the program ends.")                                \
    X("io", "type", "(obj)", "\"file\", \"closed file\" or nil.")                                                      \
    X("io", "write", "(...)", "Writes strings and numbers as they are.")                                               \
    X("math", "abs", "(x)", "The absolute value.")                                                                     \
    X("math", "acos", "(x)", "The arc cosine in radians.")                                                             \
    X("math", "asin", "(x)", "The arc sine in radians.")                                                               \
    X("math", "atan", "(y [, x])", "The arc tangent of y/x in radians, in the right quadrant.")                        \
    X("math", "ceil", "(x)", "The smallest integer not below x.")                                                      \
    X("math", "cos", "(x)", "The cosine of x radians.")                                                                \
    X("math", "deg", "(x)", "Radians to degrees.")                                                                     \
    X("math", "exp", "(x)", "e to the power x.")                                                                       \
    X("math", "floor", "(x)", "The largest integer not above x.")                                                      \
    X("math", "fmod", "(x, y)", "The remainder of x/y, rounded towards zero.")                                         \
    X("math", "log", "(x [, base])", "The logarithm, natural unless a base is given.")                                 \
    X("math", "max", "(x, ...)", "The largest argument.")                                                              \
    X("math", "min", "(x, ...)", "The smallest argument.")                                                             \
    X("math", "modf", "(x)", "The integral and the fractional part.")                                                  \
    X("math", "rad", "(x)", "Degrees to radians.")                                                                     \
    X("math", "random", "([m [, n]])", "A random float in [0,1), or an integer in [1,m] or [m,n].")                    \
    X("math", "randomseed", "([x [, y]])", "Seeds the random numbers; without arguments at random.")                   \
    X("math", "sin", "(x)", "The sine of x radians.")                                                                  \
    X("math", "sqrt", "(x)", "The square root.")                                                                       \
    X("math", "tan", "(x)", "The tangent of x radians.")                                                               \
    X("math", "tointeger", "(x)", "x as an integer where it has that value, else nil.")                                \
    X("math", "type", "(x)", "\"integer\", \"float\", or nil for what is no number.")                                  \
    X("math", "ult", "(m, n)", "Whether m is below n as unsigned integers.")                                           \
    X("os", "clock", "()", "Processor time used, in seconds.")                                                         \
    X("os", "date", "([format [, time]])", "Date and time as text, or with \"*t\" as a table.")                        \
    X("os", "difftime", "(t2, t1)", "Seconds from t1 to t2.")                                                          \
    X("os", "execute", "([command])", "Runs a shell command: true or nil, \"exit\" or \"signal\", and the number.")    \
    X("os", "exit", "([code [, close]])", "Ends the program.")                                                         \
    X("os", "getenv", "(varname)", "The value of an environment variable, or nil.")                                    \
    X("os", "remove", "(filename)", "Removes a file or an empty folder.")                                              \
    X("os", "rename", "(oldname, newname)", "Renames a file.")                                                         \
    X("os", "setlocale", "(locale [, category])", "Sets the program's locale.")                                        \
    X("os", "time", "([table])", "Seconds since 1970 now, or of the date in a table.")                                 \
    X("os", "tmpname", "()", "A name for a temporary file.")                                                           \
    X("string", "byte", "(s [, i [, j]])", "The codes of the bytes i to j.")                                           \
    X("string", "char", "(...)", "The string of the bytes with these codes.")                                          \
    X("string", "dump", "(function [, strip])", "The function in binary form, for load.")                              \
    X("string", "find", "(s, pattern [, init [, plain]])", "Where a pattern first matches: start, end, captures.")     \
    X("string", "format", "(formatstring, ...)", "Formats values as C's printf does; %q writes Lua literals.")         \
    X("string", "gmatch", "(s, pattern [, init])", "Iterates over all matches of a pattern.")                          \
    X("string", "gsub", "(s, pattern, repl [, n])",                                                                    \
      "Replaces matches by a string, a table's fields or a function's results; also returns how many.")                \
    X("string", "len", "(s)", "The number of bytes.")                                                                  \
    X("string", "lower", "(s)", "The string in lower case.")                                                           \
    X("string", "match", "(s, pattern [, init])", "The captures of the first match, or nil.")                          \
    X("string", "pack", "(fmt, v1, v2, ...)", "Values in binary form.")                                                \
    X("string", "packsize", "(fmt)", "The size of what string.pack makes.")                                            \
    X("string", "rep", "(s, n [, sep])", "n copies of the string, with a separator between.")                          \
    X("string", "reverse", "(s)", "The bytes in reverse order.")                                                       \
    X("string", "sub", "(s, i [, j])", "The bytes i to j; negative positions count from the end.")                     \
    X("string", "unpack", "(fmt, s [, pos])", "The values in a string made by string.pack, and where it ended.")       \
    X("string", "upper", "(s)", "The string in upper case.")                                                           \
    X("table", "concat", "(list [, sep [, i [, j]]])", "The items of a list joined into one string.")                  \
    X("table", "insert", "(list, [pos,] value)", "Inserts an item, at the end unless told where.")                     \
    X("table", "move", "(a1, f, e, t [,a2])", "Copies a1[f..e] to a2[t...], and returns a2.")                          \
    X("table", "pack", "(...)", "A table of the arguments, with their number as n.")                                   \
    X("table", "remove", "(list [, pos])", "Removes and returns an item, the last unless told which.")                 \
    X("table", "sort", "(list [, comp])", "Sorts a list in place; comp(a, b) says whether a comes first.")             \
    X("table", "unpack", "(list [, i [, j]])", "The items of a list as values.")                                       \
    X("utf8", "char", "(...)", "The UTF-8 text of the code points.")                                                   \
    X("utf8", "codepoint", "(s [, i [, j [, lax]]])", "The code points of the characters between two bytes.")          \
    X("utf8", "codes", "(s [, lax])", "Iterates over characters: for p, c in utf8.codes(s) do.")                       \
    X("utf8", "len", "(s [, i [, j [, lax]]])", "The number of characters, or nil and the first bad byte.")            \
    X("utf8", "offset", "(s, n [, i])", "The byte where the n-th character starts.")

/* They have no example: they are Lua's own. */
#define ROW(table, name, full, arguments, doc) {table, {name, NULL, full arguments, doc, NULL}},
#define GLOBAL(name, arguments, doc)           ROW(NULL, name, name, arguments, doc)
#define FIELD(table, name, arguments, doc)     ROW(table, name, table "." name, arguments, doc)

static const struct row {
    const char *table; /* NULL for globals */
    struct lg_function function;
} rows[] = {ROWS(GLOBAL, FIELD)};

bool lg_is_stdlib(const struct lg_function *row)
{
    const char *p = (const char *)row, *first = (const char *)rows;
    return p >= first && p < first + sizeof rows;
}

void lg_document_stdlib(lua_State *L)
{
    const char *table = NULL;
    lua_pushglobaltable(L);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (table != rows[i].table) {
            table = rows[i].table;
            lua_pop(L, 1);
            lua_getglobal(L, table);
        }
        if (!lua_istable(L, -1)) continue;
        lua_getfield(L, -1, rows[i].function.name);
        if (lua_isfunction(L, -1)) lg_document_value(L, -1, &rows[i].function);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}
