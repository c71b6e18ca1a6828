/* The preprocessor alone makes a linker script of this: "name = symbol;" for the twins in symbols.def. */
#define TWIN_none(symbol)
#define TWIN_ptsz(symbol)                  symbol##_ptsz = symbol;
#define TWIN_ptds(symbol)                  symbol##_ptds = symbol;
#define CALL(name, twin, parameters, call) TWIN_##twin(name)
#define OWN(name, twin)                    TWIN_##twin(name)
#define REFUSED(name, twin)                TWIN_##twin(name)
#include "runtime/simt/libcudart/symbols.def"
