#include "runtime/guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include "runtime/memory.h"

#define STACK 65536 /* bytes for the handler of a thread whose own stack is full */

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define FAULTS (sizeof faults / sizeof *faults)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int guarded; /* threads */
static struct sigaction former[FAULTS];
static _Thread_local sigjmp_buf *escape;

/* A fault that is nobody's here does what it did before. */
static void pass_on(size_t which, siginfo_t *info, void *context)
{
    const struct sigaction *was = &former[which];
    if (was->sa_flags & SA_SIGINFO) {
        was->sa_sigaction(faults[which], info, context);
    } else if (was->sa_handler != SIG_DFL && was->sa_handler != SIG_IGN) {
        was->sa_handler(faults[which]);
    } else {
        signal(faults[which], SIG_DFL);
        raise(faults[which]);
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    if (escape) siglongjmp(*escape, number);
    for (size_t k = 0; k < FAULTS; k++)
        if (faults[k] == number) pass_on(k, info, context);
}

/* For the first thread that is guarded, and back for the last. */
static void handle_faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < FAULTS && !guarded; k++) sigaction(faults[k], &action, &former[k]);
    guarded++;
    pthread_mutex_unlock(&lock);
}
static void handle_no_more(void)
{
    pthread_mutex_lock(&lock);
    guarded--;
    for (size_t k = 0; k < FAULTS && !guarded; k++) {
        struct sigaction now;
        if (sigaction(faults[k], NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
            sigaction(faults[k], &former[k], NULL);
    }
    pthread_mutex_unlock(&lock);
}

int rt_guarded(void (*f)(void *context), void *context)
{
    sigjmp_buf place;
    stack_t there;
    char *volatile stack = NULL; /* a thread that has one for handlers keeps it */
    if (sigaltstack(NULL, &there) == 0 && there.ss_flags & SS_DISABLE && (stack = rt_alloc(STACK)))
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK}, NULL);
    handle_faults();
    const int number = sigsetjmp(place, 1);
    if (number == 0) {
        escape = &place;
        f(context);
    }
    escape = NULL;
    handle_no_more();
    if (stack) sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(stack);
    return number;
}

void rt_hold_signals(sigset_t *before)
{
    sigset_t others;
    sigfillset(&others);
    sigdelset(&others, SIGTRAP);
    for (size_t k = 0; k < FAULTS; k++) sigdelset(&others, faults[k]);
    pthread_sigmask(SIG_SETMASK, &others, before);
}
