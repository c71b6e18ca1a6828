#include "runtime/spelling.h"

#include <string.h>

size_t rt_comment_or_literal(const char *code)
{
    size_t n = 1;
    if (code[0] == '/' && code[1] == '/') return strcspn(code, "\n");
    if (code[0] == '/' && code[1] == '*') {
        const char *end = strstr(code + 2, "*/");
        return end ? (size_t)(end + 2 - code) : strlen(code);
    }
    if (code[0] != '"' && code[0] != '\'') return 0;
    while (code[n] && code[n] != code[0] && code[n] != '\n') n += code[n] == '\\' && code[n + 1] ? 2 : 1;
    return n + (code[n] == code[0]);
}

int rt_spelling_distance(const char *a, const char *b)
{
    enum { LIMIT = 24 };
    int rows[3][LIMIT + 1]; /* of i letters of a, i % 3, and of j of b */
    size_t n = strlen(b), length = strlen(a);
    if (length > LIMIT || n > LIMIT) return LIMIT;
    for (size_t i = 0; i <= length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        for (size_t j = 0; j <= n; j++) {
            int least = i == 0 ? (int)j : j == 0 ? (int)i : above[j - 1] + (a[i - 1] != b[j - 1]);
            if (i > 0 && above[j] + 1 < least) least = above[j] + 1;
            if (j > 0 && row[j - 1] + 1 < least) least = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < least) least = before[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[length % 3][n];
}
