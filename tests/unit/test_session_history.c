/* The history of cells, in memory and in the file that sessions share. */
#define _GNU_SOURCE /* SYS_pwrite64 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/unit/session.h"

static size_t disk = SIZE_MAX; /* bytes that it has left; files in memory have more */

/* In the system's place. */
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
    char link[64], name[64] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    bool in_memory = readlink(link, name, sizeof name - 1) > 0 && strncmp(name, "/memfd:", 7) == 0;
    if (!in_memory && bytes > disk) bytes = disk;
    if (!bytes) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t n = syscall(SYS_pwrite64, fd, data, bytes, at);
    if (!in_memory && n > 0 && disk != SIZE_MAX) disk -= (size_t)n;
    return n;
}

TEST(history)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64];
    struct lg_history_entry e;
    struct stat st;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/sub/history", folder);
    start_with(path);
    CHECK_INT(lg_history_count(session), 0);
    run("a = 1\nb = '\\\\n\\t'\n");
    run("a");
    run("a");
    run("  ");
    CHECK_INT(lg_history_count(session), 3);
    CHECK(lg_history_get(session, 2, &e));
    CHECK_INT(e.session, 0);
    CHECK_INT(e.line, 3);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    lg_session_free(session);

    FILE *f = fopen(path, "a");
    CHECK(f);
    fputs("garbage\n\n-1\t2\tx\n1\t\xff\xff\n7\t1\tcut off", f);
    fclose(f);
    start_with(path);
    CHECK_INT(lg_history_count(session), 3);
    CHECK(lg_history_get(session, 0, &e));
    CHECK_INT(e.session, 1);
    CHECK_INT(e.line, 1);
    CHECK_STR(e.code, "a = 1\nb = '\\\\n\\t'");
    CHECK(lg_history_get(session, 1, &e));
    CHECK_STR(e.code, "a");
    CHECK(!lg_history_get(session, 3, &e));
    run("later = 1");
    lg_session_free(session);

    start_with(path);
    CHECK_INT(lg_history_count(session), 4);
    CHECK(lg_history_get(session, 3, &e));
    CHECK_INT(e.session, 8);
    CHECK_STR(e.code, "later = 1");
    struct lg_request quiet = {.code = "1", .length = 1, .silent = true};
    CHECK_INT(lg_session_evaluate(session, &quiet, &failure), LG_DONE);
    CHECK_INT(lg_session_count(session), 0);
    CHECK_INT(lg_history_count(session), 4);
    lg_session_free(session);
    CHECK_INT(unlink(path), 0);
    snprintf(path, sizeof path, "%s/sub", folder);
    CHECK_INT(rmdir(path), 0);
    CHECK_INT(rmdir(folder), 0);
}

/* What two sessions run at the same time is seen by both. */
TEST(shared_history)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64];
    struct lg_history_entry e;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history", folder);
    start_with(path);
    struct lg_session *first = session;
    lg_history_refresh(first); /* nothing has been read, nothing is to be */
    CHECK_INT(lg_history_count(first), 0);
    start_with(path);
    struct lg_session *second = session;
    run("a = 1");
    CHECK_INT(lg_history_count(first), 0);
    lg_history_refresh(first);
    CHECK_INT(lg_history_count(first), 1);
    session = first;
    run("b = 2");
    run("c = 3");
    lg_history_refresh(first);
    lg_history_refresh(first);
    CHECK_INT(lg_history_count(first), 3); /* its own cells once */
    lg_history_refresh(second);
    CHECK_INT(lg_history_count(second), 3);
    CHECK(lg_history_get(second, 2, &e));
    CHECK_STR(e.code, "c = 3");
    CHECK_INT(e.session, 2);
    CHECK(lg_history_get(second, 0, &e));
    CHECK_INT(e.session, 0);
    CHECK_INT(unlink(path), 0);
    lg_history_refresh(second);
    run("d = 4"); /* into a new file of that name */
    session = second;
    run("e = 5");
    lg_history_refresh(second);
    lg_history_refresh(first);
    CHECK(lg_history_count(first) >= 4 && lg_history_count(second) >= 4);
    lg_session_free(first);
    lg_session_free(second);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(folder), 0);
}

/* They are remembered; those that come when the lock is free again go to the file, too. */
TEST(cells_do_not_wait_for_a_lock_that_nobody_gives_back)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64], text[100];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history", folder);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK_INT(flock(fd, LOCK_EX), 0);
    start_with(path);
    run("a = 1");
    run("b = 2");
    CHECK_INT(lg_history_count(session), 2);
    CHECK_INT(flock(fd, LOCK_UN), 0);
    run("c = 3");
    CHECK_INT(lg_history_count(session), 3);
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    CHECK_STR(text, "1\t3\tc = 3\n");
    close(fd);
    lg_session_free(session);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(folder), 0);
}

TEST(a_pipe_is_no_history)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history", folder);
    CHECK_INT(mkfifo(path, 0600), 0);
    start_with(path);
    CHECK_INT(lg_history_count(session), 0);
    run("a = 1");
    lg_history_refresh(session);
    CHECK_INT(lg_history_count(session), 1);
    lg_session_free(session);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(folder), 0);
}

