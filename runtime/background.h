/* Work that nobody waits for, such as compiling what will be needed again: one thread of the process runs the jobs in
 * the order in which they came. It starts with the first job. A forked child starts anew, without jobs.
 *
 * When the process exits, the job that runs is awaited and the rest are dropped. But exit() runs the clean-up of the
 * libraries that the job uses first: who is about to call it calls rt_background_pause before. */
#ifndef RT_BACKGROUND_H
#define RT_BACKGROUND_H

#include <stdbool.h>

/* A job is its owner's and stays where it is until `run` has been called, on the thread. */
struct rt_job {
    struct rt_job *next;
    void (*run)(struct rt_job *job);
};

/* False when there is no thread and none could be started: then the job is not taken. Thread-safe. */
bool rt_background(struct rt_job *job);
/* Whether this is that thread. */
bool rt_in_background(void);
/* Returns when all jobs so far have been run. Thread-safe. */
void rt_background_wait(void);
/* Awaits the job that runs; the others stay until there is a new one. Thread-safe. */
void rt_background_pause(void);

#endif
