/* The tree of .debug_info, walked for variables. Everything read is checked against the section's end; a form, tag or
 * expression that is not known ends the walk or leaves a variable out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/trace_debug.h"

enum { /* the few names of DWARF that matter here */
       TAG_ARRAY = 0x01,
       TAG_CLASS = 0x02,
       TAG_ENUM = 0x04,
       TAG_PARAMETER = 0x05,
       TAG_BLOCK = 0x0b,
       TAG_MEMBER = 0x0d,
       TAG_POINTER = 0x0f,
       TAG_REFERENCE = 0x10,
       TAG_STRUCT = 0x13,
       TAG_TYPEDEF = 0x16,
       TAG_SUBRANGE = 0x21,
       TAG_BASE = 0x24,
       TAG_CONST = 0x26,
       TAG_FUNCTION = 0x2e,
       TAG_VARIABLE = 0x34,
       TAG_VOLATILE = 0x35,
       TAG_RESTRICT = 0x37,
       TAG_RVALUE = 0x42,
       AT_LOCATION = 0x02,
       AT_NAME = 0x03,
       AT_SIZE = 0x0b,
       AT_LOW = 0x11,
       AT_HIGH = 0x12,
       AT_BOUND = 0x2f,
       AT_COUNT = 0x37,
       AT_OFFSET = 0x38,
       AT_LINE = 0x3b,
       AT_ENCODING = 0x3e,
       AT_TYPE = 0x49,
       OP_ADDR = 0x03,
       OP_PLUS = 0x23,
       OP_REGISTER = 0x90
};
#define MAX_DEPTH  64         /* of the tree */
#define MAX_NEST   4          /* of structures and arrays in a variable */
#define MAX_SHOWN  8          /* elements of an array, members of a structure */
#define MAX_COUNT  4096       /* variables */
#define MAX_PLACES 1024       /* of one variable */
#define MAX_READS  (1u << 20) /* entries looked at */

struct bytes {
    const struct simt_section *s;
    uint32_t at, end;
    bool bad; /* past the end, or not understood */
};

static uint64_t take(struct bytes *b, uint32_t n)
{
    uint64_t v = 0;
    if (b->bad || b->end - b->at < n) {
        b->bad = true;
        return 0;
    }
    for (uint32_t k = 0; k < n; k++) v |= (uint64_t)b->s->bytes[b->at + k] << 8 * k;
    b->at += n;
    return v;
}

static void skip(struct bytes *b, uint64_t n)
{
    if (b->bad || b->end - b->at < n)
        b->bad = true;
    else
        b->at += (uint32_t)n;
}

static uint64_t take_leb(struct bytes *b)
{
    uint64_t v = 0;
    for (unsigned shift = 0; !b->bad; shift += 7) {
        uint64_t byte = take(b, 1);
        if (shift < 64) v |= (byte & 127) << shift;
        if (!(byte & 128)) break;
    }
    return v;
}

static const char *take_string(struct bytes *b)
{
    const uint8_t *s = b->s->bytes + b->at;
    const uint8_t *end = b->bad || b->at >= b->end ? NULL : memchr(s, 0, b->end - b->at);
    if (!end) {
        b->bad = true;
        return NULL;
    }
    b->at += (uint32_t)(end - s) + 1;
    return (const char *)s;
}

/* ---- entries of the tree ---- */
struct reader {
    struct simt_section info, abbrev, loc, str;
    uint32_t unit; /* where the compilation unit at hand starts */
    uint32_t unit_abbrev, version, address_size;
    struct simt_debug *out;
    uint32_t room, reads;
    bool failed; /* out of memory */
};

struct value {
    bool there, is_block, is_list;
    uint64_t number;      /* also the offset of a type, counted from the section's start */
    const char *text;     /* a string, or the symbol that an address is linked to */
    uint32_t block, size; /* of .debug_info */
};
struct entry {
    uint32_t tag, next; /* next: the offset behind its attributes */
    bool children;
    struct value location, name, bytes, low, high, bound, count, offset, line, encoding, type;
};

