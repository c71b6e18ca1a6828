/* Compiling by NVRTC: what its errors become, and the cache of results, also when its files are damaged. */
#define _GNU_SOURCE /* nftw, mkdtemp */
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include "runtime/cache.h"
#include "runtime/compile.h"
#include "runtime/interrupt.h"
#include "runtime/kernel.h"
#include "runtime/library.h"
#include "runtime/memory.h"
#include "tests/unit/test.h"

static char folder[64];

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *walk)
{
    (void)s, (void)type, (void)walk;
    return remove(path);
}
static void clean(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A cache of this test's own. */
static void own_cache(void)
{
    snprintf(folder, sizeof folder, "/tmp/lunarray-test-XXXXXX");
    CHECK(mkdtemp(folder));
    atexit(clean);
    setenv("LUNARRAY_CACHE_DIR", folder, 1);
}

static struct rt_device *simt(void)
{
    struct rt_error e = {0};
    if (!rt_library_open(RT_LIB_NVRTC, &e)) SKIP("no NVRTC");
    struct rt_device *d = rt_device_open("simt", &e);
    if (!d) FAIL("%s", e.text);
    return d;
}

static struct rt_source source_of(const char *text)
{
    return (struct rt_source){.text = text, .length = strlen(text), .name = "cell 3", .first_line = 11};
}

static struct rt_program *compiled(struct rt_device *d, const struct rt_source *s)
{
    struct rt_error e = {0};
    struct rt_program *p = rt_compile(d, s, &e);
    if (!p) FAIL("%s", e.text);
    return p;
}

#define SCALE "__global__ void scale(int n, float a, float *x) { if (threadIdx.x < n) x[threadIdx.x] *= a; }\n"

/* ---- positions ---- */

static void maps(const char *text, const char *want)
{
    char *got = rt_map_positions(text, "cell 3", 11);
    CHECK_STR(got, want);
    free(got);
}

TEST(positions_are_the_sources)
{
    maps("/lunarray-kernel.cu(4): error: no\n  x\n  ^\n\n", "cell 3:14: error: no\n  x\n  ^");
    maps("/lunarray-kernel.cu:1: bad", "cell 3:11: bad");
    maps("./x.h(3): error: no", "x.h:3: error: no");
    maps("detected at line 8", "detected at cell 3:18");
    maps("at line 8 of \"x.h\"", "at line 8 of \"x.h\"");
    maps("at line 2 of \"/lunarray-kernel.cu\"", "at cell 3:12");
    maps("a\n2 errors detected in the compilation of \"/lunarray-kernel.cu\".\n", "a");
    maps("a\n\nRemark: The warnings can be suppressed with x\n\nb\n", "a\nb");
    maps("/lunarray-kernel.cu(99999999999999999999): x", "cell 3: x");
    maps("", "");
    CHECK(rt_is_source_name("/lunarray-kernel.cu") && rt_is_source_name("lunarray-kernel.cu"));
    CHECK(!rt_is_source_name("kernel.cu") && !rt_is_source_name(NULL) && !rt_is_source_name(""));
}

TEST(errors_in_headers_are_few)
{
    char text[2000] = "/x/a.h(1): warning: w\n  w\n\n", want[2000] = "";
    for (int k = 1; k <= 9; k++) sprintf(text + strlen(text), "/x/a.h(%d): error: e\n  e\n\n/x/a.h(3): note: n\n\n", k);
    strcat(
        text,
        "/lunarray-kernel.cu(2): warning: mine\n\n/lunarray-kernel.cu(3): error: mine\n\n"
        "/x/a.h(8): catastrophic error: c\n\n 9 errors and 1 catastrophic error detected in the compilation of x.\n");
    for (int k = 1; k <= 5; k++) sprintf(want + strlen(want), "/x/a.h:%d: error: e\n  e\n/x/a.h:3: note: n\n", k);
    strcat(want, "cell 3:12: warning: mine\ncell 3:13: error: mine\n/x/a.h:8: catastrophic error: c\n"
                 "and 4 errors more in headers");
    char *got = rt_map_errors(text, "cell 3", 11);
    CHECK_STR(got, want);
    free(got);
}

TEST(names_that_nobody_declared_are_told_once)
{
#define UNKNOWN(line, name)                                                                                            \
    "/lunarray-kernel.cu(" line "): error: identifier \"" name "\" is undefined\n  " name "()\n\n"
    char *got = rt_map_errors(UNKNOWN("1", "exit") UNKNOWN("1", "exi") UNKNOWN("2", "exit")
                                  UNKNOWN("3", "exit") "/lunarray-kernel.cu(4): error: expected a \";\"\n  x\n\n"
                                                       "/lunarray-kernel.cu(5): error: expected a \";\"\n  y\n\n",
                              "cell 3", 11);
    CHECK_STR(got, "cell 3:11: error: identifier \"exit\" is undefined\n  exit()\n"
                   "cell 3:11: error: identifier \"exi\" is undefined\n  exi()\n"
                   "cell 3:14: error: expected a \";\"\n  x\ncell 3:15: error: expected a \";\"\n  y\n"
                   "and 2 errors more about the same names");
    free(got);
}

TEST(characters_that_begin_no_token_are_told_once_with_the_caret_below_them)
{
#define BYTE(line, caret)                                                                                              \
    "/lunarray-kernel.cu(" line "): error: unrecognized token\n  f(\u201c1\u201d);\n" caret "^\n\n"
    char *got = rt_map_errors(
        BYTE("2", "    ") BYTE("2", "     ") BYTE("2", "      ") BYTE("2", "        ")
            BYTE("3", "        ") "/lunarray-kernel.cu(4): error: no\n  /* \u00e9\u00e9 */ f\n             ^\n\n",
        "cell 3", 11);
    CHECK_STR(got, "cell 3:12: error: unrecognized token\n  f(\u201c1\u201d);\n    ^\n"
                   "cell 3:13: error: unrecognized token\n  f(\u201c1\u201d);\n      ^\n"
                   "cell 3:14: error: no\n  /* \u00e9\u00e9 */ f\n           ^");
    free(got);
}

TEST(notes_on_functions_of_other_numbers_of_arguments_are_left_out)
{
    char *got =
        rt_map_errors("/lunarray-kernel.cu(2): error: no instance\n            argument types are: (int)\n  f(1)\n  ^\n"
                      "__nv_nvrtc_builtin_header.h(7): note #3322-D: number of parameters of function \"f(int, "
                      "int)\" does not match the call\n  int f(int, int)\n      ^\n"
                      "__nv_nvrtc_builtin_header.h(9): note #3327-D: candidate \"f<T>\" failed deduction\n  T f(T)\n"
                      "/lunarray-kernel.cu(1): note #3322-D: number of parameters of function \"f()\" does not "
                      "match the call\n\n",
                      "cell 3", 11);
    CHECK_STR(got, "cell 3:12: error: no instance\n            argument types are: (int)\n  f(1)\n  ^\n"
                   "__nv_nvrtc_builtin_header.h:9: note #3327-D: candidate \"f<T>\" failed deduction\n  T f(T)\n"
                   "cell 3:11: note #3322-D: number of parameters of function \"f()\" does not match the call");
    free(got);
}

TEST(notes_on_operators_that_were_not_meant_are_left_out)
{
    char *got = rt_map_errors(
        "/lunarray-kernel.cu(2): error: no operator \"+\"\n            operand types are: v + float3\n  a + b\n    ^\n"
        "/include/cuda_fp16.h(7): note #3326-D: function \"operator+(__half)\" does not match because\n  operator+\n  ^\n"
        "/lunarray-kernel.cu(1): note #3326-D: function \"operator+(v, v)\" does not match because\n  v operator+\n"
        "/include/mine.h(3): note #3326-D: function \"plus(v, v)\" does not match because\n  plus\n"
        "/lunarray-kernel.cu(2): note #3328-D: built-in operator+(<pointer to object>) does not match\n  a + b\n    ^\n\n",
        "cell 3", 11);
    CHECK_STR(got, "cell 3:12: error: no operator \"+\"\n            operand types are: v + float3\n  a + b\n    ^\n"
                   "cell 3:11: note #3326-D: function \"operator+(v, v)\" does not match because\n  v operator+\n"
                   "/include/mine.h:3: note #3326-D: function \"plus(v, v)\" does not match because\n  plus");
    free(got);
}

/* ---- the cache alone ---- */

static struct rt_cache_key key_of(const char *a, const char *b)
{
    struct rt_cache_hash h;
    struct rt_cache_key key;
    rt_cache_hash_start(&h);
    rt_cache_hash_add(&h, a, strlen(a));
    rt_cache_hash_add(&h, b, strlen(b));
    rt_cache_hash_end(&h, &key);
    return key;
}

/* The path of the only entry in the cache. */
static const char *only_file(void)
{
    static char path[400];
    DIR *dir = opendir(folder);
    CHECK(dir);
    path[0] = 0;
    for (struct dirent *d; (d = readdir(dir));) {
        if (d->d_name[0] == '.') continue;
        CHECK(!path[0]);
        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
    }
    closedir(dir);
    CHECK(path[0]);
    return path;
}

TEST(cache_keeps_fields)
{
    own_cache();
    struct rt_cache_key key = key_of("a", "bc"), other = key_of("ab", "c");
    struct rt_cache_entry in = {.fields = {{"one", 3}, {"", 0}, {"a\0b", 3}}, .count = 3}, out;
    CHECK(!rt_cache_load(&key, &out));
    CHECK(rt_cache_store(&key, &in));
    CHECK(!rt_cache_load(&other, &out));
    CHECK(rt_cache_load(&key, &out));
    CHECK_INT(out.count, 3);
    CHECK_STR(out.fields[0].data, "one");
    CHECK_INT(out.fields[1].length, 0);
    CHECK(out.fields[2].length == 3 && memcmp(out.fields[2].data, "a\0b", 4) == 0);
    free(out.memory);
    struct stat s;
    CHECK(stat(only_file(), &s) == 0);
    CHECK_INT(s.st_mode & 0777, 0600);
}

TEST(damaged_cache_files_are_absent_and_replaced)
{
    own_cache();
    struct rt_cache_key key = key_of("a", "b");
    struct rt_cache_entry in = {.fields = {{"some text", 9}}, .count = 1}, out;
    CHECK(rt_cache_store(&key, &in));
    const char *path = only_file();
    struct stat s;
    CHECK(stat(path, &s) == 0);
    for (long at = 0; at < s.st_size; at++) { /* each byte turned over in turn */
        FILE *f = fopen(path, "r+");
        CHECK(f && fseek(f, at, SEEK_SET) == 0);
        int c = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(c ^ 0xFF, f);
        fclose(f);
        if (rt_cache_load(&key, &out)) FAIL("a file with byte %ld damaged was read", at);
        CHECK(rt_cache_store(&key, &in));
        CHECK(rt_cache_load(&key, &out));
        free(out.memory);
    }
    for (long length = 0; length < s.st_size; length++) {
        CHECK(truncate(path, length) == 0);
        CHECK(!rt_cache_load(&key, &out));
    }
    CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0); /* nobody writes to it */
    CHECK(!rt_cache_load(&key, &out));
    CHECK(rt_cache_store(&key, &in));
    CHECK(rt_cache_load(&key, &out));
    free(out.memory);
}

