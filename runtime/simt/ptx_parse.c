/* PTX at module level: directives and function headers; and where the .loc lines lead. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/ptx_read.h"

static const struct {
    const char *name;
    unsigned char size;
} types[PTX_TYPE_COUNT] = {
    [PTX_NONE] = {"none", 0},   [PTX_PRED] = {"pred", 1}, [PTX_B8] = {"b8", 1},         [PTX_B16] = {"b16", 2},
    [PTX_B32] = {"b32", 4},     [PTX_B64] = {"b64", 8},   [PTX_B128] = {"b128", 16},    [PTX_U8] = {"u8", 1},
    [PTX_U16] = {"u16", 2},     [PTX_U32] = {"u32", 4},   [PTX_U64] = {"u64", 8},       [PTX_S8] = {"s8", 1},
    [PTX_S16] = {"s16", 2},     [PTX_S32] = {"s32", 4},   [PTX_S64] = {"s64", 8},       [PTX_F16] = {"f16", 2},
    [PTX_F16X2] = {"f16x2", 4}, [PTX_BF16] = {"bf16", 2}, [PTX_BF16X2] = {"bf16x2", 4}, [PTX_TF32] = {"tf32", 4},
    [PTX_F32] = {"f32", 4},     [PTX_F64] = {"f64", 8},
};

size_t ptx_type_size(enum ptx_type t)
{
    return types[t].size;
}

const char *ptx_type_name(enum ptx_type t)
{
    return types[t].name;
}

static enum ptx_type find_type(const char *name, size_t length)
{
    for (int t = PTX_NONE + 1; t < PTX_TYPE_COUNT; t++) {
        if (strlen(types[t].name) == length && memcmp(types[t].name, name, length) == 0) return (enum ptx_type)t;
    }
    return PTX_NONE;
}

enum ptx_type ptx_type_find(const char *name)
{
    return find_type(name, strlen(name));
}

enum ptx_type ptx_type_token(const struct ptx_parser *p)
{
    return p->token.kind == TOKEN_DOT ? find_type(p->token.start, p->token.length) : PTX_NONE;
}

bool ptx_skip_statement(struct ptx_parser *p)
{
    while (!ptx_is_char(p, ';')) {
        if (p->token.kind == TOKEN_END) return ptx_expected(p, "';'");
        if (!ptx_next(p)) return false;
    }
    return ptx_next(p);
}

/* Something in parentheses or braces, with what is nested in it. */
static bool skip_group(struct ptx_parser *p, char open, char close)
{
    size_t depth = 0;
    do {
        if (p->token.kind == TOKEN_END) return ptx_fail(p, "the text ends inside '%c'", open);
        if (ptx_is_char(p, open)) depth++;
        if (ptx_is_char(p, close)) depth--;
        if (!ptx_next(p)) return false;
    } while (depth);
    return true;
}

/* ---- source positions ---- */

static bool take_position(struct ptx_parser *p, struct location *out)
{
    uint64_t file, line, column;
    if (!ptx_take_int(p, 65535, &file) || !ptx_take_int(p, INT32_MAX, &line) || !ptx_take_int(p, INT32_MAX, &column))
        return false;
    *out = (struct location){.file = (int)file, .line = (int)line, .column = (int)column};
    return true;
}

static uint32_t *recent_at(struct ptx_parser *p, const struct location *l)
{
    uint32_t hash = ((uint32_t)l->file * 31 + (uint32_t)l->line) * 31 + (uint32_t)l->column;
    return &p->recent[hash % RECENT_LOCATIONS];
}

static bool add_location(struct ptx_parser *p, const struct location *l)
{
    if (!ptx_grow_table(p, (void **)&p->locations, p->location_count, &p->location_room, sizeof *l)) return false;
    *recent_at(p, l) = (uint32_t)p->location_count;
    p->locations[p->location_count++] = *l;
    return true;
}

static bool is_same_position(const struct location *a, const struct location *b)
{
    return a->file == b->file && a->line == b->line && a->column == b->column;
}

/* The location that `at` names as its caller, which the compiler wrote before; made when it is not there. */
static bool find_caller(struct ptx_parser *p, const struct location *at, int *out)
{
    uint32_t recent = *recent_at(p, at);
    if (recent && is_same_position(&p->locations[recent], at)) return *out = (int)recent, true;
    for (size_t i = p->location_count, tries = 0; i-- > 1 && tries < 64; tries++)
        if (is_same_position(&p->locations[i], at)) return *out = (int)i, true;
    *out = (int)p->location_count;
    return add_location(p, at);
}

