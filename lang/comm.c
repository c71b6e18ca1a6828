/* Comms: channels between a cell's code and a front end's, by name of a target. Either side opens one; each message is
 * a table, and buffers of bytes beside it. Without a front end, in the terminal, what is sent goes nowhere. */
#include "lang/session_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include "lang/apart.h"
#include "lang/json.h"

#define COMM        "lunarray.comm"
#define ID_BYTES    16
#define MAX_BUFFERS 64

/* Addresses that name tables of the registry: id -> comm, target -> function. */
static const char open_key, targets_key;

static void push_comm(lua_State *L, const char *id, const char *target)
{
    lua_createtable(L, 0, 4);
    lg_set_string(L, "id", id);
    lg_set_string(L, "target", target);
    luaL_setmetatable(L, COMM);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &open_key);
    lua_pushstring(L, id);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Pushes the comm of this id, or nil. */
static bool push_open(lua_State *L, const char *id)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &open_key);
    lua_pushstring(L, id);
    bool found = lua_rawget(L, -2) != LUA_TNIL;
    lua_remove(L, -2);
    return found;
}

static bool is_open(lua_State *L, const char *id)
{
    bool open = push_open(L, id);
    lua_pop(L, 1);
    return open;
}

static void forget(lua_State *L, const char *id)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &open_key);
    lua_pushstring(L, id);
    lua_pushnil(L);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* The JSON text of an argument that is a table or nothing. Pushes what keeps it alive. */
static const char *argument_json(lua_State *L, int arg, const char *what, size_t *length)
{
    if (!lua_isnoneornil(L, arg)) luaL_checktype(L, arg, LUA_TTABLE);
    struct lg_buffer *b = lg_push_buffer(L);
    if (lua_isnoneornil(L, arg))
        lg_buffer_puts(b, "{}");
    else
        lg_add_json(L, b, arg, what);
    if (b->failed) luaL_error(L, "not enough memory for the message");
    *length = b->length;
    return b->data;
}

/* The list of strings at arg, or nothing. */
static size_t argument_buffers(lua_State *L, int arg, struct lg_bytes buffers[MAX_BUFFERS])
{
    if (lua_isnoneornil(L, arg)) return 0;
    luaL_checktype(L, arg, LUA_TTABLE);
    size_t n = lua_rawlen(L, arg);
    luaL_argcheck(L, n <= MAX_BUFFERS, arg, "a message carries at most 64 buffers");
    luaL_checkstack(L, (int)n + 2, NULL);
    for (size_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, arg, (lua_Integer)i + 1) != LUA_TSTRING)
            luaL_error(L, "buffers is a list of strings; its item %d is a %s", (int)i + 1, lg_type_name(L, -1));
        buffers[i].data = lua_tolstring(L, -1, &buffers[i].length); /* stays on the stack */
    }
    return n;
}

/* Sends the arguments from `first` on: data, metadata, buffers. */
static void send(lua_State *L, struct lg_comm_message m, int first)
{
    const struct lg_session *s = lg_session_of(L);
    struct lg_bytes buffers[MAX_BUFFERS];
    lua_settop(L, first + 2);
    m.data = argument_json(L, first, "data", &m.data_length);
    m.metadata = argument_json(L, first + 1, "metadata", &m.metadata_length);
    m.buffer_count = argument_buffers(L, first + 2, buffers);
    m.buffers = buffers;
    if (s && s->sink.comm) s->sink.comm(s->sink.context, &m);
}

static int comm_open(lua_State *L)
{
    const char *target = luaL_checkstring(L, 1);
    unsigned char bytes[ID_BYTES];
    char id[2 * ID_BYTES + 1];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) return luaL_error(L, "no random bytes for an id");
    for (int i = 0; i < ID_BYTES; i++) snprintf(id + (ptrdiff_t)2 * i, 3, "%02x", bytes[i]);
    struct lg_comm_message m = {.kind = LG_COMM_OPEN, .id = id, .target = target};
    send(L, m, 2);
    push_comm(L, id, target);
    return 1;
}

