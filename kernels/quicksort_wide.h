/* Turns LANES vectors of LANES keys over, for vectors whose lanes a mask chooses: blocks of twice the size change
 * places from step to step. Included by kernels/quicksort.c for each width of keys, in front of
 * kernels/quicksort_body.h. */
TARGET ALWAYS void NAME(transpose)(V *v)
{
#pragma GCC unroll 4
    for (int d = 1; d < LANES; d *= 2)
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) {
            if (i & d) continue;
            const V a = v[i], b = v[i + d];
            v[i] = NAME(choose_lanes)(a, NAME(swap_lanes)(b, d), d);
            v[i + d] = NAME(choose_lanes)(NAME(swap_lanes)(a, d), b, d);
        }
}
