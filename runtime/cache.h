/* The per-user disk cache: small files named by a SHA-256, each a list of byte strings.
 *
 * Files are private to the user (folder 0700, files 0600), in LUNARRAY_CACHE_DIR, else XDG_CACHE_HOME/lunarray, else
 * ~/.cache/lunarray. They are written to a temporary name and renamed, so readers never see half of one; what is
 * damaged, foreign or of another version counts as absent. Nothing here is an error to the caller: no folder, no cache.
 * LUNARRAY_CACHE_DIR set to the empty string switches the cache off. */
#ifndef RT_CACHE_H
#define RT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sodium.h>

#define RT_CACHE_LIMIT  ((uint64_t)256 << 20) /* bytes in all; the oldest go first */
#define RT_CACHE_FIELDS 64                    /* in one file */

struct rt_cache_key {
    unsigned char bytes[crypto_hash_sha256_BYTES];
};

/* A key is made from parts; where one ends and the next begins is part of it. */
struct rt_cache_hash {
    crypto_hash_sha256_state state;
};
void rt_cache_hash_start(struct rt_cache_hash *h);
void rt_cache_hash_add(struct rt_cache_hash *h, const void *data, size_t length);
void rt_cache_hash_end(struct rt_cache_hash *h, struct rt_cache_key *key);

struct rt_cache_field {
    const char *data; /* NUL-terminated behind its `length` bytes */
    size_t length;
};
struct rt_cache_entry {
    struct rt_cache_field fields[RT_CACHE_FIELDS];
    size_t count;
    char *memory; /* what the fields point into; release with free() */
};

/* True when the key is there and whole; then entry->memory is the caller's. */
bool rt_cache_load(const struct rt_cache_key *key, struct rt_cache_entry *entry);
/* Stores what entry's fields say (memory is not used). False when that was not possible. */
bool rt_cache_store(const struct rt_cache_key *key, const struct rt_cache_entry *entry);
/* The folder, or NULL when there is none and none can be made; release with free(). */
char *rt_cache_folder(void);

#endif
