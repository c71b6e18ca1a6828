/* Damaged files of the disk cache: absent, or an entry whose fields lie in its memory and that is stored again as it
 * was. An input that starts with "=" is the part behind the header, which then gets the right size and checksum; its
 * second byte is the number of fields. */
#include <stdint.h>
#include <string.h>
#include "fuzz_scratch.h"
#include "runtime/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct rt_cache_key key; /* all zeros */

static void start(void)
{
    char name[2 * sizeof key.bytes + 1];
    memset(name, '0', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    scratch_open(name);
    setenv("LUNARRAY_CACHE_DIR", scratch_folder, 1);
}

static void write_whole(const uint8_t *body, uint64_t size, uint64_t count)
{
    static unsigned char file[1 << 17];
    if (size > sizeof file - 64) return;
    memcpy(file, "lunarra1", 8);
    memcpy(file + 8, &count, 8);
    memcpy(file + 16, &size, 8);
    crypto_hash_sha256(file + 24, body, size);
    memcpy(file + 24 + crypto_hash_sha256_BYTES, body, size);
    scratch_write(file, 24 + crypto_hash_sha256_BYTES + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!scratch_path[0]) start();
    if (size >= 2 && *data == '=')
        write_whole(data + 2, size - 2, data[1]);
    else
        scratch_write(data, size);
    struct rt_cache_entry entry, again;
    if (!rt_cache_load(&key, &entry)) return 0;
    if (entry.count > RT_CACHE_FIELDS) abort();
    for (size_t i = 0; i < entry.count; i++)
        if (entry.fields[i].data[entry.fields[i].length] != '\0') abort();
    if (!rt_cache_store(&key, &entry) || !rt_cache_load(&key, &again) || again.count != entry.count) abort();
    for (size_t i = 0; i < entry.count; i++) {
        const struct rt_cache_field *a = &entry.fields[i], *b = &again.fields[i];
        if (a->length != b->length || memcmp(a->data, b->data, a->length) != 0) abort();
    }
    free(entry.memory);
    free(again.memory);
    return 0;
}