static const char *string_at(const struct reader *r, uint32_t at, uint64_t offset)
{
    const char *label = simt_section_link(&r->info, at);
    for (uint32_t k = 0; label && k < r->str.label_count; k++)
        if (!strcmp(r->str.labels[k].symbol, label)) offset = r->str.labels[k].offset;
    if (offset >= r->str.size || !memchr(r->str.bytes + offset, 0, r->str.size - offset)) return NULL;
    return (const char *)r->str.bytes + offset;
}

static void read_form(struct reader *r, struct bytes *b, uint64_t form, struct value *v)
{
    uint32_t at = b->at;
    v->there = true;
    switch (form) {
    case 0x01: /* an address */
        v->text = simt_section_link(&r->info, at);
        v->number = take(b, r->address_size);
        break;
    case 0x0a: v->size = (uint32_t)take(b, 1), v->is_block = true; break;
    case 0x03: v->size = (uint32_t)take(b, 2), v->is_block = true; break;
    case 0x04: v->size = (uint32_t)take(b, 4), v->is_block = true; break;
    case 0x09:
    case 0x18: v->size = (uint32_t)take_leb(b), v->is_block = true; break;
    case 0x0b:
    case 0x0c: v->number = take(b, 1); break;
    case 0x05: v->number = take(b, 2); break;
    case 0x06:
    case 0x17: v->number = take(b, 4), v->is_list = true; break;
    case 0x07:
    case 0x20: v->number = take(b, 8); break;
    case 0x08: v->text = take_string(b); break;
    case 0x0e: v->text = string_at(r, at, take(b, 4)); break;
    case 0x0d:
    case 0x0f: v->number = take_leb(b); break;
    case 0x10: v->number = take(b, r->version <= 2 ? r->address_size : 4); break;
    case 0x11: v->number = take(b, 1) + r->unit; break;
    case 0x12: v->number = take(b, 2) + r->unit; break;
    case 0x13: v->number = take(b, 4) + r->unit; break;
    case 0x14: v->number = take(b, 8) + r->unit; break;
    case 0x15: v->number = take_leb(b) + r->unit; break;
    case 0x19: v->number = 1; break;
    default: b->bad = true;
    }
    if (!v->is_block) return;
    v->block = b->at;
    skip(b, v->size);
}

static struct value *value_of(struct entry *x, uint64_t attribute)
{
    switch (attribute) {
    case AT_LOCATION: return &x->location;
    case AT_NAME: return &x->name;
    case AT_SIZE: return &x->bytes;
    case AT_LOW: return &x->low;
    case AT_HIGH: return &x->high;
    case AT_BOUND: return &x->bound;
    case AT_COUNT: return &x->count;
    case AT_OFFSET: return &x->offset;
    case AT_LINE: return &x->line;
    case AT_ENCODING: return &x->encoding;
    case AT_TYPE: return &x->type;
    default: return NULL;
    }
}

/* Stands the abbreviations' reader at the attributes of a code. */
static bool find_abbreviation(const struct reader *r, uint64_t code, struct bytes *a, struct entry *x)
{
    *a = (struct bytes){&r->abbrev, r->unit_abbrev, r->abbrev.size, r->unit_abbrev > r->abbrev.size};
    for (uint64_t c; (c = take_leb(a)) && !a->bad;) {
        x->tag = (uint32_t)take_leb(a);
        x->children = take(a, 1) != 0;
        if (c == code) return !a->bad;
        while (!a->bad) {
            uint64_t attribute = take_leb(a), form = take_leb(a);
            if (!attribute && !form) break;
        }
    }
    return false;
}

/* Reads the entry at an offset. Tag 0 ends a list of children. */
static bool read_entry(struct reader *r, uint32_t offset, struct entry *x)
{
    struct bytes b = {&r->info, offset, r->info.size, offset >= r->info.size}, a;
    *x = (struct entry){0};
    uint64_t code = take_leb(&b);
    if (b.bad || r->reads++ > MAX_READS || (code && !find_abbreviation(r, code, &a, x))) return false;
    while (code && !b.bad) {
        struct value unused = {0};
        uint64_t attribute = take_leb(&a), form = take_leb(&a);
        if (a.bad) return false;
        if (!attribute && !form) break;
        struct value *v = value_of(x, attribute);
        read_form(r, &b, form, v ? v : &unused);
    }
    x->next = b.at;
    return !b.bad;
}

