/* How near two names are to each other, for messages that say "did you mean". */
#ifndef RT_SPELLING_H
#define RT_SPELLING_H

/* How many letters must change, or neighbours change places, to make one word of the other, up to a limit that is "very
 * different". */
int rt_spelling_distance(const char *a, const char *b);

#endif
