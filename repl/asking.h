/* What the terminal is asked when the first prompt stands there: whether its background is light. The answer comes
 * among the keys, soon, late or never; nobody waits for it but who is about to let others read from the terminal, and
 * they only for a moment. */
#ifndef SH_ASKING_H
#define SH_ASKING_H

#include <stdbool.h>
#include <stddef.h>
#include "repl/keys.h"

/* Asks, once, a terminal that may know, where the colours go by the answer. It is in raw mode. */
void sh_ask(void);
/* No question is asked from here on. */
void sh_ask_nothing(void);
/* Looks at what the decoder has met; true when the colours are others now. */
bool sh_take_answer(struct sh_decoder *d);
/* Before the terminal is restored: an answer that is on its way is waited for, so that others don't read it, with the
 * keys before it. Read is into bytes[0..size), which has *have of them; `from` are used already. */
void sh_await_answer(char *bytes, size_t from, size_t *have, size_t size);

#endif
