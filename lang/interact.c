/* interact: a function called again whenever a slider, a menu, a box or a text field of the notebook changes. The
 * controls are ipywidgets' models, reached by comms (the Jupyter widgets' messaging protocol 2.1); what the function
 * shows goes into an output model, which takes over all that the front end gets for one request. */
#include <math.h>
#include <string.h>
#include "lang/display.h"
#include "lang/json.h"
#include "lang/session_state.h"

#define CONTROLS "@jupyter-widgets/controls"
#define VIEW     "application/vnd.jupyter.widget-view+json"

/* ---- models ----
 * A model is a comm (lang/comm.c) with the field `state`, the table that front ends know it by. */

/* Pushes a state with the names of a model and its view: "IntSlider". */
static void push_state(lua_State *L, const char *module, const char *version, const char *name)
{
    static const char *const fields[][2] = {{"_model_module", "_model_module_version"},
                                            {"_view_module", "_view_module_version"}};
    lua_createtable(L, 0, 12);
    for (int i = 0; i < 2; i++) {
        lg_set_string(L, fields[i][0], module);
        lg_set_string(L, fields[i][1], version);
    }
    lua_pushfstring(L, "%sModel", name);
    lua_setfield(L, -2, "_model_name");
    lua_pushfstring(L, "%sView", name);
    lua_setfield(L, -2, "_view_name");
}

/* Calls comm's or the model's function of that name with the n values on top; leaves one result. */
static void call_comm(lua_State *L, int model, const char *name, int n)
{
    if (model)
        lua_pushvalue(L, model);
    else
        lua_getglobal(L, "comm");
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    lua_insert(L, -1 - n);
    lua_call(L, n, 1);
}

/* Sends {method = method, state = what is on top, buffer_paths = {}} to the model's front ends; pops the state. */
static void send_state(lua_State *L, int model, const char *method)
{
    model = lua_absindex(L, model);
    lua_pushvalue(L, model);
    lua_createtable(L, 0, 3);
    lg_set_string(L, "method", method);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "state");
    lua_newtable(L);
    lg_mark_list(L, lua_gettop(L));
    lua_setfield(L, -2, "buffer_paths");
    call_comm(L, model, "send", 2);
    lua_pop(L, 2);
}

/* Sets one field of a model's state to the value on top, popped, and sends it. */
static void set_field(lua_State *L, int model, const char *field, const char *method)
{
    model = lua_absindex(L, model);
    lua_getfield(L, model, "state");
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, field);
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_setfield(L, -2, field);
    send_state(L, model, method);
}

static bool is_method(lua_State *L, int data, const char *name)
{
    bool same = lua_getfield(L, data, "method") == LUA_TSTRING && strcmp(lua_tostring(L, -1), name) == 0;
    lua_pop(L, 1);
    return same;
}

/* on_msg of models that nobody changes: a front end that comes later asks for their state. Upvalue: the model. */
static int answer_state(lua_State *L)
{
    lua_settop(L, 1);
    if (!lua_istable(L, 1) || !is_method(L, 1, "request_state")) return 0;
    lua_getfield(L, lua_upvalueindex(1), "state");
    send_state(L, lua_upvalueindex(1), "update");
    return 0;
}

/* on_msg of the output's model. What is shown in it a front end tells the kernel, for those that come later. Upvalue:
 * the model. */
static int note_outputs(lua_State *L)
{
    lua_settop(L, 1);
    if (!lua_istable(L, 1) || !is_method(L, 1, "update")) {
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_pushcclosure(L, answer_state, 1);
        lua_insert(L, 1);
        lua_call(L, 1, 0);
        return 0;
    }
    if (lua_getfield(L, 1, "state") == LUA_TTABLE && lua_getfield(L, -1, "outputs") == LUA_TTABLE) {
        lua_getfield(L, lua_upvalueindex(1), "state");
        lua_pushvalue(L, -2);
        lua_setfield(L, -2, "outputs");
    }
    return 0;
}

/* Pops a state and pushes the model made of it. */
static void push_model(lua_State *L)
{
    int state = lua_gettop(L);
    lua_pushliteral(L, "jupyter.widget");
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, state);
    lua_setfield(L, -2, "state");
    lua_newtable(L);
    lg_mark_list(L, lua_gettop(L));
    lua_setfield(L, -2, "buffer_paths");
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "2.1.0");
    lua_setfield(L, -2, "version");
    call_comm(L, 0, "open", 3);
    lua_insert(L, state);
    lua_setfield(L, state, "state");
    lua_pushvalue(L, state);
    lua_pushcclosure(L, answer_state, 1);
    lua_setfield(L, state, "on_msg");
}

