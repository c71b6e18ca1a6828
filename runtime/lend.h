/* What a thread owns, lent to another one for the time of a long call. The session's thread owns its interpreter; while
 * it sorts, waits for a GPU or for a compiler, it needs nothing of it, and who has a question for the interpreter need
 * not wait until the call is over.
 *
 * Whatever here or above can take long lends: parallel work, launches, compilers, waits, readers of files. Threads that
 * own nothing do nothing there. Who takes must be quick, and must take no lock that a long call may hold. */
#ifndef RT_LEND_H
#define RT_LEND_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum rt_loan_state { RT_KEPT, RT_LENT, RT_TAKEN };

struct rt_loan {
    void (*offer)(void *context); /* called on the owner's thread each time that it begins to lend */
    void *context;
    int depth; /* of long calls; the owner's own */
    atomic_int state;
    pthread_mutex_t lock; /* for the owner that waits to get it back */
    pthread_cond_t returned;
};
#define RT_LOAN_INIT                                                                                                   \
    {                                                                                                                  \
        .lock = PTHREAD_MUTEX_INITIALIZER, .returned = PTHREAD_COND_INITIALIZER                                        \
    }

/* What the calling thread owns; NULL: nothing. */
extern _Thread_local struct rt_loan *rt_owned;

/* Around a long call; they nest. The second one waits until what was taken is given back. */
void rt_loan_begin(struct rt_loan *l);
void rt_loan_end(struct rt_loan *l);
static inline void rt_lend(void)
{
    if (rt_owned) rt_loan_begin(rt_owned);
}
static inline void rt_lend_end(void)
{
    if (rt_owned) rt_loan_end(rt_owned);
}

/* From another thread: false when it is not lent now. */
bool rt_take(struct rt_loan *l);
void rt_give_back(struct rt_loan *l);

#endif
