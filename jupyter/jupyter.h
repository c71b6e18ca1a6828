/* The notebook face: `lunarray jupyter install [--user|--prefix DIR]`, `lunarray jupyter start -f FILE` and `lunarray
 * notebook [DIR]`. repl/main.c hands over the arguments behind that word; the result is the exit status. */
#ifndef JP_JUPYTER_H
#define JP_JUPYTER_H

int jp_main(int argc, char **argv);
int jp_notebook(int argc, char **argv);

#endif
