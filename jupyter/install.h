/* The kernelspec: the folder by which Jupyter finds and starts this kernel. Beside it, what colours its cells. */
#ifndef JP_INSTALL_H
#define JP_INSTALL_H

#include <stddef.h>
#include "runtime/status.h"

/* Writes kernel.json and the logos below PREFIX/share/jupyter/kernels/lunarray, or the user's data folder when prefix
 * is NULL, and JupyterLab's extension beside that, labextensions/lunarray. The spec starts `command`, or this binary
 * when NULL. *folder gets the path of the spec, to be freed. */
enum rt_status jp_install(const char *prefix, const char *command, char **folder, struct rt_error *e);

/* A name for a connection file in the user's runtime folder, which is made when missing; to be freed. */
char *jp_runtime_file(struct rt_error *e);

/* logo.c: the logo as an SVG text, and drawn as a PNG of the given width and height; *data is to be freed. False when
 * out of memory. */
extern const char jp_logo_svg[];
int jp_logo_png(int size, unsigned char **data, size_t *length);

#endif
