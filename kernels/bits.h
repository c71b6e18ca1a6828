/* Bits of bytes on the host: eight elements for each byte. */
#ifndef KN_BITS_H
#define KN_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which of n bytes are not 0, as bits, eight of which are a byte; those missing in the last one are 0. The first is the
 * highest bit or, with `little`, the lowest. */
void kn_pack_bits(const uint8_t *from, size_t n, bool little, uint8_t *to);
/* The first n bits of bytes, as bytes of 0 and 1. */
void kn_unpack_bits(const uint8_t *from, size_t n, bool little, uint8_t *to);

#endif
