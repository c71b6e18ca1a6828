/* The words and parts of registers of the video instructions. */
#include <string.h>
#include "runtime/simt/decode.h"
#include "runtime/simt/video.h"

static const struct {
    const char *opcode;
    enum video_kind kind;
    bool packed; /* there are forms with 2 and 4 elements */
} names[] = {{"vadd", VIDEO_ADD, true},  {"vsub", VIDEO_SUB, true},  {"vabsdiff", VIDEO_ABSDIFF, true},
             {"vmin", VIDEO_MIN, true},  {"vmax", VIDEO_MAX, true},  {"vavrg", VIDEO_AVERAGE, true},
             {"vshl", VIDEO_SHL, false}, {"vshr", VIDEO_SHR, false}, {"vset", VIDEO_SET, true},
             {"vmad", VIDEO_MAD, false}};

static bool find_kind(const char *opcode, struct video *v)
{
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        size_t n = strlen(names[k].opcode);
        if (strncmp(names[k].opcode, opcode, n)) continue;
        bool two = !strcmp(opcode + n, "2"), four = !strcmp(opcode + n, "4");
        v->kind = names[k].kind;
        v->lanes = two ? 2 : four ? 4 : 1;
        return v->lanes == 1 ? !opcode[n] && v->kind != VIDEO_AVERAGE : names[k].packed;
    }
    return false;
}

/* b0 to b3, h0, h1 of a scalar instruction; nothing is the whole register. */
static bool scalar_part(struct decoder *d, const char *select, uint32_t *shift, uint32_t *bits)
{
    *shift = 0;
    *bits = 32;
    if (!select) return true;
    bool byte = select[0] == 'b' && select[1] >= '0' && select[1] <= '3';
    if ((!byte && !(select[0] == 'h' && (select[1] == '0' || select[1] == '1'))) || select[2])
        return simt_decode_fail(d, RT_COMPILE, "%s: there is no part .%s of a register", d->in->opcode, select);
    *bits = byte ? 8 : 16;
    *shift = *bits * (uint32_t)(select[1] - '0');
    return true;
}

/* h32 or b7654: the element for each, the last first; those above come from b. */
static bool packed_parts(struct decoder *d, const char *select, uint32_t lanes, uint32_t first, uint32_t *shift)
{
    uint32_t bits = lanes == 2 ? 16 : 8;
    for (uint32_t e = 0; e < lanes; e++) shift[e] = (first + e) * bits;
    if (!select) return true;
    bool ok = strlen(select) == lanes + 1 && select[0] == (lanes == 2 ? 'h' : 'b');
    for (uint32_t e = 0; ok && e < lanes; e++) {
        uint32_t n = (uint32_t)(select[lanes - e] - '0');
        ok = n < 2 * lanes;
        shift[e] = n * bits;
    }
    return ok ? true
              : simt_decode_fail(d, RT_COMPILE, "%s: .%s does not choose %u parts", d->in->opcode, select, lanes);
}

static bool packed_mask(struct decoder *d, const char *select, uint32_t lanes, uint32_t *mask)
{
    *mask = (1u << lanes) - 1;
    if (!select) return true;
    *mask = 0;
    bool ok = select[0] == (lanes == 2 ? 'h' : 'b') && select[1];
    for (const char *s = select + 1; ok && *s; s++) {
        ok = *s >= '0' && (uint32_t)(*s - '0') < lanes;
        *mask |= ok ? 1u << (*s - '0') : 0;
    }
    return ok ? true : simt_decode_fail(d, RT_COMPILE, "%s: .%s is no mask of %u parts", d->in->opcode, select, lanes);
}

