/* Between decode_texture.c, which reads instructions on textures and surfaces, and ops_texture.c, which runs them.
 *
 * insn.a is the slot of the object's handle, insn.extra where program->extra lists the slots of the elements (count of
 * them) and of the coordinates, insn.mode the geometry and above it the channel of tld4 or what a reduction does. */
#ifndef SIMT_OPS_TEXTURE_H
#define SIMT_OPS_TEXTURE_H

#include "runtime/simt/exec.h"
#include "runtime/simt/sample.h"

enum geometry { GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_3D, GEOMETRY_A1D, GEOMETRY_A2D, GEOMETRY_CUBE, GEOMETRY_ACUBE };
static inline bool geometry_is_layered(enum geometry g)
{
    return g == GEOMETRY_A1D || g == GEOMETRY_A2D || g == GEOMETRY_ACUBE;
}
#define GEOMETRY_MASK  7
#define GEOMETRY_SHIFT 8 /* a factor */

enum surface_reduction { SURFACE_ADD, SURFACE_MIN, SURFACE_MAX, SURFACE_AND, SURFACE_OR };

enum query { /* of txq and suq */
             QUERY_WIDTH,
             QUERY_HEIGHT,
             QUERY_DEPTH,
             QUERY_LAYERS,
             QUERY_TYPE,
             QUERY_ORDER,
             QUERY_NORMALIZED,
             QUERY_FILTER,
             QUERY_ADDRESS_0,
             QUERY_ADDRESS_1,
             QUERY_ADDRESS_2,
             QUERY_ONE /* levels and samples */
};

/* insn.flags of these instructions alone. */
enum {
    F_INDEX = 1 << 0,     /* coordinates are integers */
    F_GATHER = 1 << 1,    /* tld4 */
    F_CLAMP = 1 << 2,     /* outside of a surface: the nearest element */
    F_ZERO = 1 << 3,      /* zeros, and stores are dropped; without either it is a fault */
    F_FORMATTED = 1 << 4, /* x counts elements, not bytes */
    F_SURFACE = 1 << 5    /* suq */
};

/* For profiles: what lanes m touch, the element that their coordinates are in. A filter wants its neighbours, too,
 * which mostly lie in the same sectors. */
struct simt_texels {
    bool store;
    uint32_t mask, bytes; /* lanes that touch something; an element */
    uint64_t at[SIMT_WARP];
};
bool simt_is_texture_access(const struct insn *i); /* a fetch, a load or a store */
void simt_find_texels(const struct warp *w, char *R, const struct insn *i, uint32_t m, struct simt_texels *out);

/* For checks. */
enum simt_texel_use { TEXELS_NOT, TEXELS_READ, TEXELS_STORED, TEXELS_REDUCED };
enum simt_texel_use simt_texel_use(const struct insn *i);
struct simt_touched {                   /* by one lane */
    const struct simt_texture *texture; /* NULL: nothing, or it will be a fault */
    uint32_t bytes, count;              /* of one place; places */
    uint64_t at[MOST_TEXELS];           /* in device memory */
};
void simt_touch_texels(const struct warp *w, char *R, const struct insn *i, uint32_t lane, struct simt_touched *out);
/* What a store puts there: with a format, 8 bytes or fewer as a number; else what the registers hold. False: the
 * latter. */
bool simt_formatted_value(const struct warp *w, char *R, const struct insn *i, uint32_t lane,
                          const struct simt_texture *t, uint64_t *out);

/* The ops themselves: insn.h says what an op gets and gives. */
enum event simt_op_tex(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_texture_query(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_surface_load(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_surface_store(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_surface_store_formatted(char *R, const struct insn *i, uint32_t m, struct warp *w);
enum event simt_op_surface_reduce(char *R, const struct insn *i, uint32_t m, struct warp *w);

#endif
