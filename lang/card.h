/* Cards: how a kernel and a device show themselves in a notebook. */
#ifndef LG_CARD_H
#define LG_CARD_H

#include "lang/kernel.h"

/* How often the kernel was launched, and how the last time. Never raises. */
void lg_launches_text(const struct lg_kernel *k, char *out, size_t size);
/* Pushes the HTML form: what is known of it, and its source with colours. [raises] */
void lg_push_kernel_html(lua_State *L, const struct lg_kernel *k, const char *signature);

/* __display of devices, and of the list of them. */
int lg_display_device(lua_State *L);
int lg_display_devices(lua_State *L);

#endif
