/* Reading textures: fetches of one thread, and of a warp's together. Results are the 32 bits that registers get, floats
 * (of float and half textures, and of integer ones that are read normalised) or integers; channels that the texture
 * lacks are 0, 0 and 1. Coordinates run as tex instructions give them, x first. The layer is clamped, and 0 where there
 * are none. */
#ifndef SIMT_SAMPLE_H
#define SIMT_SAMPLE_H

#include "runtime/simt/texture.h"

/* Where a fetch reads; for observers. Elsewhere NULL goes in its place. */
#define MOST_TEXELS 8
struct simt_fetched {
    uint32_t count;
    const char *at[MOST_TEXELS];
};

/* At coordinates as the texture has them, filtered as it says: a colour's four components, floats or integers as bits.
 */
void simt_texture_sample(const struct simt_texture *t, const float c[3], uint32_t layer, uint32_t out[4],
                         struct simt_fetched *seen);
/* At integer coordinates, without filter; 0 outside of linear memory. */
void simt_texture_index(const struct simt_texture *t, const int32_t c[3], uint32_t layer, uint32_t out[4],
                        struct simt_fetched *seen);
/* One channel of the four texels that linear filtering would take, in tld4's order. */
void simt_texture_gather(const struct simt_texture *t, const float c[2], uint32_t layer, int channel, uint32_t out[4],
                         struct simt_fetched *seen);

/* A warp's fetches from one object: out[k][lane] is what the functions above give for each lane's coordinates c[axis],
 * along `axes` axes, and its layer (NULL: none); at integer coordinates with `index`. For all 32 lanes, whatever their
 * coordinates. False: such an object is read a lane at a time. */
typedef bool (*simt_fetch_function)(const struct simt_texture *t, int axes, bool index, const uint32_t *const c[3],
                                    const uint32_t *layer, uint32_t out[4][32]);
bool simt_fetch_base(const struct simt_texture *t, int axes, bool index, const uint32_t *const c[3],
                     const uint32_t *layer, uint32_t out[4][32]);
bool simt_fetch_avx2(const struct simt_texture *t, int axes, bool index, const uint32_t *const c[3],
                     const uint32_t *layer, uint32_t out[4][32]);
bool simt_fetch_avx512(const struct simt_texture *t, int axes, bool index, const uint32_t *const c[3],
                       const uint32_t *layer, uint32_t out[4][32]);
simt_fetch_function simt_fetch_lanes(void); /* the best for rt_host_level */

#endif
