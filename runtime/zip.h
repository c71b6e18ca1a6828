/* Zip archives, as .npz files are: members that are stored or deflated, read one by one as inputs, and written. zlib
 * inflates, deflates and sums up; it is opened at its first use. */
#ifndef RT_ZIP_H
#define RT_ZIP_H

#include "runtime/npy.h"

#define RT_ZIP_LOCAL 30 /* bytes of the header before a member, without its name and what else comes with it */

struct rt_zip_member {
    const char *name; /* of name_length bytes, no NUL behind them */
    size_t name_length;
    uint64_t packed, size; /* bytes in the file, and unpacked */
    uint64_t header;       /* where its local header is */
    uint32_t sum;          /* CRC-32 of what is unpacked */
    uint16_t method, flags;
};

/* An archive that is open to read; all zeros is none, and may be closed. */
struct rt_zip {
    struct rt_file file;
    char *directory;
    size_t count;
    struct rt_zip_member *members;
};
/* Reads the directory. The path is borrowed. RT_INVALID where it is damaged. */
enum rt_status rt_zip_open(const char *path, struct rt_zip *z, struct rt_error *e);
void rt_zip_close(struct rt_zip *z);

/* A stored member as an input of the archive's file, which nothing sums up; `name` is what messages call it.
 * RT_UNSUPPORTED for packed ones. */
enum rt_status rt_zip_member_place(const struct rt_zip *z, const struct rt_zip_member *m, const char *name,
                                   struct rt_input *in, struct rt_error *e);

/* A member as an input; `name` is what messages call it. Close it in the end, which tells whether the sum was right
 * when all of it was read. */
struct rt_zip_input {
    struct rt_input input;
    struct unpacking *unpacking;
};
enum rt_status rt_zip_member_open(const struct rt_zip *z, const struct rt_zip_member *m, const char *name,
                                  struct rt_zip_input *in, struct rt_error *e);
enum rt_status rt_zip_member_close(struct rt_zip_input *in, struct rt_error *e);

/* An archive that is being written. Failures are kept for the end. */
struct rt_zip_writer {
    struct rt_writer file;
    bool compress;
    struct packed *members; /* their directory entries */
    size_t count, room;
};
enum rt_status rt_zip_create(const char *path, bool compress, struct rt_zip_writer *w, struct rt_error *e);
/* A member made of two parts: a header and data. */
enum rt_status rt_zip_add(struct rt_zip_writer *w, const char *name, const void *header, size_t header_bytes,
                          const void *data, size_t bytes, struct rt_error *e);
/* Writes the directory and gives the file its name, or removes it unless `keep` is set. */
enum rt_status rt_zip_finish(struct rt_zip_writer *w, bool keep, struct rt_error *e);

#endif
