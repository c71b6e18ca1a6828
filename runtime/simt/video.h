/* The video instructions, between decode_video.c and ops_video.c: arithmetic on parts of registers. */
#ifndef SIMT_VIDEO_H
#define SIMT_VIDEO_H

#include "runtime/simt/exec.h"

enum video_kind {
    VIDEO_ADD,
    VIDEO_SUB,
    VIDEO_ABSDIFF,
    VIDEO_MIN,
    VIDEO_MAX,
    VIDEO_AVERAGE,
    VIDEO_SHL,
    VIDEO_SHR,
    VIDEO_SET,
    VIDEO_MAD
};
enum { VIDEO_PLAIN, VIDEO_SECOND_ADD, VIDEO_SECOND_MIN, VIDEO_SECOND_MAX };
enum { VIDEO_EQ, VIDEO_NE, VIDEO_LT, VIDEO_LE, VIDEO_GT, VIDEO_GE };

/* What program->extra holds. Operand a's (or b's) part of element e is the bits a_shift[e] on of the 64 bits that a and
 * b make together, b on top; a scalar instruction has one element. */
struct video {
    uint32_t kind, lanes, second, compare;
    uint32_t d_signed, a_signed, b_signed;
    uint32_t a_shift[4], b_shift[4], bits[2]; /* bits of a part of a and of b */
    uint32_t mask;                            /* elements that are written; the others come from c */
    uint32_t d_shift, d_bits;                 /* of the result in d */
    uint32_t saturate, wrap, scale;           /* scale: mad's shift to the right */
    uint32_t negate_product, negate_sum, plus_one;
};

#endif
