/* The notebook face: `lunarray jupyter install [--user|--prefix DIR]` and `lunarray jupyter start -f FILE`.
 * repl/main.c hands the arguments after "jupyter" over; the result is the exit status. */
#ifndef JP_JUPYTER_H
#define JP_JUPYTER_H

int jp_main(int argc, char **argv);

#endif