TEST(cache_folders_that_others_can_write_are_not_used)
{
    own_cache();
    struct rt_cache_key key = key_of("a", "b");
    struct rt_cache_entry in = {.fields = {{"x", 1}}, .count = 1}, out;
    CHECK(rt_cache_store(&key, &in));
    CHECK(chmod(folder, 0777) == 0);
    CHECK(!rt_cache_load(&key, &out));
    CHECK(!rt_cache_store(&key, &in));
    setenv("LUNARRAY_CACHE_DIR", "", 1);
    CHECK(!rt_cache_folder());
    setenv("LUNARRAY_CACHE_DIR", "/proc/nothing/here", 1);
    CHECK(!rt_cache_folder());
    CHECK(!rt_cache_store(&key, &in));
}

/* ---- compiling ---- */

TEST(a_program_and_its_entry)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_source s = source_of(SCALE);
    struct rt_program *p = compiled(d, &s);
    CHECK_HAS(p->ptx, ".visible .entry");
    CHECK_STR(p->target, "compute_80");
    CHECK_STR(p->log, "");
    CHECK(!p->cached && p->compile_ms > 0 && p->load_ms >= p->compile_ms);
    CHECK_INT(p->entry_count, 1);
    CHECK_STR(p->entries[0].name, "scale");
    CHECK_STR(p->entries[0].params[1].name, "a");
    CHECK_INT(p->entries[0].params[2].offset, 8);
    rt_program_free(p);
}

