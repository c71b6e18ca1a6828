/* The functions of keys.h as CUDA C text. */
#include "kernels/keys_cuda.h"

#define TEXT_(...) #__VA_ARGS__
#define TEXT(...)  TEXT_(__VA_ARGS__)
#define KN_FN      static __device__ inline
static const char functions[] = TEXT(KN_KEY_FUNCTIONS(U, TOP, key_of, same_of)) "\n";

void kn_put_keys(struct kn_text *t, enum rt_dtype dtype)
{
    kn_put(t, "typedef %s U;\n#define TOP (1ull << %d)\n#define KIND %d\n#define INF ((U)%lluull)\n%s",
           kn_key_type(dtype), 8 * rt_dtypes[dtype].size - 1, (int)kn_key_kind(dtype),
           (unsigned long long)kn_key_infinity(dtype), functions);
}