/* ---- variables ---- */
static char *keep(struct reader *r, const char *text)
{
    char *s = text ? rt_strdup(text) : NULL;
    if (text && !s) r->failed = true;
    return s;
}

/* A register's number is the text of its name, the first letter in the highest byte. */
static bool register_name(uint64_t number, char out[16])
{
    int n = 0;
    for (int k = 7; k >= 0; k--) {
        char c = (char)(number >> 8 * k);
        if (!c && !n) continue;
        if (c < '!' || c > '~') return false;
        out[n++] = c;
    }
    out[n] = 0;
    return n > 1 && out[0] == '%';
}

static bool read_expression(struct reader *r, const struct simt_section *s, uint32_t at, uint32_t size,
                            struct simt_debug_place *p)
{
    if (at > s->size || s->size - at < size) return false;
    struct bytes b = {s, at, at + size, false};
    uint64_t op = take(&b, 1);
    if (op == OP_REGISTER) return register_name(take_leb(&b), p->name) && !b.bad && b.at == b.end;
    if (op != OP_ADDR) return false;
    const char *symbol = simt_section_link(s, b.at);
    p->offset = take(&b, r->address_size);
    if (!b.bad && b.at < b.end && take(&b, 1) == OP_PLUS) p->offset += take_leb(&b);
    if (b.bad || b.at != b.end || !symbol) return false;
    p->symbol = keep(r, symbol);
    return p->symbol != NULL;
}

static bool add_place(struct reader *r, struct simt_debug_variable *v, const struct simt_debug_place *p)
{
    uint32_t n = v->place_count;
    void *more = n & (n - 1) ? v->places : rt_realloc(v->places, (n ? 2 * n : 1) * sizeof *v->places);
    if (!more) {
        r->failed = true;
        return false;
    }
    v->places = more;
    v->places[v->place_count++] = *p;
    return true;
}

static void free_place(struct simt_debug_place *p)
{
    free(p->from);
    free(p->to);
    free(p->symbol);
}

/* A list of .debug_loc: from, to, and an expression of a length, until both ends are 0. */
static void read_list(struct reader *r, uint64_t offset, struct simt_debug_variable *v)
{
    const struct simt_section *s = &r->loc;
    if (offset >= s->size) return;
    struct bytes b = {s, (uint32_t)offset, s->size, false};
    while (!b.bad && !r->failed && v->place_count < MAX_PLACES) {
        const char *from = simt_section_link(s, b.at);
        uint64_t first = take(&b, r->address_size);
        const char *to = simt_section_link(s, b.at);
        uint64_t second = take(&b, r->address_size);
        if (b.bad || (!from && !to && !first && !second)) return;
        uint32_t size = (uint32_t)take(&b, 2), at = b.at;
        skip(&b, size);
        struct simt_debug_place p = {0};
        if (b.bad || !from || !to || !read_expression(r, s, at, size, &p)) continue;
        p.from = keep(r, from);
        p.to = keep(r, to);
        if (!p.from || !p.to || !add_place(r, v, &p)) free_place(&p);
    }
}

static void read_places(struct reader *r, const struct value *location, struct simt_debug_variable *v)
{
    struct simt_debug_place p = {0};
    if (location->is_block) {
        if (read_expression(r, &r->info, location->block, location->size, &p) && !add_place(r, v, &p)) free_place(&p);
    } else if (location->is_list) {
        read_list(r, location->number, v);
    }
}

static void free_variable(struct simt_debug_variable *v)
{
    for (uint32_t k = 0; k < v->place_count; k++) free_place(&v->places[k]);
    free(v->places);
    free(v->name);
    free(v->from);
    free(v->to);
}

struct scope {
    const char *from, *to;
};

/* What is being flattened: a variable, its member, an element of that... */
struct part {
    const struct scope *scope;
    const struct entry *variable;
    uint64_t offset; /* bytes from the variable's start */
    int nest;
    char name[256];
};

