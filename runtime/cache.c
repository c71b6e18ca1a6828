/* Compiled kernels on disk, for the next session: a file for each key, in a folder that nobody else can write to, of
 * which the oldest go when there are too many. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "runtime/cache.h"
#include "runtime/file.h"
#include "runtime/memory.h"

#define MAX_FILE ((size_t)64 << 20)

static const char magic[8] = {'l', 'u', 'n', 'a', 'r', 'r', 'a', '1'};

struct header { /* of a file; then for each field its length in 8 bytes and its data */
    char magic[8];
    uint64_t count, bytes; /* fields; bytes behind the header */
    unsigned char checksum[crypto_hash_sha256_BYTES];
};

void rt_cache_hash_start(struct rt_cache_hash *h)
{
    crypto_hash_sha256_init(&h->state);
}

void rt_cache_hash_add(struct rt_cache_hash *h, const void *data, size_t length)
{
    uint64_t n = length;
    crypto_hash_sha256_update(&h->state, (const unsigned char *)&n, sizeof n);
    if (length) crypto_hash_sha256_update(&h->state, data, length);
}

void rt_cache_hash_end(struct rt_cache_hash *h, struct rt_cache_key *key)
{
    crypto_hash_sha256_final(&h->state, key->bytes);
}

/* ---- the folder ---- */

static char *join(const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = rt_alloc(n);
    if (path) snprintf(path, n, "%s/%s", folder, name);
    return path;
}

static char *wanted_folder(void)
{
    const char *set = getenv("LUNARRAY_CACHE_DIR");
    if (set) return *set ? rt_strdup(set) : NULL;
    set = getenv("XDG_CACHE_HOME");
    if (set && *set == '/') return join(set, "lunarray");
    set = getenv("HOME");
    if (!set || *set != '/') {
        const struct passwd *user = getpwuid(geteuid());
        set = user ? user->pw_dir : NULL;
    }
    return set && *set == '/' ? join(set, ".cache/lunarray") : NULL;
}

