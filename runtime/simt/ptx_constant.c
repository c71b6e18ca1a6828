/* PTX constant expressions: C's operators over 64-bit integers, the simple ones over doubles. */
#include <string.h>
#include "runtime/simt/ptx_read.h"

#define MAX_DEPTH 64 /* nested operators and parentheses */

static const struct operator
{
    char text[3];
    int level; /* binds tighter the greater it is */
}
operators[] = {{"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<=", 7}, {">=", 7}, {"<<", 8}, {">>", 8}, {"|", 3},
               {"^", 4},  {"&", 5},  {"<", 7},  {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};

static bool is_float(const struct ptx_value *v)
{
    return v->type == PTX_F32 || v->type == PTX_F64;
}
static double to_double(const struct ptx_value *v)
{
    double d;
    float f;
    uint32_t low = (uint32_t)v->bits;
    memcpy(&d, &v->bits, 8);
    memcpy(&f, &low, 4);
    return v->type == PTX_F64   ? d
           : v->type == PTX_F32 ? (double)f
           : v->type == PTX_U64 ? (double)v->bits
                                : (double)(int64_t)v->bits;
}
static struct ptx_value from_double(double d)
{
    struct ptx_value v = {.type = PTX_F64};
    memcpy(&v.bits, &d, 8);
    return v;
}
static struct ptx_value from_bool(bool b)
{
    return (struct ptx_value){.type = PTX_S64, .bits = b};
}
static bool is_true(const struct ptx_value *v)
{
    return is_float(v) ? to_double(v) != 0 : v->bits != 0;
}

static struct ptx_value negate(struct ptx_value v)
{
    if (v.type == PTX_F32)
        v.bits ^= 0x80000000u;
    else if (v.type == PTX_F64)
        v.bits ^= 0x8000000000000000u;
    else
        v = (struct ptx_value){.type = PTX_S64, .bits = -v.bits};
    return v;
}

static bool apply_float(struct ptx_parser *p, const char *op, double x, double y, struct ptx_value *out)
{
    switch (op[0]) {
    case '+': return *out = from_double(x + y), true;
    case '-': return *out = from_double(x - y), true;
    case '*': return *out = from_double(x * y), true;
    case '/': return *out = from_double(x / y), true;
    case '<': return *out = from_bool(op[1] ? x <= y : x < y), op[1] != '<' || ptx_fail(p, "a shift of a fraction");
    case '>': return *out = from_bool(op[1] ? x >= y : x > y), op[1] != '>' || ptx_fail(p, "a shift of a fraction");
    case '=': return *out = from_bool(x == y), true;
    case '!': return *out = from_bool(x != y), true;
    default: return ptx_fail(p, "'%s' of a fraction", op);
    }
}

static uint64_t shift_right(uint64_t x, uint64_t n, bool is_signed)
{
    uint64_t fill = is_signed && x >> 63 ? UINT64_MAX : 0;
    return n >= 64 ? fill : n ? x >> n | fill << (64 - n) : x;
}
static uint64_t divide(uint64_t x, uint64_t y, bool is_signed, bool rest)
{
    bool minus = is_signed && x >> 63, other = is_signed && y >> 63;
    uint64_t a = minus ? -x : x, b = other ? -y : y, r = rest ? a % b : a / b;
    return (rest ? minus : minus != other) ? -r : r;
}

static bool apply(struct ptx_parser *p, const char *op, const struct ptx_value *l, const struct ptx_value *r,
                  struct ptx_value *out)
{
    if (!strcmp(op, "&&")) return *out = from_bool(is_true(l) && is_true(r)), true;
    if (!strcmp(op, "||")) return *out = from_bool(is_true(l) || is_true(r)), true;
    if (is_float(l) || is_float(r)) return apply_float(p, op, to_double(l), to_double(r), out);
    bool is_signed = l->type == PTX_S64 && r->type == PTX_S64;
    uint64_t x = l->bits, y = r->bits;
    bool less = is_signed ? (int64_t)x < (int64_t)y : x < y;
    *out = (struct ptx_value){.type = is_signed ? PTX_S64 : PTX_U64};
    switch (op[0]) {
    case '+': out->bits = x + y; break;
    case '-': out->bits = x - y; break;
    case '*': out->bits = x * y; break;
    case '&': out->bits = x & y; break;
    case '|': out->bits = x | y; break;
    case '^': out->bits = x ^ y; break;
    case '=': *out = from_bool(x == y); break;
    case '!': *out = from_bool(x != y); break;
    case '<':
        if (op[1] == '<')
            *out = (struct ptx_value){.type = l->type, .bits = y >= 64 ? 0 : x << y};
        else
            *out = from_bool(op[1] ? less || x == y : less);
        break;
    case '>':
        if (op[1] == '>')
            *out = (struct ptx_value){l->type, shift_right(x, y, l->type == PTX_S64)};
        else
            *out = from_bool(op[1] ? !less : !less && x != y);
        break;
    default:
        if (!y) return ptx_fail(p, "a constant is divided by zero");
        out->bits = divide(x, y, is_signed, op[0] == '%');
    }
    return true;
}

/* The operator that comes next, if there is one that binds at least so tight. */
static const struct operator* next_operator(const struct ptx_parser *p, int level)
{
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++) {
        const struct operator* o = & operators[k];
        if (!ptx_is_char(p, o->text[0])) continue;
        if (o->text[1] && (p->at == p->end || *p->at != o->text[1])) continue;
        return o->level >= level ? o : NULL;
    }
    return NULL;
}