bool ptx_location(struct ptx_parser *p)
{
    struct location here, caller;
    if (!take_position(p, &here)) return false;
    while (ptx_accept(p, ',')) {
        if (ptx_is_name(p, "function_name")) {
            if (!ptx_next(p)) return false;
            if (p->token.kind != TOKEN_NAME) return ptx_expected(p, "a label");
            if (!ptx_next(p)) return false;
            uint64_t offset;
            if (ptx_is_char(p, '+') && (!ptx_next(p) || !ptx_take_int(p, UINT32_MAX, &offset))) return false;
        } else if (ptx_is_name(p, "inlined_at")) {
            if (!ptx_next(p) || !take_position(p, &caller) || !find_caller(p, &caller, &here.parent)) return false;
        } else {
            return ptx_expected(p, "function_name or inlined_at");
        }
    }
    if (here.line == 0) return true; /* code that no line stands for counts to the line before it */
    p->location = (int)p->location_count;
    return add_location(p, &here);
}

/* "used_bytes_mask 7" is about the load that comes next; others are hints. */
bool ptx_pragma(struct ptx_parser *p)
{
    static const char used[] = "used_bytes_mask ";
    size_t n = sizeof used - 1;
    if (p->token.kind == TOKEN_STRING && p->token.length > n && !memcmp(p->token.start, used, n))
        p->used_bytes = (uint32_t)strtoul(p->token.start + n, NULL, 0); /* ends at the quote */
    return ptx_skip_statement(p);
}

/* .file N "name" [, timestamp, size] */
static bool read_file(struct ptx_parser *p)
{
    uint64_t n, ignored;
    struct ptx_module *m = p->module;
    if (!ptx_take_int(p, 65535, &n)) return false;
    if (p->token.kind != TOKEN_STRING) return ptx_expected(p, "a file name");
    if (n >= m->file_count) {
        size_t count = n + 1 > m->file_count * 2 ? n + 1 : m->file_count * 2;
        char **files = ptx_new(p, count, sizeof *files);
        if (!files) return false;
        if (m->file_count) memcpy(files, m->files, m->file_count * sizeof *files);
        m->files = files;
        m->file_count = count;
    }
    struct ptx_name *name = ptx_intern(p, p->token.start, p->token.length);
    if (!name) return false;
    m->files[n] = name->text;
    if (!ptx_next(p)) return false;
    while (ptx_accept(p, ',')) {
        if (!ptx_take_int(p, UINT64_MAX, &ignored)) return false;
    }
    return true;
}

/* ---- variables ---- */

bool ptx_add_variable(struct ptx_parser *p, const struct ptx_var *v, size_t *index)
{
    struct ptx_module *m = p->module;
    struct ptx_name *name = ptx_intern(p, v->name, strlen(v->name));
    if (!name) return false;
    if (name->var >= 0) { /* declared before */
        struct ptx_var *old = &m->vars[name->var];
        if (!v->is_extern && !old->is_extern && !v->is_weak && !old->is_weak)
            return ptx_fail(p, "'%s' is defined twice", v->name);
        if (old->is_extern || (old->is_weak && !v->is_extern && !v->is_weak)) *old = *v;
        *index = (size_t)name->var;
        return true;
    }
    m->vars = ptx_grow(p, m->vars, m->var_count, &p->var_room, sizeof *v);
    if (!m->vars) return false;
    *index = m->var_count;
    name->var = (long)m->var_count;
    m->vars[m->var_count++] = *v;
    return true;
}