static void add_variable(struct reader *r, const struct part *part, enum simt_value_kind kind, uint64_t size)
{
    struct simt_debug *d = r->out;
    struct simt_debug_variable v = {.kind = kind, .size = (uint32_t)size};
    if (size != 1 && size != 2 && size != 4 && size != 8) return;
    if (kind == SIMT_VALUE_FLOAT && size < 4) return;
    if (d->count >= MAX_COUNT) return;
    read_places(r, &part->variable->location, &v);
    for (uint32_t k = 0; k < v.place_count; k++) v.places[k].offset += part->offset;
    bool whole = part->offset == 0 && part->nest == 0;
    bool usable = v.place_count > 0 && (whole || v.places[0].symbol); /* parts of registers are not told apart */
    if (usable && d->count == r->room) {
        uint32_t room = r->room ? 2 * r->room : 32;
        void *more = rt_realloc(d->variables, room * sizeof *d->variables);
        if (more) d->variables = more;
        if (more) r->room = room;
        if (!more) r->failed = true;
    }
    v.line = (int)part->variable->line.number;
    v.name = usable ? keep(r, part->name) : NULL;
    v.from = usable ? keep(r, part->scope->from) : NULL;
    v.to = usable ? keep(r, part->scope->to) : NULL;
    if (v.name && v.from && v.to && !r->failed)
        d->variables[d->count++] = v;
    else
        free_variable(&v);
}

static void add_type(struct reader *r, const struct part *part, uint64_t offset);

static void add_members(struct reader *r, const struct part *part, const struct entry *type)
{
    struct entry x;
    uint32_t at = type->next;
    for (int n = 0; type->children && n < MAX_SHOWN && read_entry(r, at, &x) && x.tag; at = x.next) {
        if (x.tag != TAG_MEMBER || !x.name.text || !x.type.there || x.children) {
            if (x.children) return; /* functions of the structure come behind its members */
            continue;
        }
        struct part member = *part;
        uint64_t from = x.offset.number;
        if (x.offset.is_block) {
            struct bytes b = {&r->info, x.offset.block, x.offset.block + x.offset.size, false};
            if (take(&b, 1) != OP_PLUS) continue;
            from = take_leb(&b);
        }
        member.offset += from;
        member.nest++;
        snprintf(member.name, sizeof member.name, "%.120s.%.100s", part->name, x.name.text);
        add_type(r, &member, x.type.number);
        n++;
    }
}

static uint64_t size_of(struct reader *r, uint64_t offset)
{
    struct entry x;
    for (int n = 0; n < MAX_DEPTH && offset < r->info.size && read_entry(r, (uint32_t)offset, &x); n++) {
        if (x.tag == TAG_POINTER || x.tag == TAG_REFERENCE || x.tag == TAG_RVALUE) return 8;
        if (x.bytes.there) return x.bytes.number;
        if (!x.type.there) return 0;
        offset = x.type.number;
    }
    return 0;
}

static void add_elements(struct reader *r, const struct part *part, const struct entry *type)
{
    struct entry range;
    if (!type->children || !type->type.there || !read_entry(r, type->next, &range) || range.tag != TAG_SUBRANGE) return;
    uint64_t count = range.count.there ? range.count.number : range.bound.there ? range.bound.number + 1 : 0;
    uint64_t size = size_of(r, type->type.number);
    struct entry other; /* more than one dimension is not taken apart */
    if (!read_entry(r, range.next, &other) || other.tag || !size || size > UINT32_MAX || count > MAX_SHOWN) return;
    for (uint64_t k = 0; k < count; k++) {
        struct part element = *part;
        element.offset += k * size;
        element.nest++;
        snprintf(element.name, sizeof element.name, "%.200s[%d]", part->name, (int)k);
        add_type(r, &element, type->type.number);
    }
}

