/* The limits of control groups, read from folders that look like those of Linux. */
#define _GNU_SOURCE /* nftw */
#include "runtime/cgroup.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#define MB ((int64_t)1 << 20)

static char root[] = "/tmp/lunarray-cgroup-XXXXXX", own[sizeof root + 4];
static const struct rt_cgroups groups = {root, own};

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static void begin(const char *membership)
{
    CHECK(mkdtemp(root));
    snprintf(own, sizeof own, "%s/own", root);
    FILE *f = membership ? fopen(own, "w") : NULL;
    CHECK(!membership || (f && fputs(membership, f) >= 0 && fclose(f) == 0));
}

static void end(void)
{
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the root, and makes the folders that it is in. */
static void put(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + sizeof root; (p = strchr(p, '/')); p++) {
        *p = '\0';
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

TEST(the_tightest_group_above_counts)
{
    begin("0::/a/b/c\n");
    put("a/cpu.max", "250000 100000\n"); /* two and a half */
    put("a/b/cpu.max", "max 100000\n");
    put("a/b/c/cpu.max", "800000 100000\n");
    put("other/cpu.max", "100000 100000\n");
    put("a/b/memory.max", "1048576\n");
    put("a/b/c/memory.max", "max\n");
    CHECK_INT(rt_cgroup_cpus(&groups), 3);
    CHECK_INT(rt_cgroup_memory(&groups), MB);
    put("cpu.max", "100000 100000\n"); /* a container sees its own group as the root */
    put("memory.max", "4096\n");
    CHECK_INT(rt_cgroup_cpus(&groups), 1);
    CHECK_INT(rt_cgroup_memory(&groups), 4096);
    end();
}

TEST(controllers_of_version_1_have_folders_of_their_own)
{
    begin("12:cpuset:/set\n4:cpu,cpuacct:/a\n3:memory:/a/m\n1:name=systemd:/s\n");
    put("cpu/a/cpu.cfs_quota_us", "150000\n");
    put("cpu/a/cpu.cfs_period_us", "50000\n");
    put("cpu/set/cpu.cfs_quota_us", "50000\n"); /* the processors' set is ours, this is not */
    put("cpu/set/cpu.cfs_period_us", "50000\n");
    put("memory/a/memory.limit_in_bytes", "3145728\n");
    put("memory/a/m/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK_INT(rt_cgroup_cpus(&groups), 3);
    CHECK_INT(rt_cgroup_memory(&groups), 3 * MB);
    put("cpu/a/cpu.cfs_quota_us", "-1\n");
    CHECK_INT(rt_cgroup_cpus(&groups), INT64_MAX);
    put("memory/memory.limit_in_bytes", "1048576\n");
    CHECK_INT(rt_cgroup_memory(&groups), MB);
    end();
}

TEST(files_that_would_be_dropped_are_free)
{
    begin("0::/\n");
    put("memory.max", "104857600\n");
    CHECK_INT(rt_cgroup_memory_left(&groups), INT64_MAX); /* nobody says what is used */
    put("memory.current", "94371840\n");
    CHECK_INT(rt_cgroup_memory_left(&groups), 10 * MB);
    put("memory.stat", "anon 1\ninactive_file 31457280\nactive_file 20971520\nfile_mapped 10485760\nfile 99\n");
    CHECK_INT(rt_cgroup_memory_left(&groups), 50 * MB);
    put("memory.stat", "inactive_file 1048576\nfile_mapped 10485760\n");
    CHECK_INT(rt_cgroup_memory_left(&groups), 10 * MB);
    put("memory.current", "209715200\n");
    CHECK_INT(rt_cgroup_memory_left(&groups), 0);
    put("memory.max", "9223372036854771712\n"); /* how version 1 says "none" */
    put("memory.current", "4096\n");
    put("memory.stat", "inactive_file 1048576\n"); /* of a moment later */
    CHECK_INT(rt_cgroup_memory_left(&groups), 9223372036854771712);
    end();
}

TEST(what_makes_no_sense_is_no_limit)
{
    static const char *const texts[] = {"",     "\n",           "x 100000\n", "-5 100000\n", "100000 0\n",
                                        "12\n", "12z 100000\n", "0 100000\n", "max"};
    begin("nonsense\n:\n0:\n0::\n0::relative\n0::/gone/gone\n\n0::/a\n");
    CHECK_INT(rt_cgroup_cpus(&groups), INT64_MAX);
    CHECK_INT(rt_cgroup_memory(&groups), INT64_MAX);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put("a/cpu.max", texts[i]);
        if (rt_cgroup_cpus(&groups) != INT64_MAX) FAIL("\"%s\" is a limit", texts[i]);
    }
    put("a/cpu.max", "9223372036854775807 2\n"); /* found in the last of those lines */
    CHECK_INT(rt_cgroup_cpus(&groups), INT64_MAX / 2 + 1);
    put("a/memory.max", "0x10\n");
    CHECK_INT(rt_cgroup_memory(&groups), INT64_MAX);
    end();
}

TEST(without_groups_there_are_no_limits)
{
    begin(NULL);
    CHECK_INT(rt_cgroup_cpus(&groups), INT64_MAX);
    CHECK_INT(rt_cgroup_memory_left(&groups), INT64_MAX);
    put("memory.max", "4096\n"); /* /proc need not be there */
    CHECK_INT(rt_cgroup_memory(&groups), 4096);
    end();
}

TEST(long_paths)
{
    char line[5000] = "0::/a";
    memset(line + 5, 'b', sizeof line - 6);
    begin(line);
    put("memory.max", "4096\n");
    CHECK_INT(rt_cgroup_memory(&groups), 4096);
    end();
}
