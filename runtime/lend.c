#include "runtime/lend.h"

_Thread_local struct rt_loan *rt_owned;

void rt_loan_begin(struct rt_loan *l)
{
    if (l->depth++) return;
    atomic_store(&l->state, RT_LENT);
    if (l->offer) l->offer(l->context);
}

void rt_loan_end(struct rt_loan *l)
{
    if (--l->depth) return;
    int lent = RT_LENT;
    if (atomic_compare_exchange_strong(&l->state, &lent, RT_KEPT)) return;
    pthread_mutex_lock(&l->lock);
    for (lent = RT_LENT; !atomic_compare_exchange_strong(&l->state, &lent, RT_KEPT); lent = RT_LENT)
        pthread_cond_wait(&l->returned, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

bool rt_take(struct rt_loan *l)
{
    int lent = RT_LENT;
    return atomic_compare_exchange_strong(&l->state, &lent, RT_TAKEN);
}

void rt_give_back(struct rt_loan *l)
{
    pthread_mutex_lock(&l->lock);
    atomic_store(&l->state, RT_LENT);
    pthread_cond_signal(&l->returned);
    pthread_mutex_unlock(&l->lock);
}
