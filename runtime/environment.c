#include "runtime/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rt_variable_row rt_variables[RT_VARIABLES] = {
    [RT_VAR_THREADS] = {"LUNARRAY_THREADS", "how many threads of the host compute", {0}},
    [RT_VAR_ISA] = {"LUNARRAY_ISA",
                    "the most of the processor's instructions that are used",
                    {"base", "v3", "avx2", "v4", "avx512", NULL}},
    [RT_VAR_JIT] = {"LUNARRAY_JIT", "whether the software GPU makes machine code of kernels", {"0", "1", NULL}},
    [RT_VAR_COMPILE] =
        {"LUNARRAY_COMPILE",
         "whether operations of arrays on a GPU wait for the compiler when they are new; hurry: for one in a hurry, whose "
         "code is slower",
         {"wait", "background", "hurry", NULL}},
    [RT_VAR_LAZY] = {"LUNARRAY_LAZY",
                     "which results wait until they are looked at, as gpu.lazy",
                     {"never", "large", "always", NULL}},
    [RT_VAR_GENERATED] = {"LUNARRAY_GENERATED",
                          "whether operations of arrays on simt run as a GPU's kernels",
                          {"0", "1", NULL}},
    [RT_VAR_CHECK] =
        {"LUNARRAY_CHECK",
         "whether launches of other programs on libcuda-simt.so are checked; strict as gpu.check(\"strict\")",
         {"0", "1", "strict", NULL}},
    [RT_VAR_LOG_LEVEL] = {"LUNARRAY_LOG_LEVEL",
                          "how much a notebook's kernel writes to the log",
                          {"error", "warning", "info", "debug", NULL}},
    [RT_VAR_OUTPUT_LIMIT] = {"LUNARRAY_OUTPUT_LIMIT", "how many bytes a notebook's cell may print", {0}},
    [RT_VAR_UNREAD_LIMIT] = {"LUNARRAY_UNREAD_LIMIT",
                             "how many messages wait for a client of a notebook's kernel that does not read",
                             {0}},
    [RT_VAR_UNREAD_BYTES] = {"LUNARRAY_UNREAD_BYTES", "... and how many bytes for all such clients", {0}},
};

static const char *value_of(enum rt_variable v)
{
    const char *value = getenv(rt_variables[v].name);
    return value && *value ? value : NULL;
}

int rt_variable_word(enum rt_variable v)
{
    const char *value = value_of(v);
    for (int i = 0; value && rt_variables[v].words[i]; i++)
        if (!strcmp(value, rt_variables[v].words[i])) return i;
    return -1;
}

long long rt_variable_number(enum rt_variable v)
{
    const char *value = value_of(v);
    if (!value || value[strspn(value, "0123456789")]) return 0;
    errno = 0;
    long long n = strtoll(value, NULL, 10);
    return errno ? 0 : n;
}

void rt_variable_expected(enum rt_variable v, char *text, size_t size)
{
    const char *const *words = rt_variables[v].words;
    snprintf(text, size, "%s", words[0] ? words[0] : "a whole number from 1 on");
    for (int i = 1; words[0] && words[i]; i++) {
        size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%s", words[i + 1] ? ", " : " or ", words[i]);
    }
}

bool rt_variable_wrong(enum rt_variable v, char *text, size_t size)
{
    const char *value = value_of(v);
    char expected[RT_VARIABLE_TEXT];
    if (!value || rt_variable_word(v) >= 0 || (!rt_variables[v].words[0] && rt_variable_number(v) > 0)) return false;
    rt_variable_expected(v, expected, sizeof expected);
    snprintf(text, size, "%s is %.60s, expected %s", rt_variables[v].name, value, expected);
    return true;
}
