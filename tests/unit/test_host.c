/* What the machine offers: CPUs, memory, and a name. */
#include "runtime/host.h"
#include "tests/unit/test.h"

#include <ctype.h>

TEST(what_the_machine_offers)
{
    long online = sysconf(_SC_NPROCESSORS_CONF), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    CHECK(rt_host_cpus() >= 1 && rt_host_cpus() <= online);
    size_t memory = rt_host_memory(), free_memory = rt_host_free_memory();
    CHECK(memory > 0 && memory <= (size_t)pages * (size_t)page);
    CHECK(free_memory > 0 && free_memory <= (size_t)pages * (size_t)page);
}

TEST(the_cpus_name)
{
    char name[100], cut[8];
    rt_cpu_model(name, sizeof name);
    CHECK(*name && !isspace((unsigned char)name[0]) && !isspace((unsigned char)name[strlen(name) - 1]));
    rt_cpu_model(cut, sizeof cut);
    CHECK(strlen(cut) < sizeof cut);
}
