/* Files under new names: none is taken that another file has, as one that a killed process left behind. */
#include "runtime/file.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include "runtime/cache.h"

static uint32_t drawn[200];
static int next;

static uint32_t draw(void)
{
    return drawn[next++];
}

static const char *name_source(void)
{
    return "listed";
}

/* Draws the listed numbers from now on; the last of them follow for ever. */
static void list_numbers(const uint32_t *numbers, int count)
{
    static struct randombytes_implementation listed = {.implementation_name = name_source, .random = draw};
    for (int i = 0; i < 200; i++) drawn[i] = numbers[i < count ? i : count - 1];
    next = 0;
    CHECK_INT(randombytes_set_implementation(&listed), 0);
}

static void touch(const char *path)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("old", f) >= 0 && fclose(f) == 0);
}

static void check_content(const char *path, const char *want)
{
    struct rt_error e = {0};
    size_t size;
    char *text = rt_file_load(path, &size, &e);
    CHECK_STR(text, want);
    free(text);
}

TEST(a_name_that_is_taken_is_left_alone)
{
    char folder[] = "/tmp/lunarray-file-XXXXXX", *name;
    struct stat s;
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    touch("x.part-00000007");
    CHECK(symlink("nowhere", "x.part-00000008") == 0);
    list_numbers((uint32_t[]){7, 8, 0xABCDEF01}, 3);
    int handle = rt_file_beside("x", 0640, &name);
    CHECK(handle >= 0);
    CHECK_STR(name, "x.part-abcdef01");
    CHECK(fstat(handle, &s) == 0 && s.st_size == 0 && (s.st_mode & 0137) == 0);
    CHECK(fcntl(handle, F_GETFD) == FD_CLOEXEC);
    close(handle);
    free(name);
    list_numbers((uint32_t[]){7}, 1); /* it does not look for ever */
    CHECK(rt_file_beside("x", 0640, &name) < 0 && errno == EEXIST && !name);
    CHECK(rt_file_beside("no/folder/x", 0640, &name) < 0 && errno == ENOENT && !name);
    check_content("x.part-00000007", "old");
    CHECK(access("nowhere", F_OK) != 0);
    unlink("x.part-00000007"), unlink("x.part-00000008"), unlink("x.part-abcdef01"), rmdir(folder);
}

TEST(what_a_killed_process_left_is_in_nobodys_way)
{
    char folder[] = "/tmp/lunarray-file-XXXXXX";
    struct rt_error e = {0};
    struct rt_writer killed, w;
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    list_numbers((uint32_t[]){1, 1, 2}, 3);
    CHECK_INT(rt_writer_open("a.npy", &killed, &e), RT_OK);
    CHECK_INT(rt_writer_open("a.npy", &w, &e), RT_OK);
    rt_writer_put(&w, "new", 3);
    CHECK_INT(rt_writer_finish(&w, true, &e), RT_OK);
    check_content("a.npy", "new");
    CHECK(access("a.npy.part-00000001", F_OK) == 0 && access("a.npy.part-00000002", F_OK) != 0);
    CHECK_INT(rt_writer_finish(&killed, false, NULL), RT_OK);
    unlink("a.npy"), rmdir(folder);
}

TEST(the_cache_takes_another_name)
{
    char folder[] = "/tmp/lunarray-file-XXXXXX", path[200], hex[2 * crypto_hash_sha256_BYTES + 1];
    struct rt_cache_hash h;
    struct rt_cache_key key;
    struct rt_cache_entry in = {.fields = {{"some text", 9}}, .count = 1}, out;
    CHECK(mkdtemp(folder) && setenv("LUNARRAY_CACHE_DIR", folder, 1) == 0);
    rt_cache_hash_start(&h);
    rt_cache_hash_end(&h, &key);
    sodium_bin2hex(hex, sizeof hex, key.bytes, sizeof key.bytes);
    snprintf(path, sizeof path, "%s/%s.part-00000003", folder, hex);
    touch(path);
    list_numbers((uint32_t[]){3, 4}, 2);
    CHECK(rt_cache_store(&key, &in));
    CHECK(rt_cache_load(&key, &out));
    CHECK_STR(out.fields[0].data, "some text");
    free(out.memory);
    CHECK_INT(next, 2);
    check_content(path, "old");
    unlink(path);
    path[strlen(path) - strlen(".part-00000003")] = '\0';
    unlink(path), rmdir(folder);
}