TEST(an_interrupt_ends_a_compilation)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_source s = source_of(SCALE);
    struct rt_error e = {0};
    rt_interrupt();
    CHECK(!rt_compile(d, &s, &e));
    CHECK_STR(e.text, "interrupted");
    rt_error_clear(&e);
    rt_interrupt_clear();
    rt_program_free(compiled(d, &s));
}

TEST(the_mark_at_a_files_beginning_is_no_part_of_the_source)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_source s = source_of("\xEF\xBB\xBF" SCALE);
    struct rt_program *p = compiled(d, &s);
    CHECK_STR(p->entries[0].name, "scale");
    rt_program_free(p);
    s = source_of("\xEF\xBB\xBF");
    struct rt_error e = {0};
    p = rt_compile(d, &s, &e);
    CHECK(!p || p->entry_count == 0);
    rt_program_free(p);
    rt_error_clear(&e);
}

TEST(the_cache_does_not_depend_on_where_the_source_stands)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_source s = source_of(SCALE "__global__ void w() { int unused; }\n");
    struct rt_program *p = compiled(d, &s), *again;
    s.name = "other.lua";
    s.first_line = 100;
    again = compiled(d, &s);
    CHECK(again->cached);
    CHECK_STR(again->ptx, p->ptx);
    CHECK_HAS(p->log, "cell 3:12: warning");
    CHECK_HAS(again->log, "other.lua:101: warning");
    CHECK_NEAR(again->compile_ms, p->compile_ms, 0);
    rt_program_free(again);
    const char *options[] = {"-DX=1"};
    s.options = options;
    s.option_count = 1;
    again = compiled(d, &s);
    CHECK(!again->cached);
    rt_program_free(again);
    rt_program_free(p);
}