static const char *check_comm(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "id");
    const char *id = lua_tostring(L, -1);
    if (!id) luaL_argerror(L, 1, "expected a comm, as comm.open returns it; call its methods with a colon");
    lua_pop(L, 1); /* the comm keeps it alive */
    return id;
}

static int comm_send(lua_State *L)
{
    const char *id = check_comm(L);
    if (!is_open(L, id)) return luaL_error(L, "this comm was closed; comm.open makes a new one");
    struct lg_comm_message m = {.kind = LG_COMM_MSG, .id = id};
    send(L, m, 2);
    return 0;
}

static int comm_close(lua_State *L)
{
    const char *id = check_comm(L);
    struct lg_comm_message m = {.kind = LG_COMM_CLOSE, .id = id};
    if (!is_open(L, id)) return 0;
    send(L, m, 2);
    forget(L, id);
    return 0;
}

static int comm_target(lua_State *L)
{
    luaL_checkstring(L, 1);
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &targets_key);
    lua_insert(L, 1);
    lua_rawset(L, 1);
    return 0;
}

static int comm_list(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lg_mark_list(L, 1);
    return 1;
}

/* Messages from the front end. */

struct delivery {
    struct lg_session *session;
    const struct lg_comm_message *m;
};

/* Pushes data and the list of buffers. */
static void push_contents(lua_State *L, const struct lg_comm_message *m)
{
    lg_push_json(L, m->data, m->data_length);
    lua_createtable(L, (int)m->buffer_count, 0);
    for (size_t i = 0; i < m->buffer_count; i++) {
        lua_pushlstring(L, m->buffers[i].data, m->buffers[i].length);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void opened(lua_State *L, const struct delivery *d)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &targets_key);
    if (lua_getfield(L, -1, d->m->target) != LUA_TFUNCTION) {
        const struct lg_comm_message refusal = {.kind = LG_COMM_CLOSE,
                                                .id = d->m->id,
                                                .data = "{}",
                                                .data_length = 2,
                                                .metadata = "{}",
                                                .metadata_length = 2};
        if (d->session->sink.comm) d->session->sink.comm(d->session->sink.context, &refusal);
        return;
    }
    push_comm(L, d->m->id, d->m->target);
    push_contents(L, d->m);
    lua_call(L, 3, 0);
}

static int deliver(lua_State *L)
{
    const struct delivery *d = lua_touserdata(L, 1);
    const struct lg_comm_message *m = d->m;
    if (m->kind == LG_COMM_OPEN) {
        opened(L, d);
        return 0;
    }
    if (!push_open(L, m->id)) return 0;
    if (m->kind == LG_COMM_CLOSE) forget(L, m->id);
    if (lua_getfield(L, -1, m->kind == LG_COMM_MSG ? "on_msg" : "on_close") == LUA_TNIL) return 0;
    push_contents(L, m);
    lua_call(L, 2, 0);
    return 0;
}

enum lg_status lg_session_comm(struct lg_session *s, const struct lg_comm_message *m, const struct lg_error **error)
{
    struct delivery d = {s, m};
    return lg_run(s, "=comm", deliver, &d, error);
}

struct listing {
    const char *target;
    void (*visit)(void *context, const char *id, const char *target);
    void *context;
};

static int list(lua_State *L)
{
    const struct listing *l = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &open_key);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 2)) {
        lua_pushliteral(L, "target");
        lua_rawget(L, -2);
        const char *target = lua_tostring(L, -1);
        if (target && (!l->target || strcmp(l->target, target) == 0)) l->visit(l->context, lua_tostring(L, -3), target);
    }
    return 0;
}

