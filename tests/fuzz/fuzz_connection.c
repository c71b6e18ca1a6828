/* Any bytes as a connection file: refused with a reason, or a connection whose endpoints can be written. */
#include <stdint.h>
#include <string.h>
#include "fuzz_scratch.h"
#include "jupyter/connection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jp_connection c;
    struct rt_error e = {0};
    char endpoint[256];
    if (!scratch_path[0]) scratch_open("connection.json");
    scratch_write(data, size);
    if (jp_connection_read(&c, scratch_path, &e) == RT_OK) {
        for (int i = 0; i < JP_CHANNELS; i++) {
            if (c.ports[i] < 1 || c.ports[i] > 65535) abort();
            jp_connection_endpoint(&c, (enum jp_channel)i, endpoint, sizeof endpoint);
            if (!strstr(endpoint, "://")) abort();
        }
        jp_connection_free(&c);
    } else if (!e.text || !*e.text) {
        abort();
    }
    rt_error_clear(&e);
    return 0;
}