TEST(instantiations_survive_the_cache)
{
    own_cache();
    struct rt_device *d = simt();
    const char *wanted[] = {"scale<float>", "scale< int >"};
    struct rt_source s = source_of("template <class T> __global__ void scale(T *x, T a) { *x *= a; }");
    s.instantiations = wanted;
    s.instantiation_count = 2;
    for (int i = 0; i < 2; i++) {
        struct rt_program *p = compiled(d, &s);
        CHECK_INT(p->cached, i);
        CHECK_INT(p->entry_count, 2);
        bool found = false;
        for (int k = 0; k < 2; k++) found |= strcmp(p->entries[k].name, "scale< int >") == 0;
        CHECK(found);
        rt_program_free(p);
    }
}

TEST(errors_come_with_lines_and_are_not_kept)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_source s = source_of("__global__ void k() {\n  foo();\n}\n");
    for (int i = 0; i < 2; i++) {
        struct rt_error e = {0};
        CHECK(!rt_compile(d, &s, &e));
        CHECK_INT(e.status, RT_COMPILE);
        CHECK(strncmp(e.text, "cell 3:12: error: identifier \"foo\" is undefined\n", 48) == 0);
        CHECK(!strstr(e.text, "detected in"));
        rt_error_clear(&e);
    }
    struct rt_error e = {0};
    struct rt_device *cpu = rt_device_open("cpu", &e);
    CHECK(!rt_compile(cpu, &s, &e));
    CHECK_INT(e.status, RT_INVALID);
    rt_error_clear(&e);
}

