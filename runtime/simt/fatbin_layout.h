/* How nvcc lays out what a program carries for devices: for the driver, which reads it, and for the runtime, which is
 * given it. */
#ifndef SIMT_FATBIN_LAYOUT_H
#define SIMT_FATBIN_LAYOUT_H

#include <stdint.h>

#define SIMT_FATBIN_WRAPPER_MAGIC 0x466243B1u
#define SIMT_FATBIN_HEADER_MAGIC  0xBA55ED50u
#define SIMT_FATBIN_PARTS         2 /* version of a wrapper with parts */

struct simt_fatbin_wrapper { /* in a program's data: where the fat binary lies */
    uint32_t magic, version;
    const void *fatbin;
    void *parts; /* the fat binaries of a program whose parts were compiled apart, to NULL */
};
struct simt_fatbin_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* behind the header */
};

#endif
