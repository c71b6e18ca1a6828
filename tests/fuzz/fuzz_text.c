/* Foreign CSV and JSON texts: what was measured fits exactly what is then read, and the shortest text of each number
 * reads as the same number. The first byte chooses: '{' JSON, anything else the form of a CSV text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/csv.h"
#include "runtime/json.h"
#include "runtime/number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every element as text and back. */
static void check_elements(enum rt_dtype t, const char *p, int64_t count)
{
    for (int64_t i = 0; i < count; i++, p += rt_dtypes[t].size) {
        char text[RT_NUMBER_TEXT], again[16];
        int n = rt_number_text(t, p, text);
        if (n <= 0 || n >= RT_NUMBER_TEXT || rt_number_parse(text, (size_t)n, t, again) != RT_NUMBER_OK) abort();
        if (!strstr(text, "nan") && memcmp(p, again, rt_dtypes[t].size) != 0) abort();
    }
}

static void read_csv(const char *text, size_t size, unsigned form)
{
    static const char delimiters[] = {'\0', '\t', ' ', ';'};
    struct rt_csv_form f = {.delimiter = delimiters[form % 4],
                            .decimal = form & 1 ? ',' : '\0',
                            .comment = form & 4 ? '#' : '\0',
                            .header = (enum rt_csv_header)(form / 8 % 3),
                            .skip = form / 24 % 3};
    struct rt_csv c;
    if (rt_csv_measure("text", text, size, &f, &c, NULL) != RT_OK) return;
    char name[16];
    for (const char *at = c.names; rt_csv_name(&c, &at, name, sizeof name);)
        if (strlen(name) >= sizeof name) abort();
    if (c.rows * c.columns > (int64_t)size + 1) abort();
    for (int k = 0; k < 3; k++) {
        enum rt_dtype t = k == 0 ? RT_FLOAT64 : k == 1 ? RT_INT32 : RT_COMPLEX64;
        char *elements = malloc((size_t)(c.rows * c.columns) * rt_dtypes[t].size + 1);
        if (elements && rt_csv_read(&c, NULL, c.columns, t, elements, NULL) == RT_OK)
            check_elements(t, elements, c.rows * c.columns);
        free(elements);
    }
}

static void read_json(const char *text, size_t size)
{
    struct rt_json j;
    struct rt_error e = {0};
    if (rt_json_measure("text", text, size, &j, &e) != RT_OK) {
        if (!e.text || !e.text[0]) abort();
        rt_error_clear(&e);
        return;
    }
    int64_t count = 1;
    for (int i = 0; i < j.ndim; i++) {
        if (j.shape[i] < 0) abort();
        count *= j.shape[i];
    }
    if (count > (int64_t)size) abort();
    char *elements = malloc((size_t)count * 4 + 1);
    if (elements && rt_json_read(&j, RT_FLOAT32, elements, NULL) == RT_OK) check_elements(RT_FLOAT32, elements, count);
    free(elements);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    if (*data == '{')
        read_json(text, size - 1);
    else
        read_csv(text, size - 1, *data);
    free(text);
    return 0;
}