/* ---- what a parameter can be ----
 * A control's model has the fields `name` and, of a menu, `choices`. */

static int bad_spec(lua_State *L, const char *name, const char *why)
{
    return luaL_error(L,
                      "interact: %s %s; it takes {min, max}, {min, max, step}, {min=, max=, step=, value=}, a list of "
                      "choices, {choices=, value=}, true or false, a string, or a number",
                      name, why);
}

struct range {
    lua_Number min, max, step, value;
    bool integers;
};

/* Pushes a slider's state. */
static void push_slider(lua_State *L, const struct range *r)
{
    static const char *const fields[] = {"min", "max", "step", "value"};
    const lua_Number values[] = {r->min, r->max, r->step, r->value};
    push_state(L, CONTROLS, "2.0.0", r->integers ? "IntSlider" : "FloatSlider");
    for (int i = 0; i < 4; i++) {
        if (r->integers)
            lua_pushinteger(L, (lua_Integer)values[i]);
        else
            lua_pushnumber(L, values[i]);
        lua_setfield(L, -2, fields[i]);
    }
}

/* Pops field or item `key` of the table at idx into *to, if it is a number; false when there is none. */
static bool take_number(lua_State *L, int idx, const char *key, int item, struct range *r, lua_Number *to)
{
    if (key)
        lua_getfield(L, idx, key);
    else
        lua_geti(L, idx, item);
    bool number = lua_type(L, -1) == LUA_TNUMBER;
    if (number) {
        *to = lua_tonumber(L, -1);
        r->integers &= lua_isinteger(L, -1);
    }
    lua_pop(L, 1);
    return number;
}

/* A table of numbers as a range: {min=, max=} or, unless named, {min, max [, step]}; step and value may be named. */
static bool read_range(lua_State *L, int idx, const char *name, struct range *r)
{
    size_t n = lua_rawlen(L, idx);
    *r = (struct range){.integers = true};
    bool named = take_number(L, idx, "min", 0, r, &r->min) && take_number(L, idx, "max", 0, r, &r->max);
    if (!named &&
        !((n == 2 || n == 3) && take_number(L, idx, NULL, 1, r, &r->min) && take_number(L, idx, NULL, 2, r, &r->max)))
        return false;
    bool stepped =
        !named && n == 3 ? take_number(L, idx, NULL, 3, r, &r->step) : take_number(L, idx, "step", 0, r, &r->step);
    if (!named && n == 3 && !stepped) return false;
    bool valued = take_number(L, idx, "value", 0, r, &r->value);
    if (!isfinite(r->min) || !isfinite(r->max) || r->min > r->max)
        bad_spec(L, name, "has a range whose min is above its max");
    if (!stepped) r->step = r->integers || r->max == r->min ? 1 : (r->max - r->min) / 100;
    if (!(r->step > 0)) bad_spec(L, name, "has a step that is not above 0");
    lua_Number middle = r->min + (r->max - r->min) / 2;
    if (!valued) r->value = r->integers ? floor(middle) : middle;
    r->value = fmin(fmax(r->value, r->min), r->max);
    return true;
}

static void check_fields(lua_State *L, int idx, const char *name)
{
    static const char *const known[] = {"min", "max", "step", "value", "choices"};
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        bool found = lua_type(L, -2) != LUA_TSTRING;
        for (size_t i = 0; !found && i < sizeof known / sizeof *known; i++)
            found = strcmp(lua_tostring(L, -2), known[i]) == 0;
        if (!found) bad_spec(L, name, lua_pushfstring(L, "has the field '%s'", lua_tostring(L, -2)));
    }
}

/* Where among the n items of the table at idx the field `value` of that at spec stands, from 0; the first without one.
 */
static lua_Integer find_choice(lua_State *L, int spec, int idx, lua_Integer n, const char *name)
{
    int top = lua_gettop(L);
    lua_Integer found = 0;
    if (lua_getfield(L, spec, "value") != LUA_TNIL) {
        for (found = 0; found < n && (lua_geti(L, idx, found + 1), !lua_compare(L, -1, top + 1, LUA_OPEQ)); found++)
            lua_pop(L, 1);
        if (found == n) bad_spec(L, name, "has a value that is none of its choices");
    }
    lua_settop(L, top);
    return found;
}