static bool expression(struct ptx_parser *p, int level, int depth, struct ptx_value *out);
static bool unary(struct ptx_parser *p, int depth, struct ptx_value *out);

static bool parenthesis(struct ptx_parser *p, int depth, struct ptx_value *out)
{
    bool to_signed = ptx_is_dot(p, "s64"), to_unsigned = ptx_is_dot(p, "u64");
    if (!to_signed && !to_unsigned) return expression(p, 0, depth + 1, out) && ptx_expect(p, ')');
    if (!ptx_next(p) || !ptx_expect(p, ')') || !unary(p, depth + 1, out)) return false;
    if (is_float(out)) return ptx_fail(p, "a fraction cannot be cast");
    out->type = to_signed ? PTX_S64 : PTX_U64;
    return true;
}

static bool is_number(const struct ptx_parser *p)
{
    return p->token.kind == TOKEN_INT || p->token.kind == TOKEN_F32 || p->token.kind == TOKEN_F64;
}

static bool unary(struct ptx_parser *p, int depth, struct ptx_value *out)
{
    if (depth > MAX_DEPTH) return ptx_fail(p, "a constant expression nested too deeply");
    if (ptx_accept(p, '-')) return unary(p, depth + 1, out) && (*out = negate(*out), true);
    if (ptx_accept(p, '+')) return unary(p, depth + 1, out);
    if (ptx_accept(p, '!')) return unary(p, depth + 1, out) && (*out = from_bool(!is_true(out)), true);
    if (ptx_accept(p, '~')) {
        if (!unary(p, depth + 1, out)) return false;
        out->bits = ~out->bits;
        return !is_float(out) || ptx_fail(p, "'~' of a fraction");
    }
    if (ptx_accept(p, '(')) return parenthesis(p, depth, out);
    if (ptx_is_name(p, "WARP_SZ")) return *out = (struct ptx_value){PTX_S64, 32}, ptx_next(p);
    if (!is_number(p)) return ptx_expected(p, "a number");
    enum token_kind kind = p->token.kind;
    out->bits = p->token.bits;
    out->type = kind == TOKEN_F32                                             ? PTX_F32
                : kind == TOKEN_F64                                           ? PTX_F64
                : p->token.is_unsigned || p->token.bits > (uint64_t)INT64_MAX ? PTX_U64
                                                                              : PTX_S64;
    return ptx_next(p);
}

/* Goes on after a first operand. */
static bool operations(struct ptx_parser *p, int level, int depth, struct ptx_value *out)
{
    const struct operator* o;
    while ((o = next_operator(p, level))) {
        struct ptx_value right = {0};
        if ((o->text[1] && !ptx_next(p)) || !ptx_next(p) || !expression(p, o->level + 1, depth + 1, &right) ||
            !apply(p, o->text, out, &right, out))
            return false;
    }
    if (level > 0 || !ptx_is_char(p, '?')) return !p->failed;
    struct ptx_value yes = {0}, no = {0};
    if (!ptx_next(p) || !expression(p, 0, depth + 1, &yes) || !ptx_expect(p, ':') || !expression(p, 0, depth + 1, &no))
        return false;
    *out = is_true(out) ? yes : no;
    return true;
}

static bool expression(struct ptx_parser *p, int level, int depth, struct ptx_value *out)
{
    if (depth > MAX_DEPTH) return ptx_fail(p, "a constant expression nested too deeply");
    return unary(p, depth, out) && operations(p, level, depth, out);
}

bool ptx_starts_constant(const struct ptx_parser *p)
{
    return is_number(p) || ptx_is_char(p, '(') || ptx_is_char(p, '~');
}

bool ptx_constant(struct ptx_parser *p, char sign, struct ptx_value *out)
{
    *out = (struct ptx_value){0};
    if (!sign) return expression(p, 0, 0, out);
    if (!unary(p, 0, out)) return false;
    *out = sign == '-' ? negate(*out) : from_bool(!is_true(out));
    return operations(p, 0, 0, out);
}

bool ptx_take_term(struct ptx_parser *p, uint64_t max, int64_t *out)
{
    bool minus = ptx_is_char(p, '-');
    struct ptx_value v = {0};
    if (!ptx_next(p) || !expression(p, 10, 0, &v)) return false;
    if (is_float(&v)) return ptx_fail(p, "an offset that is a fraction");
    uint64_t size = v.type == PTX_S64 && v.bits >> 63 ? -v.bits : v.bits;
    if (size > max) return ptx_fail(p, "%llu is more than %llu", (unsigned long long)size, (unsigned long long)max);
    *out = (int64_t)(minus ? -v.bits : v.bits);
    return true;
}

bool ptx_take_size(struct ptx_parser *p, uint64_t max, uint64_t *out)
{
    struct ptx_value v = {0};
    if (!ptx_constant(p, 0, &v)) return false;
    if (is_float(&v) || (v.type == PTX_S64 && v.bits >> 63)) return ptx_fail(p, "expected a size");
    if (v.bits > max) return ptx_fail(p, "%llu is more than %llu", (unsigned long long)v.bits, (unsigned long long)max);
    *out = v.bits;
    return true;
}
