/* How things look in the terminal: an escape code for each style, from themes for dark and for light backgrounds and
 * from what the user set. Colours are written as "bold red", "bright blue on 236", "#ff8800", "underline", "none". One
 * theme per process, as there is one terminal. */
#ifndef SH_THEME_H
#define SH_THEME_H

#include <stdbool.h>
#include "repl/frame.h"

/* What is no part of a frame has a style, too. */
enum { SH_ERROR = SH_STYLE_COUNT, SH_CALLS, SH_STATUS, SH_THEME_STYLES };

enum { SH_CODE_SIZE = 64 }; /* bytes of an escape code, the NUL included */

enum sh_background { SH_DARK, SH_LIGHT, SH_NO_COLORS };

/* The names of the styles, as users write them; NULL for those that cannot be set. */
extern const char *const sh_style_names[SH_THEME_STYLES];

/* The escape code of a description, for a terminal of that many colours (0: attributes alone); false when it is no
 * description. */
bool sh_theme_code(const char *description, int colors, char code[SH_CODE_SIZE]);

/* The theme from here on, for a background and a terminal of that many colours. `own`, or NULL, has a description, or
 * NULL, "" or "auto", for each style. Until then it is the dark one. */
void sh_theme_choose(enum sh_background background, int colors, const char *const *own);

/* The escape code of a style, "" where nothing is to be done; without colours only what carries meaning. */
const char *sh_style_code(int style, bool color);

/* What is known of the terminal's background: by COLORFGBG where it is set, else by what the terminal told, else dark.
 */
enum sh_background sh_background(void);
/* The terminal told it. */
void sh_background_told(enum sh_background background);
/* Whether nobody has said it, and the terminal may know. */
bool sh_terminal_has_background(void);

/* How many colours the terminal shows: 0, 16, 256 or 1 << 24, by TERM, COLORTERM, TERM_PROGRAM and NO_COLOR. */
int sh_colors(void);

/* Whether its font has 256 characters: it is the Linux console. */
bool sh_few_glyphs(void);

#endif
