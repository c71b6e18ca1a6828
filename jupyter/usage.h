/* What the kernel takes of the machine: the answer to usage_request, which front ends show beside a notebook. */
#ifndef JP_USAGE_H
#define JP_USAGE_H

#include <jansson.h>

/* The content of usage_reply; NULL when out of memory. The share of the processors is that since the call before. One
 * thread alone. */
json_t *jp_usage(void);

#endif
