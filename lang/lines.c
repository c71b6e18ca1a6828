/* Which lines of a text hold code. Lua tells that of functions that exist, and those inside a function that has not run
 * do not; the binary form of a chunk has them all. It is read here as Lua 5.4 writes it. */
#include "lang/debugger_state.h"

#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"

#define HEADER_BYTES (4 + 1 + 1 + 6 + 3) /* signature, version, format, check data, sizes of three types */
#define MAX_NESTED   200                 /* Lua allows no more */

struct reader {
    const unsigned char *at, *end;
    bool *lines;
    size_t last; /* the last line that can be marked */
    bool bad;    /* the form is not the expected one */
};

static unsigned byte(struct reader *r)
{
    if (r->at < r->end) return *r->at++;
    r->bad = true;
    return 0;
}

static void skip(struct reader *r, size_t n)
{
    if (n > (size_t)(r->end - r->at)) {
        r->bad = true;
        n = (size_t)(r->end - r->at);
    }
    r->at += n;
}

/* Seven bits a byte, the last one marked. */
static size_t number(struct reader *r)
{
    size_t n = 0;
    for (unsigned b = 0; !(b & 0x80) && !r->bad;) {
        b = byte(r);
        n = n << 7 | (b & 0x7f);
    }
    return n;
}

static void skip_string(struct reader *r)
{
    size_t n = number(r); /* one more than its length; 0 for none */
    if (n) skip(r, n - 1);
}

static void skip_constants(struct reader *r)
{
    for (size_t n = number(r); n-- > 0 && !r->bad;) {
        switch (byte(r) & 0x3f) {
        case LUA_TNUMBER:                                 /* an integer */
        case LUA_TNUMBER | 1 << 4: skip(r, 8); break;     /* a float */
        case LUA_TSTRING:                                 /* a short one */
        case LUA_TSTRING | 1 << 4: skip_string(r); break; /* a long one */
        default: break;                                   /* nil, false, true */
        }
    }
}

static void mark(struct reader *r, size_t line)
{
    if (line <= r->last) r->lines[line] = true;
}

/* Of each instruction the distance of its line from the one before; -128 says that its line is in the list behind. The
 * first of a function with varargs prepares those and is never stopped at. */
static void read_lines(struct reader *r, size_t line, bool varargs)
{
    size_t count = number(r);
    const unsigned char *steps = r->at;
    skip(r, count);
    size_t left = number(r);
    for (size_t i = 0; i < count && !r->bad; i++) {
        int step = (signed char)steps[i];
        if (step != -128) {
            line += (size_t)(ptrdiff_t)step;
        } else if (left-- > 0) {
            number(r);
            line = number(r);
        } else {
            r->bad = true;
        }
        if (i > 0 || !varargs) mark(r, line);
    }
    for (; left > 0 && left != SIZE_MAX && !r->bad; left--) {
        number(r);
        number(r);
    }
}

static void read_function(struct reader *r, int depth)
{
    if (depth > MAX_NESTED) r->bad = true;
    skip_string(r);
    size_t line = number(r);
    number(r); /* the last line */
    skip(r, 1);
    bool varargs = byte(r) != 0;
    skip(r, 1);
    size_t instructions = number(r);
    skip(r, instructions > SIZE_MAX / 4 ? SIZE_MAX : 4 * instructions);
    skip_constants(r);
    size_t upvalues = number(r);
    skip(r, upvalues > SIZE_MAX / 3 ? SIZE_MAX : 3 * upvalues);
    for (size_t n = number(r); n-- > 0 && !r->bad;) read_function(r, depth + 1);
    read_lines(r, line, varargs);
    for (size_t n = number(r); n-- > 0 && !r->bad;) {
        skip_string(r);
        number(r);
        number(r);
    }
    for (size_t n = number(r); n-- > 0 && !r->bad;) skip_string(r);
}

static int add_piece(lua_State *L, const void *p, size_t n, void *buffer)
{
    (void)L;
    lg_buffer_add(buffer, p, n);
    return ((struct lg_buffer *)buffer)->failed;
}

/* Pushes the function of a text, and says whether it compiles. A cell of a magic is Lua below its first line. */
static bool load(lua_State *L, const struct lg_debug_source *source)
{
    struct lg_source cell = {source->text, source->length, "=?", 1};
    const char *end = memchr(cell.text, '\n', cell.length);
    size_t first = end ? (size_t)(end - cell.text) : cell.length;
    if (source->chunk) {
        size_t left_out = cell.length && *cell.text == '#' ? first : 0;
        return luaL_loadbufferx(L, cell.text + left_out, cell.length - left_out, cell.chunk, "t") == LUA_OK;
    }
    if (cell.length >= 2 && memcmp(cell.text, "%%", 2) == 0 && end) {
        cell.text = end + 1;
        cell.length -= first + 1;
        cell.first_line = 2;
    }
    return lg_compile_cell(L, &cell) == LUA_OK;
}

bool *lg_active_lines(struct lg_session *s, const struct lg_debug_source *source, size_t *count)
{
    lua_State *L = s->L;
    struct lg_buffer dump = {0};
    int top = lua_gettop(L);
    bool good = lua_checkstack(L, 8) && load(L, source) && lua_dump(L, add_piece, &dump, false) == 0 && !dump.failed;
    lua_settop(L, top);
    struct reader r = {.at = (const unsigned char *)dump.data, .last = 1};
    for (size_t i = 0; i < source->length; i++) r.last += source->text[i] == '\n';
    r.lines = good ? rt_calloc(r.last + 1, sizeof *r.lines) : NULL;
    if (r.lines) {
        r.end = r.at + dump.length;
        skip(&r, HEADER_BYTES + sizeof(lua_Integer) + sizeof(lua_Number) + 1);
        read_function(&r, 0);
    }
    lg_buffer_release(&dump);
    *count = r.lines && !r.bad ? r.last : 0;
    if (*count) return r.lines;
    free(r.lines);
    return NULL;
}
