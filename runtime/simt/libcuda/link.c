/* The linker, for PTX: texts become one text. A name that a text has for itself stays as it is, to be found in the
 * module, unless another text has it, too: then it is renamed, so that two stay two. Extern references meet their
 * definitions when the whole is loaded. The "cubin" that comes out is PTX. */
#include "runtime/simt/libcuda/libcuda.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/fatbin.h"

struct word {
    const char *start;
    size_t length;
};

/* What a text declares outside of functions. */
struct name {
    struct word word;
    unsigned input;
    bool own; /* only this text knows it: it is neither visible, extern, weak nor common, nor a kernel */
    bool renamed;
};

/* One text. */
struct input {
    char *text;
    const char *at, *end;
    struct name *names;
    size_t count, room, renamed;
    unsigned last_file; /* the largest number of its .file lines */
};

struct CUlinkState_st {
    struct input *inputs;
    unsigned count, input_room;
    unsigned suffixes; /* the largest n of a name that ends with $n */
    char *text;        /* what they become */
    size_t length, room;
    unsigned files; /* .file numbers in use so far */
    bool no_memory;
    bool has_runtime; /* grid_sync is in */
    struct simt_jit jit;
};

/* What stands for NVIDIA's device runtime, libcudadevrt.a: the barrier of all blocks of a cooperative launch. The last
 * block that arrives begins the next round, which the others wait for. */
static const char grid_sync[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                ".global .align 4 .u32 cudaCGArrived;\n"
                                ".global .align 4 .u32 cudaCGRound;\n"
                                ".visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)\n"
                                "{\n"
                                "  .reg .b64 %d;\n"
                                "  mov.u64 %d, 1;\n"
                                "  st.param.b64 [handle], %d;\n"
                                "  ret;\n"
                                "}\n"
                                ".visible .func (.param .b32 status) cudaCGSynchronize(.param .b64 handle, "
                                ".param .b32 flags)\n"
                                "{\n"
                                "  .reg .pred %p;\n"
                                "  .reg .b32 %x, %y, %z, %now, %blocks, %before, %then;\n"
                                "  bar.sync 0;\n"
                                "  mov.u32 %x, %tid.x;\n"
                                "  mov.u32 %y, %tid.y;\n"
                                "  mov.u32 %z, %tid.z;\n"
                                "  or.b32 %x, %x, %y;\n"
                                "  or.b32 %x, %x, %z;\n"
                                "  setp.ne.u32 %p, %x, 0;\n"
                                "  @%p bra $done;\n"
                                "  mov.u32 %x, %nctaid.x;\n"
                                "  mov.u32 %y, %nctaid.y;\n"
                                "  mov.u32 %z, %nctaid.z;\n"
                                "  mul.lo.u32 %blocks, %x, %y;\n"
                                "  mul.lo.u32 %blocks, %blocks, %z;\n"
                                "  sub.u32 %blocks, %blocks, 1;\n"
                                "  membar.gl;\n"
                                "  atom.global.add.u32 %now, [cudaCGRound], 0;\n"
                                "  atom.global.add.u32 %before, [cudaCGArrived], 1;\n"
                                "  setp.ne.u32 %p, %before, %blocks;\n"
                                "  @%p bra $wait;\n"
                                "  atom.global.exch.b32 %then, [cudaCGArrived], 0;\n"
                                "  membar.gl;\n"
                                "  atom.global.add.u32 %then, [cudaCGRound], 1;\n"
                                "  bra $done;\n"
                                "$wait:\n"
                                "  atom.global.add.u32 %then, [cudaCGRound], 0;\n"
                                "  setp.eq.u32 %p, %then, %now;\n"
                                "  @%p bra $wait;\n"
                                "$done:\n"
                                "  membar.gl;\n"
                                "  bar.sync 0;\n"
                                "  mov.u32 %x, 0;\n"
                                "  st.param.b32 [status], %x;\n"
                                "  ret;\n"
                                "}\n";

/* ---- the text that grows ---- */

static void put(CUlinkState s, const char *text, size_t length)
{
    if (s->room - s->length < length + 1) {
        size_t room = 2 * s->room + length + 4096;
        char *more = rt_realloc(s->text, room);
        if (!more) {
            s->no_memory = true;
            return;
        }
        s->text = more;
        s->room = room;
    }
    memcpy(s->text + s->length, text, length);
    s->length += length;
    s->text[s->length] = '\0';
}

/* ---- words of PTX: identifiers, numbers, directives with their dot; anything else is a character ---- */

static bool starts_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static bool continues_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Where what is no code ends: a comment or a string; the same place when it is code. */
static const char *skip_other(const char *at, const char *end)
{
    const char *close = NULL;
    if (end - at < 2) return at;
    if (at[0] == '/' && at[1] == '/') {
        close = memchr(at, '\n', (size_t)(end - at));
        return close ? close : end;
    }
    if (at[0] == '/' && at[1] == '*') {
        for (at += 2; end - at >= 2; at++) {
            if (at[0] == '*' && at[1] == '/') return at + 2;
        }
        return end;
    }
    if (at[0] != '"') return at;
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < end) at++;
    }
    return at < end ? at + 1 : end;
}