void lg_session_comms(struct lg_session *s, const char *target,
                      void (*visit)(void *context, const char *id, const char *target), void *context)
{
    struct listing l = {target, visit, context};
    if (s->noted)
        lg_noted_comms(s->noted, target, visit, context);
    else
        lg_protect(s, list, &l);
}

/* What answers request_state for the comm at idx, if it is a model of ours, of which no function of the user's is
 * asked: pushed. */
static bool push_answer(lua_State *L, int idx)
{
    int top = lua_gettop(L);
    lua_pushliteral(L, "on_msg");
    bool ours = lua_rawget(L, idx) == LUA_TFUNCTION && lua_iscfunction(L, -1);
    lua_pushliteral(L, "state");
    ours &= lua_rawget(L, idx) == LUA_TTABLE;
    if (!ours) {
        lua_settop(L, top);
        return false;
    }
    struct lg_buffer *b = lg_push_buffer(L);
    lg_buffer_puts(b, "{\"method\":\"update\",\"state\":");
    lg_add_json(L, b, top + 2, "state");
    lg_buffer_puts(b, ",\"buffer_paths\":[]}");
    if (b->failed) luaL_error(L, "not enough memory for the state");
    lua_pushlstring(L, b->data, b->length);
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return true;
}

struct states {
    void (*visit)(void *context, const char *id, const char *answer);
    void *context;
};

static int visit_states(lua_State *L)
{
    const struct states *s = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &open_key);
    for (lua_pushnil(L); lua_next(L, 2); lua_settop(L, 3))
        if (lua_istable(L, 4) && push_answer(L, 4)) s->visit(s->context, lua_tostring(L, 3), lua_tostring(L, -1));
    return 0;
}

void lg_session_comm_states(struct lg_session *s, void (*visit)(void *context, const char *id, const char *answer),
                            void *context)
{
    struct states states = {visit, context};
    if (s->noted)
        lg_noted_states(s->noted, visit, context);
    else
        lg_protect(s, visit_states, &states);
}

static const struct lg_function functions[] = {
    {"open", comm_open, "comm.open(target [, data [, metadata [, buffers]]])",
     "Opens a channel to the code that a front end, or an extension of it, registered for the name `target`.\n"
     "The comm's functions on_msg(data, buffers) and on_close(data, buffers) are called with what comes, also while a "
     "cell runs, or waits; in the middle of one call that computes, at its end. data is a table, buffers a list of strings of "
     "bytes. In a terminal what is sent goes nowhere.",
     "local c = comm.open('my-plot', {title = 'x'})\nc.on_msg = function(data) print(data.clicked) end\n"
     "assert(c.target == 'my-plot') c:close()"},
    {"target", comm_target, "comm.target(name, f)",
     "Lets front ends open comms to `name`: each is given to f(comm, data, buffers).\nWith nil in place of f they are "
     "refused again.",
     "comm.target('echo', function(c) c.on_msg = function(data) c:send(data) end end)"},
    {"list", comm_list, "comm.list(t)",
     "Marks a table as a list, and returns it: an empty table is otherwise sent as an object.",
     "assert(#comm.list{} == 0)"},
    {0}};

static const struct lg_function methods[] = {
    {"send", comm_send, "c:send([data [, metadata [, buffers]]])",
     "Sends a message to the front end's side.\ndata and metadata are tables that JSON can write, with comm.null for "
     "null; buffers is a list of strings of bytes.",
     "local c = comm.open('x') c:send({value = 5, items = comm.list{}}, nil, {'bytes'})"},
    {"close", comm_close, "c:close([data [, metadata [, buffers]]])",
     "Closes the comm on both sides; again it does nothing.", "local c = comm.open('x') c:close() c:close()"},
    {0}};

void lg_open_comm(lua_State *L)
{
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &open_key);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &targets_key);
    luaL_newmetatable(L, COMM);
    lua_newtable(L);
    lg_register(L, "comm.comm", methods);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    lua_newtable(L);
    lg_register(L, "comm", functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    lua_setglobal(L, "comm");
}
