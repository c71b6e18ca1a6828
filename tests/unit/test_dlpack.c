/* Arrays and DLPack tensors: a small C module makes and takes capsules with nothing but the installed header, and every
 * tensor is deleted exactly once. */
#include "test.h"
#include "lang/dlpack.h"
#include "lang/lang.h"
#include "runtime/exchange.h"

/* ---- the other module ---- */

static int made, deleted;

/* Twelve floats, 0 to 11, with the tensor in front of them. */
struct numbers {
    struct rt_dl_versioned form;
    struct rt_dl_unversioned old;
    int64_t shape[3], strides[3];
    float values[12];
};

static void delete_numbers(struct rt_dl_versioned *self)
{
    deleted++;
    free(self->manager);
}

static void delete_old(struct rt_dl_unversioned *self)
{
    deleted++;
    free(self->manager);
}

static struct numbers *make_numbers(void)
{
    struct numbers *n = calloc(1, sizeof *n);
    struct rt_dl_tensor t = {
        .data = n->values, .device = RT_DL_CPU, .ndim = 2, .code = RT_DL_FLOAT, .bits = 32, .lanes = 1};
    t.shape = n->shape;
    t.strides = n->strides;
    n->shape[0] = 3;
    n->shape[1] = n->strides[0] = 4;
    n->strides[1] = 1;
    for (int i = 0; i < 12; i++) n->values[i] = (float)i;
    n->form = (struct rt_dl_versioned){.major = 1, .manager = n, .deleter = delete_numbers, .tensor = t};
    n->old = (struct rt_dl_unversioned){.manager = n, .deleter = delete_old, .tensor = t};
    made++;
    return n;
}

/* make([what]): a capsule; `what` spoils the tensor in one way. */
static int make(lua_State *L)
{
    const char *what = luaL_optstring(L, 1, "");
    struct rt_dl_managed *m = lg_dlpack_new(L);
    struct numbers *n = make_numbers();
    struct rt_dl_tensor *t = &n->form.tensor;
    m->pointer = &n->form;
    if (!strcmp(what, "old")) {
        m->pointer = &n->old;
        m->versioned = 0;
    } else if (!strcmp(what, "turned")) { /* from the last element back, and without its first row */
        t->byte_offset = 44;
        t->shape[0] = 2;
        t->strides[0] = -4;
        t->strides[1] = -1;
    } else if (!strcmp(what, "plain")) {
        t->strides = NULL;
    } else if (!strcmp(what, "single")) {
        t->ndim = 0;
        t->byte_offset = 20;
    } else if (!strcmp(what, "empty")) {
        t->shape[1] = 0;
        t->data = NULL;
    } else if (!strcmp(what, "constant")) {
        n->form.flags = RT_DL_READ_ONLY;
    } else if (!strcmp(what, "version")) {
        n->form.major = 2;
    } else if (!strcmp(what, "lanes")) {
        t->lanes = 4;
    } else if (!strcmp(what, "bits")) {
        t->bits = 8;
    } else if (!strcmp(what, "device")) {
        t->device = 10;
    } else if (!strcmp(what, "axes")) {
        t->ndim = 40;
    } else if (!strcmp(what, "size")) {
        t->shape[0] = -1;
    } else if (!strcmp(what, "far")) {
        t->strides[0] = INT64_MAX / 2;
    } else if (!strcmp(what, "odd")) {
        t->byte_offset = 2;
    } else if (!strcmp(what, "nowhere")) {
        t->data = NULL;
    }
    return 1;
}

static int make_pointer(lua_State *L)
{
    struct numbers *n = make_numbers();
    lua_pushlightuserdata(L, lua_toboolean(L, 1) ? (void *)&n->old : (void *)&n->form);
    return 1;
}

/* total(capsule): takes the tensor, adds its floats up by its strides, changes the first, deletes it. */
static int total(lua_State *L)
{
    struct rt_dl_managed m = lg_dlpack_take(L, 1);
    const struct rt_dl_tensor *t = rt_dl_tensor_of(&m);
    float *data = (float *)(void *)((char *)t->data + t->byte_offset), sum = 0;
    CHECK(t->device == RT_DL_CPU && t->code == RT_DL_FLOAT && t->bits == 32 && t->lanes == 1 && t->ndim == 2);
    for (int64_t i = 0; i < t->shape[0]; i++)
        for (int64_t j = 0; j < t->shape[1]; j++) sum += data[i * t->strides[0] + j * t->strides[1]];
    data[0] = 100;
    rt_dl_delete(&m);
    lua_pushnumber(L, sum);
    return 1;
}

static int open_module(lua_State *L)
{
    static const luaL_Reg functions[] = {{"make", make}, {"make_pointer", make_pointer}, {"total", total}, {0}};
    luaL_newlib(L, functions);
    return 1;
}

static lua_State *open_state(void)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "lunarray", luaopen_lunarray, 0);
    lua_setglobal(L, "gpu");
    luaL_requiref(L, "other", open_module, 0);
    lua_setglobal(L, "other");
    return L;
}