/* The next word; what stands before it, comments included, goes to *between. A character that is no word's has length
 * 1. False at the end. */
static bool next_word(struct input *in, struct word *between, struct word *word)
{
    between->start = in->at;
    while (in->at < in->end) {
        const char *code = skip_other(in->at, in->end);
        if (code == in->at && !isspace((unsigned char)*code)) break;
        in->at = code == in->at ? code + 1 : code;
    }
    between->length = (size_t)(in->at - between->start);
    word->start = in->at;
    if (in->at == in->end) return false;
    bool is_word = starts_word(*in->at++);
    while (is_word && in->at < in->end && continues_word(*in->at)) in->at++;
    word->length = (size_t)(in->at - word->start);
    return true;
}

static bool is(const struct word *w, const char *text)
{
    return w->length == strlen(text) && memcmp(w->start, text, w->length) == 0;
}

static bool is_name(const struct word *w)
{
    return isalpha((unsigned char)*w->start) || *w->start == '_' || *w->start == '$';
}

/* ---- names ---- */

static void note_suffix(CUlinkState s, const struct word *name)
{
    size_t digits = 0;
    while (digits < name->length && isdigit((unsigned char)name->start[name->length - digits - 1])) digits++;
    if (digits == 0 || digits > 9 || digits == name->length || name->start[name->length - digits - 1] != '$') return;
    unsigned n = (unsigned)strtoul(name->start + name->length - digits, NULL, 10);
    if (n > s->suffixes) s->suffixes = n;
}

static bool add_name(CUlinkState s, struct input *in, const struct word *name, bool own)
{
    if (in->count == in->room) {
        size_t room = in->room ? 2 * in->room : 16;
        struct name *more = rt_realloc(in->names, room * sizeof *more);
        if (!more) return false;
        in->names = more;
        in->room = room;
    }
    in->names[in->count++] = (struct name){.word = *name, .input = (unsigned)(in - s->inputs), .own = own};
    note_suffix(s, name);
    return true;
}

static bool find_names(CUlinkState s, struct input *in)
{
    struct word between, word, name = {0};
    int braces = 0, parentheses = 0;
    bool own = true, declares = false, ok = true;
    while (ok && next_word(in, &between, &word)) {
        char c = word.length == 1 ? *word.start : 0;
        if (c == '{') braces++;
        if (c == '(') parentheses++;
        if (c == ')') parentheses--;
        if (braces == 0 && parentheses == 0) {
            if (is(&word, ".visible") || is(&word, ".extern") || is(&word, ".weak") || is(&word, ".common") ||
                is(&word, ".entry"))
                own = false;
            if (is(&word, ".func") || is(&word, ".entry") || is(&word, ".global") || is(&word, ".const"))
                declares = true;
            if (declares && !name.start && is_name(&word)) name = word;
        }
        if (c == '}') braces--;
        if (braces == 0 && (c == ';' || c == '}')) { /* the declaration ends */
            if (declares && name.start) ok = add_name(s, in, &name, own);
            name.start = NULL;
            own = true;
            declares = false;
        }
    }
    in->at = in->text;
    return ok;
}

static int compare_words(const struct word *a, const struct word *b)
{
    size_t both = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->start, b->start, both);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* By name; of those with one name, the one that keeps it comes first. */
static int compare_names(const void *a, const void *b)
{
    const struct name *x = *(struct name *const *)a, *y = *(struct name *const *)b;
    int order = compare_words(&x->word, &y->word);
    if (order == 0) order = x->own - y->own;
    return order ? order : (x->input > y->input) - (x->input < y->input);
}

