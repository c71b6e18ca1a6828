/* The notebook face: `lunarray jupyter install [--user|--prefix DIR]`, `lunarray jupyter start -f FILE` and `lunarray
 * notebook [DIR]`. repl/main.c hands over the arguments behind that word; the result is the exit status. */
#ifndef JP_JUPYTER_H
#define JP_JUPYTER_H

#include <jansson.h>

#define JP_DISPLAY_NAME "Lua (lunarray)"

int jp_main(int argc, char **argv);
int jp_notebook(int argc, char **argv);

/* The content of kernel_info_reply; a new reference, NULL when memory is lacking. */
json_t *jp_kernel_info(void);

#endif