static void run(const char *script)
{
    lua_State *L = open_state();
    if (luaL_dostring(L, script) != LUA_OK) FAIL("%s", lua_tostring(L, -1));
    lua_close(L);
    CHECK_INT(deleted, made);
}

TEST(the_other_modules_tensors)
{
    run("local x = gpu.from_dlpack(other.make())\n"
        "assert(tostring(x.shape) == '(3, 4)' and x.dtype == 'float32' and x.device == 'cpu')\n"
        "assert(x:sum() == 66 and x[{3, 1}] == 8)\n"
        "local view = x[2]\nx[{2, 1}] = 50\nx:free()\ncollectgarbage()\nassert(view[1] == 50)\n"
        "local y = gpu.from_dlpack(other.make('turned'))\n"
        "assert(y:equal(gpu.array({{11, 10, 9, 8}, {7, 6, 5, 4}})))\n"
        "assert(gpu.from_dlpack(other.make('plain')):sum() == 66)\n"
        "assert(gpu.from_dlpack(other.make('old')):sum() == 66)\n"
        "local single = gpu.from_dlpack(other.make('single'))\nassert(single.ndim == 0 and single:sum() == 5)\n"
        "assert(gpu.from_dlpack(other.make('empty')).size == 0)\n"
        "local own = gpu.from_dlpack(other.make('constant'))\nown[{1, 1}] = 7\nassert(own:sum() == 73)\n"
        "assert(gpu.from_dlpack(other.make_pointer()):sum() == 66)\n"
        "assert(gpu.from_dlpack(other.make_pointer(true), 'unversioned'):sum() == 66)\n"
        "other.make()\ndo local c <close> = other.make() end\n");
    CHECK_INT(made, 11);
}

TEST(a_capsule_is_taken_once)
{
    run("local c = other.make()\nlocal x = gpu.from_dlpack(c)\n"
        "local ok, e = pcall(gpu.from_dlpack, c)\nassert(not ok and e:find('taken already', 1, true), e)\n"
        "ok, e = pcall(other.total, c)\nassert(not ok and e:find('taken already', 1, true), e)\n"
        "ok, e = pcall(gpu.from_dlpack, x)\nassert(not ok and e:find('dlpack.capsule', 1, true), e)\n");
}

TEST(tensors_that_cannot_be_arrays)
{
    run("for what, says in pairs{version = 'version 2.0', lanes = '4 lanes', bits = '8 bits', device = 'of type 10',\n"
        "  axes = '40 axes', size = 'axis 1', far = 'larger than any memory', odd = 'no multiple of 4',\n"
        "  nowhere = 'no address'} do\n"
        "  local c = other.make(what)\n"
        "  local ok, e = pcall(gpu.from_dlpack, c)\n"
        "  assert(not ok and e:find(says, 1, true), what .. ': ' .. tostring(e))\n"
        "end\n");
}

TEST(arrays_as_tensors)
{
    run("local x = gpu.range(6, 'cpu'):reshape(2, 3)\n"
        "local sum = 2 * x\n"
        "for _, form in ipairs{'versioned', 'unversioned'} do\n"
        "  x[{1, 1}] = 1\n"
        "  assert(other.total(x:dlpack(form)) == 21 and x[{1, 1}] == 100)\n"
        "end\n"
        "assert(sum[{1, 1}] == 2)\n"
        "assert(other.total(x.T[{{3, 1, -1}, 2}]:reshape(1, 3):dlpack()) == 15)\n"
        "local c = gpu.ones(2, 2, 'cpu'):dlpack()\ncollectgarbage()\nassert(other.total(c) == 4)\n"
        "gpu.ones(2, 'cpu'):dlpack()\n"
        "local ok, e = pcall(x.dlpack, x, 'old')\nassert(not ok and e:find('versioned'), e)\n");
    struct rt_memory_stats s;
    rt_memory_stats(rt_device_open("cpu", NULL), &s);
    CHECK_INT(s.in_use, 0);
}

/* Nothing is lost or deleted twice when memory is short. */
TEST(allocations_fail_in_turn)
{
    lua_State *L = open_state();
    luaL_loadstring(L, "local y = gpu.from_dlpack(gpu.ones(4, 'cpu'):dlpack())\n"
                       "return gpu.from_dlpack(other.make()):sum() + y:sum()");
    for (long nth = 1;; nth++) {
        lua_pushvalue(L, 1);
        rt_fail_allocation(nth);
        int status = lua_pcall(L, 0, 1, 0);
        rt_fail_allocation(0);
        if (status == LUA_OK) {
            CHECK_NEAR(lua_tonumber(L, -1), 70, 0);
            CHECK(nth > 3);
            break;
        }
        CHECK_HAS(lua_tostring(L, -1), "memory");
        lua_pop(L, 1);
        CHECK(nth < 1000);
    }
    lua_close(L);
    CHECK_INT(deleted, made);
}