/* Adds the variables that make up one of the type at an offset. */
static void add_type(struct reader *r, const struct part *part, uint64_t offset)
{
    struct entry x;
    if (part->nest > MAX_NEST) return;
    for (int n = 0; n < MAX_DEPTH && offset < r->info.size && read_entry(r, (uint32_t)offset, &x); n++) {
        switch (x.tag) {
        case TAG_BASE: {
            uint64_t e = x.encoding.number;
            add_variable(r, part,
                         e == 2   ? SIMT_VALUE_BOOL
                         : e == 4 ? SIMT_VALUE_FLOAT
                         : e < 7  ? SIMT_VALUE_SIGNED
                                  : SIMT_VALUE_UNSIGNED,
                         x.bytes.number);
            return;
        }
        case TAG_ENUM: add_variable(r, part, SIMT_VALUE_SIGNED, x.bytes.number); return;
        case TAG_POINTER:
        case TAG_REFERENCE:
        case TAG_RVALUE: add_variable(r, part, SIMT_VALUE_POINTER, 8); return;
        case TAG_STRUCT:
        case TAG_CLASS: add_members(r, part, &x); return;
        case TAG_ARRAY: add_elements(r, part, &x); return;
        case TAG_CONST:
        case TAG_VOLATILE:
        case TAG_RESTRICT:
        case TAG_TYPEDEF: break;
        default: return;
        }
        if (!x.type.there) return;
        offset = x.type.number;
    }
}

/* ---- the walk ---- */
static void walk_unit(struct reader *r, uint32_t at, uint32_t end)
{
    struct scope scopes[MAX_DEPTH] = {{NULL, NULL}};
    struct entry x;
    int depth = 0;
    while (at < end && !r->failed && read_entry(r, at, &x)) {
        at = x.next;
        if (!x.tag) {
            if (--depth <= 0) return;
            continue;
        }
        const struct scope *scope = &scopes[depth];
        if ((x.tag == TAG_VARIABLE || x.tag == TAG_PARAMETER) && scope->from && x.name.text && x.type.there) {
            struct part part = {.scope = scope, .variable = &x};
            snprintf(part.name, sizeof part.name, "%.200s", x.name.text);
            add_type(r, &part, x.type.number);
        }
        if (!x.children) continue;
        if (depth + 1 >= MAX_DEPTH) return;
        bool own = (x.tag == TAG_FUNCTION || x.tag == TAG_BLOCK) && x.low.text && x.high.text;
        scopes[depth + 1] = own ? (struct scope){x.low.text, x.high.text} : *scope;
        depth++;
    }
}

static void walk(struct reader *r)
{
    struct bytes b = {&r->info, 0, r->info.size, false};
    while (b.end - b.at > 11 && !r->failed) {
        r->unit = b.at;
        uint64_t length = take(&b, 4);
        uint64_t end = (uint64_t)b.at + length;
        if (end > b.end) return;
        r->version = (uint32_t)take(&b, 2);
        r->unit_abbrev = (uint32_t)take(&b, 4);
        r->address_size = (uint32_t)take(&b, 1);
        if (b.bad || r->version < 2 || r->version > 4 || r->address_size != 8) return;
        walk_unit(r, b.at, (uint32_t)end);
        b.at = (uint32_t)end;
    }
}

struct simt_debug *simt_debug_read(const char *ptx, size_t length, struct rt_error *e)
{
    struct reader r = {.out = rt_calloc(1, sizeof *r.out)};
    bool ok = r.out && simt_section_read(ptx, length, ".debug_info", &r.info, e) == RT_OK &&
              simt_section_read(ptx, length, ".debug_abbrev", &r.abbrev, e) == RT_OK &&
              simt_section_read(ptx, length, ".debug_loc", &r.loc, e) == RT_OK &&
              simt_section_read(ptx, length, ".debug_str", &r.str, e) == RT_OK;
    if (ok) walk(&r);
    if (!ok || r.failed) {
        rt_fail(e, RT_NOMEM, "out of memory while reading a program's debug information");
        simt_debug_free(r.out);
        r.out = NULL;
    }
    simt_section_free(&r.info);
    simt_section_free(&r.abbrev);
    simt_section_free(&r.loc);
    simt_section_free(&r.str);
    return r.out;
}

void simt_debug_free(struct simt_debug *d)
{
    if (!d) return;
    for (uint32_t k = 0; k < d->count; k++) free_variable(&d->variables[k]);
    free(d->variables);
    free(d);
}