TEST(allocations_that_fail_while_compiling)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_source s = source_of(SCALE);
    rt_program_free(compiled(d, &s)); /* from the cache from now on */
    bool done = false;
    for (long n = 1; !done && n < 1000; n++) {
        struct rt_error e = {0};
        rt_fail_allocation(n);
        struct rt_program *p = rt_compile(d, &s, &e);
        rt_fail_allocation(0);
        if (!p) CHECK_INT(e.status, RT_NOMEM);
        done = p && n > 60;
        rt_program_free(p);
        rt_error_clear(&e);
    }
    CHECK(done);
}

TEST(allocations_that_fail_while_loading)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_source s = source_of(SCALE);
    bool done = false;
    for (long n = 1; !done && n < 2000; n++) {
        struct rt_error e = {0};
        struct rt_program *p = compiled(d, &s);
        struct rt_kernel k = {0};
        rt_fail_allocation(n);
        struct rt_module *m = rt_module_load(d, p, &e);
        if (m) rt_module_kernel(m, NULL, &k, &e);
        rt_fail_allocation(0);
        done = k.module != NULL;
        if (!done) CHECK_INT(e.status, RT_NOMEM);
        rt_kernel_release(&k);
        rt_module_release(m);
        rt_error_clear(&e);
    }
    CHECK(done);
}

/* ---- launching ---- */

TEST(launching_without_lua)
{
    own_cache();
    struct rt_device *d = simt();
    struct rt_error e = {0};
    struct rt_source s = source_of(SCALE);
    struct rt_module *m = rt_module_load(d, compiled(d, &s), &e);
    struct rt_kernel k;
    if (!m || rt_module_kernel(m, "scale", &k, &e) != RT_OK) FAIL("%s", e.text);
    rt_module_release(m);
    struct rt_array x;
    float host[5] = {1, 2, 3, 4, 5};
    CHECK_INT(rt_array_new(d, RT_FLOAT32, 1, (int64_t[]){5}, &x, &e), RT_OK);
    CHECK_INT(rt_array_write(&x, host, &e), RT_OK);
    struct rt_arg args[] = {
        {.kind = RT_ARG_INT, .as.i = 4}, {.kind = RT_ARG_FLOAT, .as.f = 2.5}, {.kind = RT_ARG_ARRAY, .as.array = &x}};
    struct rt_launch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    if (rt_kernel_launch(&k, &l, args, 3, &e) != RT_OK) FAIL("%s", e.text);
    CHECK_INT(rt_array_read(&x, host, &e), RT_OK);
    CHECK(host[0] == 2.5f && host[3] == 10 && host[4] == 5);
    CHECK_INT(rt_kernel_launch(&k, &l, args, 2, &e), RT_INVALID);
    CHECK_STR(e.text, "scale: takes 3 arguments (int n, float a, float *x), got 2");
    rt_error_clear(&e);
    CHECK_INT(rt_kernel_launch(&k, &l, args, 2, NULL), RT_INVALID);
    CHECK_INT(rt_kernel_forall(&k, 1000, &l, &e), RT_OK);
    CHECK(l.grid[0] * (long)l.block[0] >= 1000 && (l.grid[0] - 1) * (long)l.block[0] < 1000);
    struct rt_timer timer;
    double ms = -1;
    CHECK_INT(rt_timer_start(d, &timer, &e), RT_OK);
    CHECK_INT(rt_timer_stop(&timer, &ms, &e), RT_OK);
    CHECK(ms >= 0);
    rt_timer_release(&timer);
    rt_array_release(&x);
    rt_kernel_release(&k);
}