/* Pushes the state of a menu of the items of the table at idx, for the control at spec. */
static void push_menu(lua_State *L, int spec, int idx, const char *name)
{
    lua_Integer n = luaL_len(L, idx);
    if (n == 0) bad_spec(L, name, "has no choices");
    push_state(L, CONTROLS, "2.0.0", "Dropdown");
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, idx, i);
        luaL_tolstring(L, -1, NULL);
        lua_seti(L, -3, i);
        lua_pop(L, 1);
    }
    lua_setfield(L, -2, "_options_labels");
    lg_set_integer(L, "index", find_choice(L, spec, idx, n, name));
}

/* Pushes the state of the control for the value on top, and below it the list of its choices or nil. Pops the value. */
static void push_control(lua_State *L, const char *name)
{
    struct range r = {.integers = true};
    int spec = lua_gettop(L);
    lua_pushnil(L);
    switch (lua_type(L, spec)) {
    case LUA_TNUMBER:
        r.integers = lua_isinteger(L, spec);
        r.value = lua_tonumber(L, spec);
        r.min = r.value > 0 ? -r.value : r.value < 0 ? 3 * r.value : 0;
        r.max = r.value > 0 ? 3 * r.value : r.value < 0 ? -r.value : 1;
        r.step = r.integers ? 1 : (r.max - r.min) / 100;
        push_slider(L, &r);
        break;
    case LUA_TBOOLEAN:
    case LUA_TSTRING:
        push_state(L, CONTROLS, "2.0.0", lua_isboolean(L, spec) ? "Checkbox" : "Text");
        lua_pushvalue(L, spec);
        lua_setfield(L, -2, "value");
        break;
    case LUA_TTABLE:
        check_fields(L, spec, name);
        if (read_range(L, spec, name, &r)) {
            push_slider(L, &r);
            break;
        }
        if (lua_getfield(L, spec, "choices") != LUA_TTABLE) {
            lua_pop(L, 1);
            lua_pushvalue(L, spec);
        }
        lua_replace(L, spec + 1);
        push_menu(L, spec, spec + 1, name);
        break;
    default: bad_spec(L, name, lua_isnil(L, spec) ? "has no control" : "has a control of another type");
    }
    lua_remove(L, spec);
}

/* ---- calling the function ----
 * What belongs together is a table: f, names (of its parameters, in order), values (by name), output (the model). */

/* Notes in `values` what a control stands at. */
static void note_value(lua_State *L, int values, int control)
{
    int top = lua_gettop(L);
    lua_getfield(L, control, "state");
    lua_getfield(L, control, "name");
    if (lua_getfield(L, control, "choices") == LUA_TNIL)
        lua_getfield(L, top + 1, "value");
    else if (lua_getfield(L, top + 1, "index") == LUA_TNUMBER)
        lua_geti(L, top + 3, lua_tointeger(L, -1) + 1);
    lua_pushvalue(L, top + 2);
    lua_insert(L, -2);
    lua_settable(L, values);
    lua_settop(L, top);
}

/* Calls the function with the values, and shows its result. */
static void call(lua_State *L, int all)
{
    struct lg_bundle bundle;
    int top = lua_gettop(L);
    lua_getfield(L, all, "names");
    lua_getfield(L, all, "values");
    lua_getfield(L, all, "f");
    lua_Integer n = luaL_len(L, top + 1);
    luaL_checkstack(L, (int)n + 10, "too many parameters");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, top + 1, i);
        lua_gettable(L, top + 2);
    }
    lua_call(L, (int)n, 1);
    if (!lua_isnil(L, -1) && !lg_is_handle(L, -1)) {
        lg_push_bundle(L, lua_gettop(L), &bundle);
        lg_show(L, &bundle, NULL, false);
    }
    lua_settop(L, top);
}

/* Directs what the front end gets for this request into the output model, or ("") no more. */
static void direct(lua_State *L, int all, const char *request)
{
    lua_getfield(L, all, "output");
    lua_pushstring(L, request);
    set_field(L, -2, "msg_id", "update");
    lua_pop(L, 1);
}

/* Has the output model show what the call shows instead of what it showed before. What the call raises is left, and
 * the model still gets it. */
static void call_into_output(lua_State *L, int all)
{
    const struct lg_session *s = lg_session_of(L);
    char request[LG_REQUEST_ID] = "";
    if (s->sink.request) s->sink.request(s->sink.context, request);
    direct(L, all, request);
    if (s->sink.clear_output) s->sink.clear_output(s->sink.context, true);
    call(L, all);
    direct(L, all, "");
}

