/* Writing CUDA C and running it: a growing text, the pieces that all generated kernels are made of, and the table of
 * compiled ones. A generated kernel takes one struct by value, so nothing of sizes, strides or numbers is in the text
 * and one compilation serves all calls of the same structure. */
#ifndef KN_GENERATE_H
#define KN_GENERATE_H

#include "kernels/program.h"
#include "runtime/kernel.h"

#define KN_THREADS 256 /* of every generated block */

/* Text that grows; `failed` stays set once memory has run out, and is looked at once at the end. Release with
 * kn_text_free. Starts as all zeros. */
struct kn_text {
    char *data;
    size_t length, capacity;
    bool failed;
};
void kn_put(struct kn_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kn_text_free(struct kn_text *t);

/* The C type that an element of dtype t has in a device's memory, e.g. "unsigned short" for float16. */
const char *kn_memory_type(enum rt_dtype t);
/* The expression that loads element `pointer[index]` as a value of its class, and the statement that stores one. */
void kn_put_load(struct kn_text *t, enum rt_dtype dtype, const char *pointer, const char *index);
void kn_put_store(struct kn_text *t, enum rt_dtype dtype, const char *pointer, const char *index, const char *value);
/* The expression that converts `value` of a class to a dtype. */
void kn_put_convert(struct kn_text *t, enum kn_class from, enum rt_dtype to, const char *value);
/* The statement `result = op(args)` for values computed in a class; rounded to `dtype`. */
void kn_put_op(struct kn_text *t, enum kn_op op, enum kn_class class, enum rt_dtype dtype, const char *result,
               const char *const *args);
/* The struct argument, filled in the order of its members; every member takes 8 bytes. */
#define KN_MAX_WORDS 448
struct kn_words {
    size_t count;
    uint64_t word[KN_MAX_WORDS];
};
static inline void kn_word(struct kn_words *w, uint64_t value)
{
    if (w->count < KN_MAX_WORDS) w->word[w->count++] = value;
}
/* A number of a dtype as the 8 bytes that kernels read: double for floating classes, two of them for complex ones, else
 * long long. */
void kn_word_number(struct kn_words *w, enum rt_dtype t, const struct kn_operand *number);

/* The pieces of a program inside a kernel whose argument is p. The members that it reads: a0, a1, ... for the leaves
 * and c0, ... for numbers, by node; kn_word_program fills them. The statement that computes node i as r<i>; an array's
 * element is pointer[index]. */
void kn_put_members(struct kn_text *t, const struct kn_program *p);
void kn_word_program(struct kn_words *w, const struct kn_program *p);
void kn_put_node(struct kn_text *t, const struct kn_program *p, int i, const char *pointer, const char *index);
/* What the texts of nodes depend on, as part of a key. */
struct kn_node_key {
    uint8_t kind, dtype, op, leaf, args[3];
};
void kn_node_keys(const struct kn_program *p, struct kn_node_key *keys);

/* The kernel of a program that is evaluated into a new array, without those functions. */
enum rt_status kn_program_source(const struct kn_program *p, struct kn_text *t, struct rt_error *e);

/* The kernel `kn` of a generated text, over blocks of KN_THREADS threads. The key says which text: on its first use on
 * a device write(context, text) makes the text, which is compiled with the functions that it calls, and kept. */
struct kn_launch {
    const void *key;
    size_t key_bytes;
    void (*write)(const void *context, struct kn_text *t);
    const void *context;
    const struct kn_words *words;
    bool contract;  /* a * b + c may be rounded once: for what promises no bits */
    int64_t blocks; /* cut to what fills the device: kernels loop over their work */
};
enum rt_status kn_launch(struct rt_device *d, const struct kn_launch *l, struct rt_error *e);
/* How many kernels were compiled or taken from the disk cache so far, how many were launched, and how often something
 * was compiled in a hurry (for tests). */
size_t kn_generated_count(void);
size_t kn_launched_count(void);
size_t kn_hurried_count(void);

/* Kernels that are compiled in the background while others serve: those of other programs or, where there are none, one
 * that is compiled in a hurry. On which devices: LUNARRAY_COMPILE says "background", "wait" or "hurry"; else on GPUs,
 * but not where the software GPU runs generated code for tests. */
bool kn_in_background(const struct rt_device *d);
void kn_force_background(int on); /* for tests: 0 or 1; -1 asks the environment again */
/* Launching waits for no compiler: the kernel or one that serves is there, or it is on the disk and now there, or
 * cannot be compiled, which launching tells. `words` and `blocks` do not matter. */
bool kn_is_ready(struct rt_device *d, const struct kn_launch *l);
/* Has it compiled in the background, once; false when there is no background. */
bool kn_make_ready(struct rt_device *d, const struct kn_launch *l);

/* Kernels of launches that follow, of which only key, text and `contract`, which is one for all, matter: those that
 * would be waited for are compiled together, which takes little longer than one. */
#define KN_MOST_TOGETHER 8
void kn_hurry_together(struct rt_device *d, const struct kn_launch *const *l, int count);

/* A program operation by operation, each by a kernel that serves any layout: to the same bits, only slower. The kernels
 * are few, and once compiled on the disk for good. Both take what kn_cuda_run does. */
bool kn_apart_is_ready(const struct kn_program *p, const struct rt_array *out);
void kn_apart_make_ready(const struct kn_program *p, const struct rt_array *out);
enum rt_status kn_apart_run(const struct kn_program *p, const struct rt_array *out, struct rt_error *e);
size_t kn_apart_count(void); /* programs that were run so (for tests) */
/* A program's own kernel, or one that serves any layout of its arrays. */
enum kn_layouts { KN_LAYOUT_OWN, KN_LAYOUT_ANY };
bool kn_cuda_is_ready(const struct kn_program *p, const struct rt_array *out, enum kn_layouts layouts);
bool kn_cuda_make_ready(const struct kn_program *p, const struct rt_array *out, enum kn_layouts layouts);
enum rt_status kn_cuda_launch(const struct kn_program *p, const struct rt_array *out, enum kn_layouts layouts,
                              struct rt_error *e);

#endif