/* Marks the names that a text has for itself and another text has, too. */
static bool find_renamed(CUlinkState s)
{
    size_t count = 0, n = 0;
    for (unsigned i = 0; i < s->count; i++) count += s->inputs[i].count;
    struct name **all = rt_alloc((count + 1) * sizeof *all);
    if (!all) return false;
    for (unsigned i = 0; i < s->count; i++) {
        for (size_t k = 0; k < s->inputs[i].count; k++) all[n++] = &s->inputs[i].names[k];
    }
    qsort(all, count, sizeof(struct name *), compare_names);
    const struct name *keeper = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!keeper || compare_words(&keeper->word, &all[i]->word) != 0) keeper = all[i];
        all[i]->renamed = all[i]->own && all[i]->input != keeper->input;
    }
    free(all);
    return true;
}

/* Puts those of an input first. */
static void gather_renamed(struct input *in)
{
    in->renamed = 0;
    for (size_t i = 0; i < in->count; i++) {
        struct name name = in->names[i];
        if (!name.renamed) continue;
        in->names[i] = in->names[in->renamed];
        in->names[in->renamed++] = name;
    }
}

static bool is_renamed(const struct input *in, const struct word *w)
{
    for (size_t i = 0; i < in->renamed; i++) {
        if (compare_words(&in->names[i].word, w) == 0) return true;
    }
    return false;
}

/* ---- the whole text ---- */

static void put_file_number(CUlinkState s, struct input *in, const struct word *word)
{
    char number[16];
    unsigned n = (unsigned)strtoul(word->start, NULL, 10);
    if (n > in->last_file) in->last_file = n;
    snprintf(number, sizeof number, "%u", s->files + n);
    put(s, number, strlen(number));
}

/* A kernel that says nothing of its registers gets the limit that the linker was given. */
static void put_register_limit(CUlinkState s, const struct word *word, bool *wanted)
{
    char directive[32];
    if (is(word, ".entry")) *wanted = s->jit.registers > 0;
    if (is(word, ".maxnreg")) *wanted = false;
    if (!*wanted || !is(word, "{")) return;
    snprintf(directive, sizeof directive, ".maxnreg %d ", s->jit.registers);
    put(s, directive, strlen(directive));
    *wanted = false;
}

static void copy_text(CUlinkState s, struct input *in)
{
    struct word between, word;
    bool number_next = false, limit_wanted = false;
    while (next_word(in, &between, &word)) {
        char suffix[16];
        put(s, between.start, between.length);
        put_register_limit(s, &word, &limit_wanted);
        if (number_next && isdigit((unsigned char)*word.start)) {
            put_file_number(s, in, &word);
        } else {
            put(s, word.start, word.length);
            if (is_name(&word) && is_renamed(in, &word)) {
                snprintf(suffix, sizeof suffix, "$%u", s->suffixes);
                put(s, suffix, strlen(suffix));
            }
        }
        number_next = is(&word, ".file") || is(&word, ".loc") || is(&word, "inlined_at");
    }
    put(s, between.start, between.length);
    put(s, "\n", 1);
    in->at = in->text;
}

static CUresult make_text(CUlinkState s)
{
    s->length = s->files = 0;
    if (!find_renamed(s)) return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; i < s->count; i++) {
        struct input *in = &s->inputs[i];
        gather_renamed(in);
        s->suffixes++;
        copy_text(s, in);
        s->files += in->last_file;
    }
    return s->no_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* ---- adding a text ---- */

static void free_input(struct input *in)
{
    free(in->text);
    free(in->names);
}

