/* io.read and io.lines of a session whose face asks the user: lines come from the sink, formats are Lua's. What a
 * format leaves of a line waits for the next read. */
#include "lang/session_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "runtime/interrupt.h"

/* Asks for one more line and adds it, with its newline, to what waits. False at the end of input. [raises] */
static bool more(lua_State *L, struct lg_session *s)
{
    char *line = s->sink.input(s->sink.context, "", false);
    if (!line) return false;
    if (s->input_at == s->input.length) s->input_at = s->input.length = 0;
    lg_buffer_puts(&s->input, line);
    lg_buffer_puts(&s->input, "\n");
    free(line);
    if (s->input.failed) {
        lg_buffer_release(&s->input);
        s->input_at = 0;
        luaL_error(L, "not enough memory for the input");
    }
    return true;
}

static size_t waiting(const struct lg_session *s)
{
    return s->input.length - s->input_at;
}

/* The next byte, or -1 at the end of input. */
static int peek(lua_State *L, struct lg_session *s)
{
    if (!waiting(s) && !more(L, s)) return -1;
    return (unsigned char)s->input.data[s->input_at];
}

static bool read_line(lua_State *L, struct lg_session *s, bool keep_newline)
{
    if (peek(L, s) < 0) return false;
    const char *from = s->input.data + s->input_at;
    const char *end = memchr(from, '\n', waiting(s));
    size_t n = (size_t)(end - from);
    s->input_at += n + 1;
    lua_pushlstring(L, from, n + keep_newline);
    return true;
}

static void read_all(lua_State *L, struct lg_session *s)
{
    while (more(L, s)) continue;
    lua_pushlstring(L, waiting(s) ? s->input.data + s->input_at : "", waiting(s));
    s->input_at = s->input.length;
}

static bool read_count(lua_State *L, struct lg_session *s, size_t count)
{
    if (peek(L, s) < 0) return false;
    while (waiting(s) < count && more(L, s)) continue;
    size_t n = waiting(s) < count ? waiting(s) : count;
    lua_pushlstring(L, s->input.data + s->input_at, n);
    s->input_at += n;
    return true;
}

/* Takes the longest text that could be a numeral, as liolib.c does, and converts it. */
static bool read_number(lua_State *L, struct lg_session *s)
{
    char text[201];
    size_t n = 0;
    int c = peek(L, s);
    while (c >= 0 && strchr(" \t\n\v\f\r", c)) {
        s->input_at++;
        c = peek(L, s);
    }
    bool hex = false;
    while (c > 0 && n < sizeof text - 1) {
        char before = n ? (char)(text[n - 1] | 32) : 0;
        bool sign = (c == '+' || c == '-') && (n == 0 || before == (hex ? 'p' : 'e'));
        bool prefix = (c | 32) == 'x' && n && text[n - 1] == '0' && (n == 1 || (n == 2 && strchr("+-", text[0])));
        bool digit = strchr(hex ? "0123456789abcdefABCDEFpP." : "0123456789eE.", c) != NULL;
        if (!sign && !prefix && !digit) break;
        hex |= prefix;
        text[n++] = (char)c;
        s->input_at++;
        c = waiting(s) ? (unsigned char)s->input.data[s->input_at] : -1;
    }
    text[n] = '\0';
    return lua_stringtonumber(L, text) != 0;
}

static bool read_format(lua_State *L, struct lg_session *s, int arg)
{
    if (lua_type(L, arg) == LUA_TNUMBER) {
        lua_Integer count = luaL_checkinteger(L, arg);
        if (count > 0) return read_count(L, s, (size_t)count);
        if (peek(L, s) < 0) return false;
        lua_pushliteral(L, "");
        return true;
    }
    const char *format = luaL_checkstring(L, arg);
    if (*format == '*') format++;
    switch (*format) {
    case 'n': return read_number(L, s);
    case 'l': return read_line(L, s, false);
    case 'L': return read_line(L, s, true);
    case 'a': read_all(L, s); return true;
    default: return luaL_argerror(L, arg, "invalid format: \"n\", \"l\", \"L\", \"a\" or a number of bytes");
    }
}

