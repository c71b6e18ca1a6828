/* Any bytes as the history file: cells come out of it, and a cell that is added is the last of them when it is read
 * again. */
#include <stdint.h>
#include <string.h>
#include "fuzz_scratch.h"
#include "lang/session_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t read_all(struct lg_session *s, struct lg_history_entry *last)
{
    size_t n = lg_history_count(s);
    for (size_t i = 0; i < n; i++)
        if (!lg_history_get(s, i, last) || last->session <= 0 || last->line <= 0) abort();
    if (lg_history_get(s, n, last)) abort();
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char cell[] = "a = 'x\\n'\r\nb = 2";
    struct lg_history_entry last = {0};
    if (!scratch_path[0]) scratch_open("history");
    scratch_write(data, size);
    struct lg_session s = {.history = lg_history_new(scratch_path)};
    size_t n = read_all(&s, &last);
    lg_history_add(s.history, 7, cell, strlen(cell));
    lg_history_free(s.history);

    s.history = lg_history_new(scratch_path);
    if (read_all(&s, &last) != n + 1 || last.line != 7 || strcmp(last.code, cell) != 0) abort();
    lg_history_free(s.history);
    lg_buffer_release(&s.recalled);
    return 0;
}