static bool module_variable(struct ptx_parser *p, enum ptx_space space, bool is_extern, bool is_weak)
{
    struct ptx_var type, v;
    size_t index;
    if (!ptx_variable_type(p, space, &type)) return false;
    do {
        v = type;
        if (!ptx_variable(p, false, &v)) return false;
        v.is_extern = is_extern;
        v.is_weak = is_weak;
        if (!ptx_add_variable(p, &v, &index)) return false;
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

/* Shared arrays declared with a length and defined nowhere are none of the launch's: ptxas warns that it ignores their
 * extern, and LLVM's users count on that. */
static void settle_shared(struct ptx_module *m)
{
    for (size_t k = 0; k < m->var_count; k++)
        if (m->vars[k].space == PTX_SHARED && m->vars[k].size > 0) m->vars[k].is_extern = false;
}

/* ---- functions ---- */

/* (.param .b32 x, .reg .b32 y): the parameters or results of a function. */
static bool read_params(struct ptx_parser *p, struct ptx_var **list, size_t *count)
{
    size_t room = 0;
    *list = NULL;
    *count = 0;
    if (!ptx_expect(p, '(')) return false;
    while (!ptx_is_char(p, ')')) {
        bool is_reg = ptx_is_dot(p, "reg");
        if (!is_reg && !ptx_is_dot(p, "param")) return ptx_expected(p, "'.param'");
        if (!ptx_next(p)) return false;
        *list = ptx_grow(p, *list, *count, &room, sizeof **list);
        if (!*list) return false;
        struct ptx_var *v = &(*list)[*count];
        if (is_reg ? !ptx_registers(p, true, v) : !ptx_variable_type(p, PTX_PARAM, v) || !ptx_variable(p, true, v))
            return false;
        ++*count;
        if (!ptx_accept(p, ',')) break;
    }
    return ptx_expect(p, ')');
}

static bool take_dimensions(struct ptx_parser *p, uint32_t out[3])
{
    for (int i = 0; i < 3; i++) {
        uint64_t n;
        if (i == 0 || ptx_accept(p, ',')) {
            if (!ptx_take_int(p, INT32_MAX, &n)) return false;
            out[i] = (uint32_t)n;
        } else {
            out[i] = 1;
        }
    }
    return !p->failed;
}

/* What stands between a function's parameters and its body. */
static bool read_tuning(struct ptx_parser *p, struct ptx_func *f)
{
    while (p->token.kind == TOKEN_DOT) {
        uint32_t other[3];
        bool pragma = ptx_is_dot(p, "pragma"), attribute = ptx_is_dot(p, "attribute");
        bool must = ptx_is_dot(p, "explicitcluster"), counts = ptx_is_dot(p, "blocksareclusters");
        bool plain = ptx_is_dot(p, "noreturn") || ptx_is_dot(p, "unique") || must || counts;
        bool number = ptx_is_dot(p, "maxnctapersm") || ptx_is_dot(p, "maxclusterrank") ||
                      ptx_is_dot(p, "abi_preserve") || ptx_is_dot(p, "abi_preserve_control");
        uint32_t *dims = ptx_is_dot(p, "maxntid")             ? f->max_threads
                         : ptx_is_dot(p, "reqntid")           ? f->required_threads
                         : ptx_is_dot(p, "reqnctapercluster") ? f->cluster
                                                              : NULL;
        uint32_t *one = ptx_is_dot(p, "minnctapersm") ? &f->min_blocks
                        : ptx_is_dot(p, "maxnreg")    ? &f->max_registers
                                                      : NULL;
        if (number) dims = other;
        f->must_cluster |= must;
        f->grid_of_clusters |= counts;
        if (!pragma && !attribute && !plain && !dims && !one) return ptx_expected(p, "a directive of a function");
        if (!ptx_next(p)) return false;
        uint64_t n;
        if (pragma && !ptx_skip_statement(p)) return false;
        if (attribute && !skip_group(p, '(', ')')) return false;
        if (dims && !take_dimensions(p, dims)) return false;
        if (one) {
            if (!ptx_take_int(p, INT32_MAX, &n)) return false;
            *one = (uint32_t)n;
        }
    }
    return true;
}

static void begin_function(struct ptx_parser *p, struct ptx_func *f)
{
    p->func = f;
    p->reg_room = p->fvar_room = p->insn_room = p->label_room = p->table_room = 0;
    p->symbol_count = p->symbol_slots = 0;
    free(p->symbols);
    p->symbols = NULL;
    p->scope_count = 0;
    p->scope = p->depth = 0;
    p->fixup_count = 0;
    p->location = 0;
}

static bool read_function(struct ptx_parser *p, bool is_entry, bool is_extern, bool is_weak)
{
    struct ptx_module *m = p->module;
    struct ptx_func f = {.is_entry = is_entry, .is_extern = is_extern, .is_weak = is_weak};
    begin_function(p, &f);
    if (!ptx_grow_table(p, (void **)&p->scope_parent, 0, &p->scope_room, sizeof(int))) return false;
    p->scope_parent[p->scope_count++] = -1;
    while (ptx_is_dot(p, "attribute") || ptx_is_dot(p, "noreturn")) {
        bool list = ptx_is_dot(p, "attribute");
        if (!ptx_next(p) || (list && !skip_group(p, '(', ')'))) return false;
    }
    if (ptx_is_char(p, '(') && !read_params(p, &f.returns, &f.return_count)) return false;
    if (p->token.kind != TOKEN_NAME) return ptx_expected(p, "a function's name");
    struct ptx_name *name = ptx_intern(p, p->token.start, p->token.length);
    if (!name || !ptx_next(p)) return false;
    f.name = name->text;
    if (ptx_is_char(p, '(') && !read_params(p, &f.params, &f.param_count)) return false;
    if (!read_tuning(p, &f)) return false;
    const struct ptx_func *other = name->func >= 0 && m->funcs[name->func].has_body ? &m->funcs[name->func] : NULL;
    if (other && is_weak && ptx_is_char(p, '{')) return skip_group(p, '{', '}');
    if (ptx_accept(p, '{')) {
        f.has_body = true;
        if (other && !other->is_weak) return ptx_fail(p, "'%s' is defined twice", f.name);
        if (!ptx_body(p)) return false;
    } else if (!ptx_expect(p, ';')) {
        return false;
    }
    if (!f.has_body) f.declared_returns = f.return_count;
    if (name->func >= 0) {
        struct ptx_func *former = &m->funcs[name->func];
        size_t declared = f.declared_returns > former->declared_returns ? f.declared_returns : former->declared_returns;
        if (f.has_body) *former = f; /* in place of its declaration */
        former->declared_returns = declared;
        return true;
    }
    m->funcs = ptx_grow(p, m->funcs, m->func_count, &p->func_room, sizeof f);
    if (!m->funcs) return false;
    name->func = (long)m->func_count;
    m->funcs[m->func_count++] = f;
    return true;
}

/* ---- the module ---- */

static bool read_version(struct ptx_parser *p)
{
    const char *s = p->token.start;
    if (p->token.kind != TOKEN_F64 && p->token.kind != TOKEN_INT) return ptx_expected(p, "a version");
    int major = 0, minor = 0, digits = 0;
    size_t i = 0;
    for (; i < p->token.length && s[i] != '.' && digits++ < 4; i++) major = major * 10 + (s[i] - '0');
    for (i++, digits = 0; i < p->token.length && s[i] >= '0' && s[i] <= '9' && digits++ < 4; i++)
        minor = minor * 10 + (s[i] - '0');
    if (major > PTX_NEWEST) {
        ptx_fail(p, "PTX %d.%d is newer than what the software GPU knows, %d; use an older compiler", major, minor,
                 PTX_NEWEST);
        if (p->error) p->error->status = RT_UNSUPPORTED;
        return false;
    }
    if (major == 0) return ptx_expected(p, "a version of PTX");
    p->module->version_major = major;
    p->module->version_minor = minor;
    return ptx_next(p);
}

/* sm_80, sm_90a, sm_120f, or one of the words that may stand beside such a name. */
static bool is_target(const struct token *t)
{
    static const char *const others[] = {"texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"};
    size_t n = t->length;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (n == strlen(others[i]) && !memcmp(t->start, others[i], n)) return true;
    if (n > 4 && (t->start[n - 1] == 'a' || t->start[n - 1] == 'f')) n--;
    for (size_t i = 3; i < n; i++)
        if (t->start[i] < '0' || t->start[i] > '9') return false;
    return n > 3 && !memcmp(t->start, "sm_", 3);
}

static bool read_target(struct ptx_parser *p)
{
    do {
        if (p->token.kind != TOKEN_NAME || !is_target(&p->token)) return ptx_expected(p, "a target such as sm_80");
        struct ptx_name *name = ptx_intern(p, p->token.start, p->token.length);
        if (!name || !ptx_next(p)) return false;
        if (!p->module->target) p->module->target = name->text;
    } while (ptx_accept(p, ','));
    return !p->failed;
}

static bool read_section(struct ptx_parser *p)
{
    while (!ptx_is_char(p, '{')) {
        if (p->token.kind == TOKEN_END) return ptx_expected(p, "'{'");
        if (!ptx_next(p)) return false;
    }
    return skip_group(p, '{', '}');
}

/* .alias f, g; f was declared, g may come later. */
static bool read_alias(struct ptx_parser *p)
{
    struct alias a = {.line = p->token.line};
    for (int k = 0; k < 2; k++) {
        if (p->token.kind != TOKEN_NAME) return ptx_expected(p, "a function's name");
        a.names[k] = ptx_intern(p, p->token.start, p->token.length);
        if (!a.names[k] || !ptx_next(p) || !ptx_expect(p, k ? ';' : ',')) return false;
    }
    if (!ptx_grow_table(p, (void **)&p->aliases, p->alias_count, &p->alias_room, sizeof a)) return false;
    p->aliases[p->alias_count++] = a;
    return true;
}

/* An alias is the function once more. */
static bool settle_aliases(struct ptx_parser *p)
{
    for (size_t k = 0; k < p->alias_count; k++) {
        const struct alias *a = &p->aliases[k];
        long from = a->names[1]->func, to = a->names[0]->func;
        p->token.line = a->line;
        if (from < 0 || !p->module->funcs[from].has_body || p->module->funcs[from].is_entry)
            return ptx_fail(p, "there is no function '%s'", a->names[1]->text);
        if (to < 0) return ptx_fail(p, "'%s' is not declared", a->names[0]->text);
        if (p->module->funcs[to].has_body) return ptx_fail(p, "'%s' is defined twice", a->names[0]->text);
        p->module->funcs[to] = p->module->funcs[from];
        p->module->funcs[to].name = a->names[0]->text;
    }
    return true;
}

static bool read_directive(struct ptx_parser *p)
{
    bool is_extern = false, is_weak = false;
    while (ptx_is_dot(p, "visible") || ptx_is_dot(p, "extern") || ptx_is_dot(p, "weak") || ptx_is_dot(p, "common")) {
        if (ptx_is_dot(p, "extern")) is_extern = true;
        if (ptx_is_dot(p, "weak") || ptx_is_dot(p, "common")) is_weak = true;
        if (!ptx_next(p)) return false;
    }
    if (p->token.kind != TOKEN_DOT) return ptx_expected(p, "a directive");
    struct token word = p->token;
#define IS(text) (word.length == strlen(text) && memcmp(word.start, text, word.length) == 0)
    if (!p->module->version_major && !IS("version")) return ptx_expected(p, "'.version', with which PTX begins");
    if (!ptx_next(p)) return false;
    if (IS("entry")) return read_function(p, true, is_extern, is_weak);
    if (IS("func")) return read_function(p, false, is_extern, is_weak);
    if (IS("global")) return module_variable(p, PTX_GLOBAL, is_extern, is_weak);
    if (IS("const")) return module_variable(p, PTX_CONST, is_extern, is_weak);
    if (IS("shared")) return module_variable(p, PTX_SHARED, is_extern, is_weak);
    if (IS("version")) return read_version(p);
    if (IS("target")) return read_target(p);
    if (IS("file")) return read_file(p);
    if (IS("loc")) return ptx_location(p);
    if (IS("section")) return read_section(p);
    if (IS("pragma")) return ptx_skip_statement(p);
    if (IS("alias")) return read_alias(p);
    uint64_t bits;
    if (IS("address_size")) {
        if (!ptx_take_int(p, 64, &bits)) return false;
        return bits == 64 || ptx_fail(p, "only 64-bit addresses are supported");
    }
#undef IS
    p->token.line = word.line;
    return ptx_fail(p, "the directive '.%.*s' is not supported", word.length > 40 ? 40 : (int)word.length, word.start);
}

static bool read_module(struct ptx_parser *p)
{
    const struct location nowhere = {0};
    if (!add_location(p, &nowhere) || !ptx_next(p)) return false;
    while (p->token.kind != TOKEN_END) {
        if (ptx_is_char(p, ';')) { /* stray ones are harmless */
            if (!ptx_next(p)) return false;
        } else if (!read_directive(p)) {
            return false;
        }
    }
    if (p->failed) return false;
    if (!p->module->target) return ptx_fail(p, "there is no .target; is this PTX?");
    ptx_settle_locations(p);
    settle_shared(p->module);
    return settle_aliases(p);
}

void ptx_free(struct ptx_module *m)
{
    if (!m) return;
    struct ptx_tree *tree = (struct ptx_tree *)m;
    for (struct ptx_chunk *c = tree->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(tree);
}

struct ptx_module *ptx_parse(const char *text, size_t length, struct rt_error *e)
{
    struct ptx_parser p = {.at = text, .end = text + length, .line = 1, .error = e};
    p.token.line = 1;
    struct ptx_tree *tree = rt_calloc(1, sizeof *tree);
    if (!tree) return ptx_fail_memory(&p), NULL;
    p.module = &tree->module;
    /* A text may be given with its final NUL counted, as images are to the driver. */
    while (p.end > p.at && p.end[-1] == 0) p.end--;
    bool ok = length > PTX_MAX_TEXT ? ptx_fail(&p, "PTX of %zu bytes", length) : read_module(&p);
    free(p.names);
    free(p.symbols);
    free(p.scope_parent);
    free(p.fixups);
    free(p.locations);
    free(p.aliases);
    tree->chunks = p.chunks;
    if (ok) return p.module;
    ptx_free(p.module);
    return NULL;
}
