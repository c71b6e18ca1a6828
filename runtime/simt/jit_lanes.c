/* Instructions on full vectors: EVEX forms on 512 bits, VEX forms on 256; and what is done instead of a gather. */
#include "runtime/simt/jit_build.h"

struct x86_evex simt_jit_full(void)
{
    return (struct x86_evex){.bits = 512, .imm = -1};
}

void simt_jit_put_imm(struct jit *j, struct x86_vop op, int d, int a, int b, int imm)
{
    struct x86_evex how = simt_jit_full();
    how.imm = imm;
    if (simt_jit_is_avx2(j))
        x86_vex(&j->x, op, 256, d, a, b, imm);
    else
        x86_evex(&j->x, op, how, d, a, b);
}

void simt_jit_put(struct jit *j, struct x86_vop op, int d, int a, int b)
{
    simt_jit_put_imm(j, op, d, a, b, -1);
}

void simt_jit_put_mem(struct jit *j, struct x86_vop op, int d, int a, struct x86_mem m)
{
    if (simt_jit_is_avx2(j))
        x86_vex_mem(&j->x, op, 256, d, a, m, -1);
    else
        x86_evex_mem(&j->x, op, simt_jit_full(), d, a, m);
}

void simt_jit_move(struct jit *j, int d, int from)
{
    simt_jit_put(j, (struct x86_vop){1, 0, 0, 0x10}, d, 0, from);
}
void simt_jit_clear(struct jit *j, int d)
{
    simt_jit_put(j, (struct x86_vop){1, 1, 0, 0xef}, d, d, d);
}
void simt_jit_load(struct jit *j, int d, struct x86_mem m)
{
    simt_jit_put_mem(j, (struct x86_vop){1, 0, 0, 0x10}, d, 0, m);
}
void simt_jit_store(struct jit *j, struct x86_mem m, int from)
{
    simt_jit_put_mem(j, (struct x86_vop){1, 0, 0, 0x11}, from, 0, m);
}

void simt_jit_spread(struct jit *j, bool wide, int d, int gpr)
{
    if (!simt_jit_is_avx2(j)) {
        simt_jit_put(j, (struct x86_vop){2, 1, wide, 0x7c}, d, 0, gpr);
        return;
    }
    x86_vex(&j->x, (struct x86_vop){1, 1, wide, 0x6e}, 128, d, 0, gpr, -1);
    simt_jit_put(j, (struct x86_vop){2, 1, 0, wide ? 0x59 : 0x58}, d, 0, d);
}

void simt_jit_spread_from(struct jit *j, bool wide, int d, struct x86_mem m)
{
    bool w = wide && !simt_jit_is_avx2(j); /* W is 0 in the VEX form */
    simt_jit_put_mem(j, (struct x86_vop){2, 1, w, wide ? 0x59 : 0x58}, d, 0, m);
}

void simt_jit_high_half(struct jit *j, int d, int from)
{
    bool avx2 = simt_jit_is_avx2(j);
    simt_jit_put_imm(j, (struct x86_vop){3, 1, !avx2, avx2 ? 0x39 : 0x3b}, from, 0, d, 1);
}
void simt_jit_join(struct jit *j, int d, int low, int high)
{
    bool avx2 = simt_jit_is_avx2(j);
    simt_jit_put_imm(j, (struct x86_vop){3, 1, !avx2, avx2 ? 0x38 : 0x3a}, d, low, high, 1);
}

struct x86_mem simt_jit_equal_at(struct jit *j, int64_t value, bool wide)
{
    int64_t q[8];
    int32_t w[16];
    for (int l = 0; l < 8; l++) q[l] = value;
    for (int l = 0; l < 16; l++) w[l] = (int32_t)value;
    return x86_at_label(x86_constant(&j->x, wide ? (void *)q : (void *)w));
}

void simt_jit_set(struct jit *j, bool wide, int d, int64_t value)
{
    simt_jit_load(j, d, simt_jit_equal_at(j, value, wide));
}

void simt_jit_load_each(struct jit *j, int reg, struct x86_mem m, int lane, int moment)
{
    const struct x86_vop low_pair = {1, 1, 1, 0x7e}, high_pair = {3, 1, 1, 0x16}, load = {1, 2, 0, 0x10},
                         insert = {3, 1, 0, 0x21}, take_four = {3, 1, 0, 0x39}, put_four = {3, 1, 0, 0x38};
    const struct x86_mem even = {m.base, RDX, m.scale, m.offset, -1}, odd = {m.base, RCX, m.scale, m.offset, -1};
    struct x86 *x = &j->x;
    for (int q = 0; q < 4; q++) {
        int four = q ? simt_jit_scratch(j) : m.index, to = q ? moment : reg;
        struct x86_evex how = {.bits = 512, .imm = q};
        if (q) simt_jit_put_imm(j, take_four, m.index, 0, four, q);
        for (int l = 0; l < 4; l += 2) {
            x86_evex(x, l ? high_pair : low_pair, (struct x86_evex){.bits = 128, .imm = l ? 1 : -1}, four, 0, RCX);
            x86_movsxd(x, RDX, RCX);
            x86_shift_imm(x, SHIFT_SIGNED, true, RCX, 32);
            simt_jit_put_16(j, l ? insert : load, 128, to, l ? to : 0, even, l ? l << 4 : -1);
            simt_jit_put_16(j, insert, 128, to, to, odd, (l + 1) << 4);
        }
        if (q == 3 && j->zone) {
            how.mask = simt_jit_mask_from(j, lane, false);
            how.zero = true;
        }
        if (q) x86_evex(x, put_four, how, reg, reg, to);
    }
}
