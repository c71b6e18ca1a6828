/* What ended a kernel on the software GPU, in the words of its source. */
#ifndef RT_FAULT_H
#define RT_FAULT_H

#include "runtime/kernel.h"
#include "runtime/report.h"
#include "runtime/simt/simt.h"

/* Fills e: file and line, what happened, the line of source with a caret where it is known, kernel, block and thread;
 * of an address near an array of the arguments which element that is, of a null pointer its name where the line has one
 * only that is followed. *findings, when not NULL, gets the place and the thread, unless the kernel was interrupted.
 * Returns RT_FAULT, or what fits the fault better. */
enum rt_status rt_fault_report(const struct rt_kernel *k, const struct rt_arg *args, const struct simt_fault *f,
                               struct rt_findings *findings, struct rt_error *e);

#endif