static bool make_folders(char *path)
{
    for (char *s = path + 1; *s; s++) {
        if (*s != '/') continue;
        *s = 0;
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST;
        *s = '/';
        if (failed) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* What others could write to is not trusted: its PTX would run here. */
static bool is_private(const struct stat *s)
{
    return s->st_uid == geteuid() && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

char *rt_cache_folder(void)
{
    struct stat s;
    char *path = wanted_folder();
    if (!path) return NULL;
    if ((stat(path, &s) == 0 || (make_folders(path) && stat(path, &s) == 0)) && S_ISDIR(s.st_mode) && is_private(&s))
        return path;
    free(path);
    return NULL;
}

static char *key_path(const struct rt_cache_key *key)
{
    char name[sizeof key->bytes * 2 + 1];
    for (size_t i = 0; i < sizeof key->bytes; i++) snprintf(name + i * 2, 3, "%02x", key->bytes[i]);
    char *folder = rt_cache_folder(), *path = folder ? join(folder, name) : NULL;
    free(folder);
    return path;
}

/* ---- reading ---- */

static bool read_all(int file, void *data, size_t length)
{
    for (char *at = data; length;) {
        ssize_t n = read(file, at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

/* Cuts the memory behind the header into fields. A NUL follows each field in the file. */
static bool split(struct rt_cache_entry *entry, uint64_t count, size_t bytes)
{
    size_t at = 0;
    if (count > RT_CACHE_FIELDS) return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t length;
        if (bytes - at < sizeof length) return false;
        memcpy(&length, entry->memory + at, sizeof length);
        at += sizeof length;
        if (bytes - at < 1 || length > bytes - at - 1) return false;
        entry->fields[i] = (struct rt_cache_field){.data = entry->memory + at, .length = length};
        at += length;
        if (entry->memory[at++] != 0) return false;
    }
    entry->count = count;
    return at == bytes;
}

static bool load_file(int file, struct rt_cache_entry *entry)
{
    struct header h;
    struct stat s;
    unsigned char sum[crypto_hash_sha256_BYTES];
    if (fstat(file, &s) != 0 || !S_ISREG(s.st_mode) || !is_private(&s)) return false;
    if (!read_all(file, &h, sizeof h) || memcmp(h.magic, magic, sizeof magic) != 0) return false;
    if (h.bytes > MAX_FILE || (uint64_t)s.st_size != sizeof h + h.bytes) return false;
    entry->memory = rt_alloc(h.bytes ? h.bytes : 1);
    if (!entry->memory || !read_all(file, entry->memory, h.bytes)) return false;
    crypto_hash_sha256(sum, (unsigned char *)entry->memory, h.bytes);
    if (memcmp(sum, h.checksum, sizeof sum) != 0 || !split(entry, h.count, h.bytes)) return false;
    if (time(NULL) - s.st_mtime > 24 * 3600) futimens(file, NULL); /* the age by which the cache is trimmed */
    return true;
}

bool rt_cache_load(const struct rt_cache_key *key, struct rt_cache_entry *entry)
{
    *entry = (struct rt_cache_entry){0};
    char *path = key_path(key);
    if (!path) return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a pipe is not waited for */
    free(path);
    if (file < 0) return false;
    bool ok = load_file(file, entry);
    close(file);
    if (ok) return true;
    free(entry->memory);
    *entry = (struct rt_cache_entry){0};
    return false;
}

/* ---- writing ---- */

struct old_file {
    char name[NAME_MAX + 1];
    time_t age;
    uint64_t bytes;
};

static int by_age(const void *a, const void *b)
{
    const struct old_file *x = a, *y = b;
    return (x->age > y->age) - (x->age < y->age);
}

/* Removes the oldest files until three quarters of the limit are left, and temporary files that nobody finished. */
static void trim(const char *folder)
{
    struct old_file *files = NULL;
    size_t count = 0, room = 0;
    uint64_t total = 0;
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *d; (d = readdir(dir));) {
        struct stat s;
        if (fstatat(dirfd(dir), d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
        const char *dot = strchr(d->d_name, '.');
        bool temporary = dot && strncmp(dot, ".part-", 6) == 0;
        if ((temporary ? (size_t)(dot - d->d_name) : strlen(d->d_name)) != 2 * crypto_hash_sha256_BYTES) continue;
        if (temporary && time(NULL) - s.st_mtime > 3600) unlinkat(dirfd(dir), d->d_name, 0);
        if (temporary) continue;
        if (count == room) {
            room = room ? room * 2 : 256;
            void *more = rt_realloc(files, room * sizeof *files);
            if (!more) break;
            files = more;
        }
        snprintf(files[count].name, sizeof files[count].name, "%s", d->d_name);
        files[count].age = s.st_mtime;
        files[count].bytes = (uint64_t)s.st_size;
        total += files[count++].bytes;
    }
    if (total > RT_CACHE_LIMIT) {
        qsort(files, count, sizeof *files, by_age);
        for (size_t i = 0; i < count && total > RT_CACHE_LIMIT / 4 * 3; i++) {
            if (unlinkat(dirfd(dir), files[i].name, 0) == 0) total -= files[i].bytes;
        }
    }
    free(files);
    closedir(dir);
}

static char *pack(const struct rt_cache_entry *entry, size_t *size)
{
    struct header h = {.count = entry->count};
    for (size_t i = 0; i < entry->count; i++) h.bytes += sizeof(uint64_t) + entry->fields[i].length + 1;
    if (entry->count > RT_CACHE_FIELDS || h.bytes > MAX_FILE) return NULL;
    char *data = rt_alloc(sizeof h + h.bytes);
    if (!data) return NULL;
    char *at = data + sizeof h;
    memcpy(h.magic, magic, sizeof magic);
    for (size_t i = 0; i < entry->count; i++) {
        uint64_t length = entry->fields[i].length;
        memcpy(at, &length, sizeof length);
        at += sizeof length;
        if (length) memcpy(at, entry->fields[i].data, length);
        at[length] = 0;
        at += length + 1;
    }
    crypto_hash_sha256(h.checksum, (unsigned char *)data + sizeof h, h.bytes);
    memcpy(data, &h, sizeof h);
    *size = sizeof h + h.bytes;
    return data;
}

/* Gives the file its name when all of it is there. */
static bool write_file(const char *path, const char *data, size_t size)
{
    char *temporary;
    int file = rt_file_beside(path, 0600, &temporary);
    if (file < 0) return false;
    bool ok = true;
    while (ok && size) {
        ssize_t n = write(file, data, size);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (ok) data += n, size -= (size_t)n;
    }
    ok = close(file) == 0 && ok && rename(temporary, path) == 0;
    if (!ok) unlink(temporary);
    free(temporary);
    return ok;
}

bool rt_cache_store(const struct rt_cache_key *key, const struct rt_cache_entry *entry)
{
    size_t size = 0;
    char *folder = rt_cache_folder(), *path = key_path(key), *data = pack(entry, &size);
    bool ok = folder && path && data && write_file(path, data, size);
    if (ok && key->bytes[0] < 8) trim(folder); /* about one store in thirty */
    free(folder);
    free(path);
    free(data);
    return ok;
}
