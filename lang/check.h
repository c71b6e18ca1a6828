/* Checked launches: gpu.check and the option `check` of a launch. */
#ifndef LG_CHECK_H
#define LG_CHECK_H

#include "lang/kernel.h"
#include "runtime/report.h"

/* Whether checks are on when a shell or a notebook starts; in scripts they are off. By `make bench T=simt` they take up
 * to 3.5 times as long on the kernels that courses begin with, but 4 to 6 times where rows begin within lines, and 7 to
 * 10 where threads write scattered places or pass values by __syncwarp: on by default they would make such a session's
 * times puzzling, and asking for them is one word. */
#define LG_CHECK_SESSIONS false

/* Whether launches are checked that do not say otherwise; they are not at first. */
void lg_enable_checks(lua_State *L, bool on);

/* Launches. With checks it raises what they found, or adds it to the list that gpu.check(f) gives. [raises] */
int lg_run_call(lua_State *L, struct lg_call *call, enum lg_checked checked);

/* lang/check_html.c: makes the list of findings at the top show itself as text and HTML. [raises] */
void lg_set_findings(lua_State *L);

/* Adds gpu.check to the gpu table on top of the stack. [raises] */
void lg_open_check(lua_State *L);

#endif
