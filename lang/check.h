/* Checked launches: gpu.check and the option `check` of a launch. */
#ifndef LG_CHECK_H
#define LG_CHECK_H

#include "lang/kernel.h"
#include "runtime/report.h"

/* What becomes of launches that do not say themselves whether they are checked. LG_CHECKS_SESSION, which shells and
 * notebooks begin with: those on the software GPU are, except while somebody takes the time. What that costs is said by
 * `?gpu.check` and measured by `make bench T=simt` and `T=checks`: mostly milliseconds for a million threads, and what
 * is wrong is found before it is looked for. */
enum lg_checks { LG_CHECKS_OFF, LG_CHECKS_SESSION, LG_CHECKS_ON };
void lg_set_checks(lua_State *L, enum lg_checks checks); /* off at first */

/* Pushes a value that is to be closed (lua_closeslot, or the end of the C function): until then launches are checked
 * only where somebody asked for it. [raises] */
void lg_pause_checks(lua_State *L);

/* Launches. With checks it raises what they found, or adds it to the list that gpu.check(f) gives. [raises] */
int lg_run_call(lua_State *L, struct lg_call *call);

/* The same for the launches of a graph, which *g is to hold meanwhile, in the stream, NULL for the default one.
 * [raises] */
struct rt_graph;
void lg_run_graph(lua_State *L, struct rt_graph **g, struct rt_stream *s);

/* lang/check_html.c: makes the list of findings at the top show itself as text and HTML. [raises] */
void lg_set_findings(lua_State *L);

/* Adds gpu.check to the gpu table on top of the stack. [raises] */
void lg_open_check(lua_State *L);

#endif