static int call_first(lua_State *L)
{
    call_into_output(L, 1);
    return 0;
}

/* ---- what the front end changed ---- */

/* Whether a control may have the value on top; a slider's is brought into its range. */
static bool accept(lua_State *L, int state, const char *field)
{
    int old = lua_getfield(L, state, field), now = lua_type(L, -2);
    bool integers = lua_isinteger(L, -1);
    lua_pop(L, 1);
    if (strcmp(field, "index") == 0) {
        lua_getfield(L, state, "_options_labels");
        lua_Integer choices = luaL_len(L, -1);
        lua_pop(L, 1);
        return lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 0 && lua_tointeger(L, -1) < choices;
    }
    if (old != now) return false;
    if (now != LUA_TNUMBER) return true;
    lua_getfield(L, state, "min");
    lua_getfield(L, state, "max");
    lua_Number value = fmin(fmax(lua_tonumber(L, -3), lua_tonumber(L, -2)), lua_tonumber(L, -1));
    lua_pop(L, 3);
    if (integers)
        lua_pushinteger(L, (lua_Integer)value);
    else
        lua_pushnumber(L, value);
    return true;
}

/* on_msg of a control. Upvalues: the control, what belongs together. */
static int change(lua_State *L)
{
    enum { CONTROL = 2, ALL, NEWS, STATE, VALUE };
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, lua_upvalueindex(2));
    if (!lua_istable(L, 1)) return 0;
    if (is_method(L, 1, "request_state")) {
        lua_getfield(L, CONTROL, "state");
        send_state(L, CONTROL, "update");
    }
    if (!is_method(L, 1, "update") || lua_getfield(L, 1, "state") != LUA_TTABLE) return 0;
    lua_getfield(L, CONTROL, "state");
    const char *field = lua_getfield(L, CONTROL, "choices") == LUA_TNIL ? "value" : "index";
    lua_pop(L, 1);
    if (lua_getfield(L, NEWS, field) == LUA_TNIL || !accept(L, STATE, field)) return 0;
    set_field(L, CONTROL, field, "echo_update"); /* for the other clients */
    lua_getfield(L, ALL, "values");
    note_value(L, lua_gettop(L), CONTROL);
    call_into_output(L, ALL);
    return 0;
}

/* ---- interact ---- */

/* Pushes the names of the Lua function's parameters as a list; `specs` has one for each, and nothing else. */
static void push_names(lua_State *L, int f, int specs)
{
    const char *name;
    int count = 0;
    lua_newtable(L);
    int names = lua_gettop(L);
    for (;; count++) {
        lua_pushvalue(L, f);
        name = lua_getlocal(L, NULL, count + 1);
        lua_pop(L, 1);
        if (!name) break;
        lua_pushstring(L, name);
        lua_pushvalue(L, -1);
        lua_seti(L, names, count + 1);
        if (lua_gettable(L, specs) == LUA_TNIL) bad_spec(L, name, "has no control");
        lua_pop(L, 1);
    }
    for (lua_pushnil(L); lua_next(L, specs); lua_pop(L, 1), count--) {
        bool known = false;
        for (int i = 1; !known && lua_geti(L, names, i) != LUA_TNIL; i++) {
            known = lua_rawequal(L, -1, -3);
            lua_pop(L, 1);
        }
        if (!known) luaL_error(L, "interact: the function has no parameter %s", luaL_tolstring(L, -3, NULL));
    }
    lua_settop(L, names);
}

/* Appends "IPY_MODEL_..." for the model on top, popped, to the list at idx. */
static void add_child(lua_State *L, int list)
{
    lua_getfield(L, -1, "id");
    lua_pushfstring(L, "IPY_MODEL_%s", lua_tostring(L, -1));
    lua_seti(L, list, luaL_len(L, list) + 1);
    lua_pop(L, 2);
}

