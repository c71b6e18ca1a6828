/* What the machine offers: CPUs, memory, and a name. */
#include "runtime/host.h"
#include "tests/unit/test.h"

#include <ctype.h>
#include "runtime/memory.h"
#include "runtime/simt/simt.h"

TEST(what_the_machine_offers)
{
    long online = sysconf(_SC_NPROCESSORS_CONF), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    CHECK(rt_host_cpus() >= 1 && rt_host_cpus() <= online);
    size_t memory = rt_host_memory(), free_memory = rt_host_free_memory();
    CHECK(memory > 0 && memory <= (size_t)pages * (size_t)page);
    CHECK(free_memory > 0 && free_memory <= (size_t)pages * (size_t)page);
}

TEST(no_more_is_taken_than_there_is)
{
    const size_t mb = (size_t)1 << 20;
    size_t most = rt_host_free_memory(); /* which the system would give, as long as it is not touched */
    CHECK(rt_host_has_room(mb) && !rt_host_has_room(SIZE_MAX));
    while (rt_host_has_room(most)) most += most / 4; /* where there is swap */
    CHECK(rt_alloc(most) == NULL && rt_alloc_lines(most) == NULL && rt_calloc(most / 8, 8) == NULL);
    CHECK(rt_alloc(mb) == NULL); /* for a moment nobody asks the system again */
    struct rt_error e = {0};
    struct rt_device *cpu = rt_device_open("cpu", &e);
    CHECK(cpu && rt_storage_new(cpu, most, &e) == NULL);
    CHECK_INT(e.status, RT_NOMEM);
    rt_error_clear(&e);
    size_t free_bytes, total;
    simt_memory_info(&free_bytes, &total);
    CHECK(free_bytes <= most && free_bytes <= total);
}

TEST(the_cpus_name)
{
    char name[100], cut[8];
    rt_cpu_model(name, sizeof name);
    CHECK(*name && !isspace((unsigned char)name[0]) && !isspace((unsigned char)name[strlen(name) - 1]));
    rt_cpu_model(cut, sizeof cut);
    CHECK(strlen(cut) < sizeof cut);
}
