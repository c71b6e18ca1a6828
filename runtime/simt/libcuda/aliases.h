/* The preprocessor alone makes a linker script of this: "name = symbol;" for the twins in symbols.def and for the old
 * versions that a newer one serves. */
#define TWIN_none(symbol)
#define TWIN_ptsz(symbol)               symbol##_ptsz = symbol;
#define TWIN_ptds(symbol)               symbol##_ptds = symbol;
#define HAVE(name, suffix, since, twin) TWIN_##twin(name##suffix)
#define SAME(name, suffix, since, twin, same)                                                                          \
    name##suffix = same;                                                                                               \
    TWIN_##twin(name##suffix)
#define REFUSED(name, suffix, since, twin) TWIN_##twin(name##suffix)
#define GRAPHICS                           REFUSED
#include "runtime/simt/libcuda/symbols.def"