/* It is cut at the end of a line when the next session writes its first cell; sessions go on counting. */
TEST(a_long_file_is_cut_to_its_newer_half)
{
    enum { CELLS = 5000 };
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64], expected[64];
    struct lg_history_entry e;
    struct stat st;
    CHECK(mkdtemp(folder));
    char target[64];
    snprintf(path, sizeof path, "%s/history", folder);
    snprintf(target, sizeof target, "%s/elsewhere", folder);
    CHECK_INT(symlink(target, path), 0); /* it stays one */
    FILE *f = fopen(path, "w");
    CHECK(f);
    for (int i = 1; i <= CELLS; i++) fprintf(f, "3\t%d\tlocal v = %d --%*s\n", i, i, 1000, "text");
    fclose(f);
    CHECK_INT(chdir(folder), 0);
    start_with("history"); /* of this folder, wherever cells go */
    CHECK_INT(chdir("/"), 0);
    CHECK_INT(lg_history_count(session), CELLS);
    run("newest = 1");
    CHECK_INT(lg_history_count(session), CELLS + 1);
    lg_session_free(session);
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    start_with(path);
    size_t count = lg_history_count(session);
    CHECK(count > CELLS / 2 - 10 && count < CELLS / 2 + 10);
    for (size_t i = 0; i < count; i++) {
        CHECK(lg_history_get(session, i, &e));
        CHECK_INT(e.session, i == count - 1 ? 4 : 3);
        snprintf(expected, sizeof expected, "local v = %d --", (int)(CELLS + 2 - count + i));
        if (i < count - 1) CHECK(strncmp(e.code, expected, strlen(expected)) == 0);
    }
    CHECK_STR(e.code, "newest = 1");
    lg_session_free(session);
    CHECK_INT(unlink(target), 0);
    CHECK_INT(stat(path, &st), -1);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(folder), 0); /* nothing else was left in it */
}

/* What a full disk had taken goes to memory, as what comes then does. */
TEST(cells_of_a_full_disk)
{
    enum { CELLS = 60, FULL_AT = 40, LENGTH = 1000 };
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64], code[LENGTH + 100];
    struct lg_history_entry e;
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history", folder);
    start_with(path);
    for (int i = 0; i < CELLS; i++) {
        if (i == FULL_AT) {
            CHECK(lg_history_get(session, 0, &e)); /* so all are written */
            disk = LENGTH / 2;
        }
        snprintf(code, sizeof code, "local v = %d --%*s", i, LENGTH, "text");
        run(code);
        if (i < FULL_AT) continue;
        CHECK_INT(lg_history_count(session), i + 1);
        for (int k = 0; k <= i; k++) {
            snprintf(code, sizeof code, "local v = %d --%*s", k, LENGTH, "text");
            CHECK(lg_history_get(session, (size_t)k, &e));
            CHECK_STR(e.code, code);
        }
    }
    CHECK(disk < LENGTH / 2);
    disk = SIZE_MAX;
    lg_session_free(session);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(folder), 0);
}

/* Cells i..last-1, each of a kilobyte and unlike the others; what the process holds afterwards. Nothing is collected
 * for it: a full collection shifts when the later ones come, and so, once, how much garbage there is at most. */
static long kilobytes_after(int i, int last)
{
    char code[1200];
    long pages = 0;
    for (; i < last; i++) {
        snprintf(code, sizeof code, "local v = %d --%*s", i, 1000, "text");
        run(code);
    }
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%*d %ld", &pages) == 1);
    fclose(f);
    return pages * (getpagesize() / 1024);
}

/* What else a session and its collector need comes by and by, so cells are counted from when they have it. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { WARM = 6000, ALL = WARM + 10000, MOST_KILOBYTES = INT_MAX }; /* freed memory is kept there */
#else
enum { WARM = 20000, ALL = WARM + 20000, MOST_KILOBYTES = 300 };
#endif

static void check_long_history(const char *path)
{
    char expected[64];
    struct lg_history_entry e;
    start_with(path);
    long before = kilobytes_after(0, WARM), after = kilobytes_after(WARM, ALL);
    if (after - before > MOST_KILOBYTES) FAIL("%d cells of 1 KB took %ld KB", ALL - WARM, after - before);
    size_t count = lg_history_count(session);
    CHECK_INT(count, ALL);
    for (size_t i = count; i-- > 0;) {
        CHECK(lg_history_get(session, i, &e));
        CHECK_INT(e.line, i + 1);
        snprintf(expected, sizeof expected, "local v = %d --", (int)i);
        CHECK(strncmp(e.code, expected, strlen(expected)) == 0);
        CHECK_INT(strlen(e.code), strlen(expected) + 1000);
    }
    CHECK_HAS(run("return In[7]"), "local v = 6 --");
    CHECK_HAS(run("%history 15999-"), "15999: local v = 15998 --");
    lg_session_free(session);
}

TEST(memory_does_not_grow_by_the_text_of_cells)
{
    char folder[] = "/tmp/lunarray-test-XXXXXX", path[64];
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history", folder);
    check_long_history(path);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(folder), 0); /* nothing else was left in it */
}

TEST(cells_of_a_session_without_a_file_are_remembered)
{
    check_long_history("");
    check_long_history("/dev/null/none/history");
}
