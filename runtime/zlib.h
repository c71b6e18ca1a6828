/* The functions of zlib that are used, opened at the first use. */
#ifndef RT_ZLIB_H
#define RT_ZLIB_H

#include <zlib.h>
#include "runtime/status.h"

struct rt_zlib {
    int (*inflateInit2_)(z_streamp, int, const char *, int);
    int (*inflate)(z_streamp, int);
    int (*inflateEnd)(z_streamp);
    int (*deflateInit2_)(z_streamp, int, int, int, int, int, const char *, int);
    int (*deflate)(z_streamp, int);
    int (*deflateEnd)(z_streamp);
    uLong (*crc32_z)(uLong, const Bytef *, z_size_t);
};
/* NULL with RT_MISSING where there is no zlib. */
const struct rt_zlib *rt_zlib(struct rt_error *e);

#endif
