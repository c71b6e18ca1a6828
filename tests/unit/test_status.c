/* Errors: their status and text, of any length, without memory too. */
#include "runtime/memory.h"
#include "tests/unit/test.h"

TEST(status_names)
{
    CHECK_STR(rt_status_name(RT_OK), "ok");
    CHECK_STR(rt_status_name(RT_IO), "input/output error");
    CHECK_STR(rt_status_name((enum rt_status)99), "unknown status");
}

TEST(error_short_long_and_reuse)
{
    struct rt_error e = {0};
    CHECK_INT(rt_fail(&e, RT_INVALID, "axis %d\n", 3), RT_INVALID);
    CHECK_STR(e.text, "axis 3");
    CHECK(e.text == e.small);
    char long_text[1000];
    memset(long_text, 'x', sizeof long_text);
    long_text[999] = '\0';
    rt_fail(&e, RT_IO, "%s", long_text);
    CHECK_STR(e.text, long_text);
    CHECK_INT(e.status, RT_IO);
    rt_fail(&e, RT_IO, "again: %s", e.text); /* the arguments may point into the old text */
    CHECK_INT(strlen(e.text), 999 + 7);
    rt_fail(&e, RT_IO, "short");
    rt_fail(&e, RT_IO, "%s and %s", e.text, e.text);
    CHECK_STR(e.text, "short and short");
    rt_error_clear(&e);
    CHECK(e.text == NULL && e.status == RT_OK);
    rt_error_clear(&e);
    CHECK_INT(rt_fail(NULL, RT_NOMEM, "lost"), RT_NOMEM);
}

TEST(error_prefix)
{
    struct rt_error e = {0};
    rt_error_prefix(&e, "nothing there");
    CHECK(e.text == NULL);
    rt_fail(&e, RT_MISSING, "no file");
    rt_error_prefix(&e, "%s: ", "cell 1");
    CHECK_STR(e.text, "cell 1: no file");
    CHECK_INT(e.status, RT_MISSING);
    rt_error_clear(&e);
}

TEST(error_without_memory_keeps_a_cut_text)
{
    struct rt_error e = {0};
    char long_text[1000];
    for (size_t i = 0; i + 2 < sizeof long_text; i += 2) memcpy(long_text + i, "\xC3\xA9", 3);
    rt_fail_allocation(1);
    rt_fail(&e, RT_COMPILE, "%s", long_text);
    CHECK(e.text == e.small);
    size_t n = strlen(e.text);
    CHECK_STR(e.text + n - 3, "...");
    CHECK_INT((n - 3) % 2, 0); /* no half character */
    rt_error_clear(&e);
}
