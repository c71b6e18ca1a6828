/* The containers that PTX comes in. */
#ifndef SIMT_FATBIN_H
#define SIMT_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "runtime/status.h"

enum simt_image { SIMT_IMAGE_TEXT, SIMT_IMAGE_FATBIN, SIMT_IMAGE_ELF };
/* What an image is, by its first bytes. */
enum simt_image simt_image_kind(const void *image);

/* The PTX in a fat binary, or in what a wrapper points to, as a text that the caller frees. NULL: RT_UNSUPPORTED when
 * there is none, RT_COMPILE when the image is damaged, RT_MISSING when it is compressed by what is not there. The
 * image's length is not known; its own header is trusted. */
char *simt_fatbin_ptx(const void *image, struct rt_error *e);

#endif