static bool read_words(struct decoder *d, const struct shape *s, struct video *v)
{
    static const char *const compares[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    bool set = v->kind == VIDEO_SET, compared = false;
    if (s->type_count != (set ? 2 : 3) || s->flags & ~(uint32_t)F_SAT) return simt_decode_unsupported(d);
    for (int k = 0; k < s->type_count; k++)
        if (s->types[k] != PTX_U32 && s->types[k] != PTX_S32) return simt_decode_unsupported(d);
    v->d_signed = !set && s->types[0] == PTX_S32;
    v->a_signed = s->types[set ? 0 : 1] == PTX_S32;
    v->b_signed = s->types[set ? 1 : 2] == PTX_S32;
    v->saturate = (s->flags & F_SAT) != 0;
    for (int k = 0; k < s->word_count; k++) {
        const char *w = s->words[k];
        bool known = false;
        for (uint32_t c = 0; set && c < 6; c++)
            if (!strcmp(compares[c], w)) v->compare = c, known = compared = true;
        if (!strcmp(w, "add")) v->second = VIDEO_SECOND_ADD, known = true;
        if (!strcmp(w, "min") && v->lanes == 1) v->second = VIDEO_SECOND_MIN, known = true;
        if (!strcmp(w, "max") && v->lanes == 1) v->second = VIDEO_SECOND_MAX, known = true;
        if (v->kind == VIDEO_MAD) {
            known = !strcmp(w, "po") || !strcmp(w, "shr7") || !strcmp(w, "shr15");
            if (!strcmp(w, "po")) v->plus_one = 1;
            if (w[0] == 's') v->scale = w[3] == '7' ? 7 : 15;
        }
        if (v->kind == VIDEO_SHL || v->kind == VIDEO_SHR) {
            known |= !strcmp(w, "wrap") || !strcmp(w, "clamp");
            v->wrap |= !strcmp(w, "wrap");
        }
        if (!known) return simt_decode_unsupported(d);
    }
    return set == compared ? true : simt_decode_unsupported(d);
}

static bool read_parts(struct decoder *d, struct video *v)
{
    const struct ptx_operand *o = d->in->operands;
    if (v->lanes == 1)
        return scalar_part(d, o[1].select, &v->a_shift[0], &v->bits[0]) &&
               scalar_part(d, o[2].select, &v->b_shift[0], &v->bits[1]) &&
               scalar_part(d, o[0].select, &v->d_shift, &v->d_bits);
    v->bits[0] = v->bits[1] = v->lanes == 2 ? 16 : 8;
    return packed_parts(d, o[1].select, v->lanes, 0, v->a_shift) &&
           packed_parts(d, o[2].select, v->lanes, v->lanes, v->b_shift) &&
           packed_mask(d, o[0].select, v->lanes, &v->mask);
}

static bool source(struct decoder *d, const struct ptx_operand *o, uint32_t *slot)
{
    struct ptx_operand plain = *o;
    plain.select = NULL;
    if (plain.kind == PTX_OP_REG) plain.negate = false; /* only vmad has these, and works on more bits */
    return simt_source(d, &plain, 'w', PTX_B32, slot);
}

bool simt_decode_video(struct decoder *d, const struct shape *s)
{
    struct video v = {0};
    const struct ptx_operand *o = d->in->operands;
    size_t n = d->in->operand_count;
    uint32_t a, b, c, out, extra;
    if (!find_kind(d->in->opcode, &v) || !read_words(d, s, &v)) return simt_decode_unsupported(d);
    bool third = v.lanes > 1 || v.kind == VIDEO_MAD || v.second || (n && o[0].select);
    if (!simt_want_operands(d, 3 + third, 3 + third) || !read_parts(d, &v)) return false;
    bool negative = o[1].negate || o[2].negate || (third && o[3].negate);
    if (negative && v.kind != VIDEO_MAD)
        return simt_decode_fail(d, RT_COMPILE, "%s: an operand with a minus", d->in->opcode);
    v.negate_product = o[1].negate != o[2].negate;
    v.negate_sum = third && o[3].negate;
    if (!source(d, &o[1], &a) || !source(d, &o[2], &b) ||
        !(third ? source(d, &o[3], &c) : simt_constant(d, 0, 'w', &c)))
        return false;
    struct ptx_operand to = o[0];
    to.select = NULL;
    if (!simt_destination(d, &to, 'w', &out) ||
        !simt_extra(d, (const uint32_t *)(const void *)&v, sizeof v / 4, &extra))
        return false;
    struct insn *i = simt_emit_key(d, "+video");
    if (!simt_guard(d, i)) return false;
    i->a = a;
    i->b = b;
    i->c = c;
    i->d = out;
    i->extra = extra;
    return true;
}