/* Makes the controls, in `all` and in the list of children at idx. Without a notebook only their values. */
static void make_controls(lua_State *L, int all, int specs, int children)
{
    int top = lua_gettop(L);
    lua_getfield(L, all, "names");
    lua_getfield(L, all, "values");
    for (lua_Integer i = 1; lua_geti(L, top + 1, i) != LUA_TNIL; i++) {
        const char *name = lua_tostring(L, top + 3);
        lua_getfield(L, specs, name);
        push_control(L, name);
        lua_pushvalue(L, top + 3);
        lua_setfield(L, top + 5, "description");
        if (children) {
            push_model(L);
        } else {
            lua_createtable(L, 0, 3);
            lua_insert(L, top + 5);
            lua_setfield(L, top + 5, "state");
        }
        lua_pushvalue(L, top + 3);
        lua_setfield(L, top + 5, "name");
        lua_pushvalue(L, top + 4);
        lua_setfield(L, top + 5, "choices");
        note_value(L, top + 2, top + 5);
        if (children) {
            lua_pushvalue(L, top + 5);
            lua_pushvalue(L, all);
            lua_pushcclosure(L, change, 2);
            lua_setfield(L, top + 5, "on_msg");
            add_child(L, children);
        }
        lua_settop(L, top + 2);
    }
    lua_settop(L, top);
}

/* Shows the box of the controls and the output, and pushes the display's handle. */
static void show_box(lua_State *L, int all, int children)
{
    struct lg_bundle bundle;
    push_state(L, "@jupyter-widgets/output", "1.0.0", "Output");
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "msg_id");
    lua_newtable(L);
    lg_mark_list(L, lua_gettop(L));
    lua_setfield(L, -2, "outputs");
    push_model(L);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, note_outputs, 1);
    lua_setfield(L, -2, "on_msg");
    lua_pushvalue(L, -1);
    lua_setfield(L, all, "output");
    add_child(L, children);
    push_state(L, CONTROLS, "2.0.0", "VBox");
    lua_pushvalue(L, children);
    lua_setfield(L, -2, "children");
    push_model(L);
    lua_getfield(L, -1, "id");
    lua_createtable(L, 0, 2);
    lua_pushfstring(L, "{\"version_major\":2,\"version_minor\":0,\"model_id\":\"%s\"}", lua_tostring(L, -2));
    lua_setfield(L, -2, VIEW);
    lua_pushliteral(L, "[interact: controls that a notebook with ipywidgets' front end shows]");
    lua_setfield(L, -2, "text/plain");
    lg_push_bundle(L, lua_gettop(L), &bundle);
    lg_show_with_handle(L, &bundle, 0);
}

static int interact(lua_State *L)
{
    enum { FUNCTION = 1, SPECS, ALL, CHILDREN, BOX };
    struct lg_terminal t;
    luaL_checktype(L, FUNCTION, LUA_TFUNCTION);
    luaL_argexpected(L, !lua_iscfunction(L, FUNCTION), FUNCTION,
                     "a function written in Lua, whose parameters have names");
    luaL_checktype(L, SPECS, LUA_TTABLE);
    lua_settop(L, SPECS);
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, FUNCTION);
    lua_setfield(L, ALL, "f");
    push_names(L, FUNCTION, SPECS);
    lua_setfield(L, ALL, "names");
    lua_newtable(L);
    lua_setfield(L, ALL, "values");
    if (!lg_shows_pictures(L, &t)) {
        make_controls(L, ALL, SPECS, 0);
        call(L, ALL);
        return 0;
    }
    lua_newtable(L);
    make_controls(L, ALL, SPECS, CHILDREN);
    show_box(L, ALL, CHILDREN);
    lua_replace(L, BOX);
    lua_settop(L, BOX);
    lua_getfield(L, ALL, "values");
    lua_setfield(L, BOX, "values");
    lua_pushcfunction(L, call_first);
    lua_pushvalue(L, ALL);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) { /* the cell shows its error itself */
        direct(L, ALL, "");
        lua_error(L);
    }
    return 1;
}

static const struct lg_function interact_row = {
    "interact", interact, "interact(f, controls)",
    "Calls f with values that sliders, menus, boxes and fields of the notebook set, and again whenever one is changed.\n"
    "controls maps the name of each parameter of f to what it can be: {min, max}, {min, max, step} or {min=, max=, "
    "step=, value=} is a slider (of integers if all are), a list or {choices=, value=} a menu, true or false a box to tick, "
    "a string a text field, a number a slider around it. What f prints, shows and returns replaces what it showed "
    "before. Returns a handle whose table `values` has what the controls stand at. A notebook's front end needs "
    "ipywidgets (the package jupyterlab-widgets); elsewhere f is called once, with what the controls begin with.",
    "local seen\ninteract(function(n, c, on) seen = n .. c .. tostring(on) end, {n = {1, 100}, c = {'a', 'b'}, on = "
    "true})\nassert(seen == '50atrue')"};

void lg_open_interact(lua_State *L)
{
    lua_pushcfunction(L, interact);
    lua_setglobal(L, "interact");
    lg_document(L, "session", &interact_row);
}