/* Reads by the formats first..last; pushes what they give, nil for the first that fails. */
static int read_formats(lua_State *L, struct lg_session *s, int first, int last)
{
    fflush(stdout);
    luaL_checkstack(L, last - first + 2, "too many formats");
    if (last < first) {
        if (!read_line(L, s, false)) luaL_pushfail(L);
        return 1;
    }
    int count = 0;
    for (int i = first; i <= last; i++) {
        count++;
        if (!read_format(L, s, i)) {
            luaL_pushfail(L);
            break;
        }
    }
    return count;
}

/* Whether the default input is still stdin, which is upvalue 3. */
static bool reads_user(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "_IO_input");
    bool same = lua_rawequal(L, -1, lua_upvalueindex(3));
    lua_pop(L, 1);
    return same;
}

int lg_sink_read(lua_State *L)
{
    if (!reads_user(L)) return lg_call_stock(L);
    return read_formats(L, lg_upvalue_session(L), 1, lua_gettop(L));
}

/* The iterator of io.lines: upvalues the session, the number of formats, the formats. */
static int next_line(lua_State *L)
{
    int n = (int)lua_tointeger(L, lua_upvalueindex(2));
    lua_settop(L, 0);
    luaL_checkstack(L, n, "too many formats");
    for (int i = 0; i < n; i++) lua_pushvalue(L, lua_upvalueindex(3 + i));
    return read_formats(L, lg_upvalue_session(L), 1, n);
}

int lg_sink_lines(lua_State *L)
{
    if (!lua_isnoneornil(L, 1) || !reads_user(L)) return lg_call_stock(L);
    int n = lua_gettop(L);
    if (n > 0) lua_remove(L, 1);
    n = lua_gettop(L);
    luaL_argcheck(L, n <= 200, 200, "too many formats");
    lua_pushlightuserdata(L, lg_upvalue_session(L));
    lua_insert(L, 1);
    lua_pushinteger(L, n);
    lua_insert(L, 2);
    lua_pushcclosure(L, next_line, n + 2);
    return 1;
}

/* ---- io.password ---- */

/* A line from the terminal, without what ends it. False at the end of input, and when it is interrupted. */
static bool read_hidden(int fd, struct lg_buffer *line)
{
    for (char c;;) {
        ssize_t n = read(fd, &c, 1);
        if (n < 0 && errno == EINTR && !rt_interrupted()) continue;
        if (n <= 0) return false;
        if (c == '\n') return true;
        lg_buffer_add(line, &c, 1);
    }
}

/* Without echo; NULL when there is no terminal, or no line. */
static const char *ask_terminal(const char *prompt, struct lg_buffer *line)
{
    struct termios before;
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    bool terminal = fd >= 0 && tcgetattr(fd, &before) == 0, good = false;
    if (terminal) {
        struct termios hidden = before;
        hidden.c_lflag = (hidden.c_lflag | ICANON | ISIG) & ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
        tcsetattr(fd, TCSAFLUSH, &hidden);
        good = write(fd, prompt, strlen(prompt)) >= 0 && read_hidden(fd, line);
        tcsetattr(fd, TCSAFLUSH, &before);
        if (write(fd, "\n", 1) < 0) good = false;
    }
    if (fd >= 0) close(fd);
    lg_buffer_puts(line, "");
    return good && !line->failed ? line->data : NULL;
}

static int session_password(lua_State *L)
{
    struct lg_session *s = lg_upvalue_session(L);
    const char *prompt = luaL_optstring(L, 1, "Password: ");
    struct lg_buffer *line = lg_push_buffer(L);
    fflush(stdout);
    if (s->sink.input) {
        char *given = s->sink.input(s->sink.context, prompt, true);
        lua_pushstring(L, given);
        free(given);
    } else {
        lua_pushstring(L, ask_terminal(prompt, line));
    }
    lg_poll(L);
    return 1;
}

static const struct lg_function password_row = {
    "io.password", NULL, "io.password([prompt])",
    "Asks the user for a line that is not shown while it is typed, in the notebook and in a terminal; nil when there is "
    "nobody to ask.\nIn sessions; scripts do not have it.",
    "local function key() return os.getenv('API_KEY') or io.password('Key: ') end"};

void lg_open_password(lua_State *L, struct lg_session *s)
{
    lua_getglobal(L, "io");
    lua_pushlightuserdata(L, s);
    lua_pushcclosure(L, session_password, 1);
    lua_setfield(L, -2, "password");
    lua_pop(L, 1);
    lg_document(L, "session", &password_row);
}