static CUresult add_text(CUlinkState s, const char *text, size_t length)
{
    while (length > 0 && text[length - 1] == '\0') length--;
    if (s->count == s->input_room) {
        unsigned room = s->input_room ? 2 * s->input_room : 8;
        struct input *more = rt_realloc(s->inputs, room * sizeof *more);
        if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
        s->inputs = more;
        s->input_room = room;
    }
    struct input *in = &s->inputs[s->count];
    *in = (struct input){.text = rt_copy_bytes(text, length)};
    if (!in->text) return CUDA_ERROR_OUT_OF_MEMORY;
    in->at = in->text;
    in->end = in->text + length;
    if (!find_names(s, in)) {
        free_input(in);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    s->count++;
    return CUDA_SUCCESS;
}

/* What a program adds is looked at before it is among the others. */
static CUresult add_ptx(CUlinkState s, const char *text, size_t length, struct rt_error *e)
{
    struct ptx_module *ptx;
    TRY(simt_read_ptx(text, length, &ptx, e));
    ptx_free(ptx);
    return add_text(s, text, length);
}

static CUresult add_image(CUlinkState s, const void *data, size_t size, struct rt_error *e)
{
    enum simt_image kind = size < 4 ? SIMT_IMAGE_TEXT : simt_image_kind(data);
    if (kind == SIMT_IMAGE_TEXT) return add_ptx(s, data, size, e);
    if (kind == SIMT_IMAGE_ELF) {
        rt_fail(e, RT_UNSUPPORTED, "the software GPU links PTX only; this is binary code for a GPU");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    char *text = simt_fatbin_ptx(data, e);
    CUresult r = text                    ? add_ptx(s, text, strlen(text), e)
                 : e->status == RT_NOMEM ? CUDA_ERROR_OUT_OF_MEMORY
                                         : CUDA_ERROR_NO_BINARY_FOR_GPU;
    free(text);
    return r;
}

/* An archive is accepted when it is the device runtime's, which is known by its name. */
static bool is_device_runtime(CUjitInputType type, const char *name)
{
    return type == CU_JIT_INPUT_LIBRARY && name && strstr(name, "cudadevrt");
}

static CUresult add_device_runtime(CUlinkState s)
{
    if (s->has_runtime) return CUDA_SUCCESS;
    s->has_runtime = true;
    return add_text(s, grid_sync, sizeof grid_sync);
}

/* ---- the calls ---- */

static CUresult check_link(CUlinkState state)
{
    TRY(simt_ready());
    return simt_handle_is(state, SIMT_LINK) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkCreate_v2(unsigned int count, CUjit_option *options, void **values, CUlinkState *state)
{
    struct simt_jit jit;
    TRY(simt_ready());
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    TRY(simt_jit_options(count, options, values, &jit));
    CUlinkState s = rt_calloc(1, sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    s->jit = jit;
    if (!simt_handle_add(s, SIMT_LINK)) {
        free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *state = s;
    return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                          unsigned int count, CUjit_option *options, void **values)
{
    struct simt_jit unused;
    TRY(check_link(state));
    if (!data || size == 0 || type >= CU_JIT_NUM_INPUT_TYPES) return CUDA_ERROR_INVALID_VALUE;
    TRY(simt_jit_options(count, options, values, &unused));
    struct rt_error e = {0};
    CUresult r = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY || type == CU_JIT_INPUT_CUBIN) {
        r = add_image(state, data, size, &e);
    } else if (is_device_runtime(type, name)) {
        r = add_device_runtime(state);
    } else {
        rt_fail(&e, RT_UNSUPPORTED, "the software GPU links PTX only, not objects, archives or NVVM code");
    }
    if (r != CUDA_SUCCESS) rt_error_prefix(&e, "%s: ", name ? name : "input");
    if (e.text) simt_jit_result(&state->jit, e.text, "");
    rt_error_clear(&e);
    return r;
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int count,
                          CUjit_option *options, void **values)
{
    char *text;
    size_t size;
    TRY(check_link(state));
    TRY(libcuda_read_file(path, &text, &size));
    CUresult r = cuLinkAddData_v2(state, type, text, size, path, count, options, values);
    free(text);
    return r;
}

/* Loads the text once, to say now what is wrong with it. */
CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size)
{
    CUmodule trial;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    char log[1024] = "";
    void *values[] = {log, (void *)sizeof log};
    TRY(check_link(state));
    if (!cubin || state->count == 0) return CUDA_ERROR_INVALID_VALUE;
    TRY(make_text(state));
    CUresult r = simt_ModuleLoadDataEx(&trial, state->text, 2, options, values);
    simt_jit_result(&state->jit, log, "");
    if (r != CUDA_SUCCESS) return r;
    simt_ModuleUnload(trial);
    *cubin = state->text;
    if (size) *size = state->length + 1;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
    TRY(check_link(state));
    simt_handle_remove(state, SIMT_LINK);
    for (unsigned i = 0; i < state->count; i++) free_input(&state->inputs[i]);
    free(state->inputs);
    free(state->text);
    free(state);
    return CUDA_SUCCESS;
}
