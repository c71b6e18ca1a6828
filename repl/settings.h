/* The user's settings: the Lua table `shell`, whose fields are checked when they are set, and the file init.lua that
 * sets them before the first cell. One set per process, as there is one terminal. */
#ifndef SH_SETTINGS_H
#define SH_SETTINGS_H

#include "lang/session.h"
#include "repl/keymap.h"
#include "repl/output.h"
#include "repl/theme.h"

enum sh_pictures {
    SH_PICTURES_AUTO, /* what the terminal can do */
    SH_PICTURES_KITTY,
    SH_PICTURES_ITERM2,
    SH_PICTURES_SIXEL,
    SH_PICTURES_BLOCKS,     /* half blocks in colours of 24 bits */
    SH_PICTURES_BLOCKS_256, /* the same in the 256 colours of older terminals */
    SH_PICTURES_BLOCKS_8,   /* in the eight that the Linux console has behind text */
    SH_PICTURES_NONE,       /* a line of text */
};

struct sh_settings {
    char prompt[64]; /* {n} stands for the cell's number */
    bool vi, status;
    char pager[256]; /* "auto", "" for none, or a command */
    enum sh_pictures images;
    struct sh_keymap keys; /* what the user has bound */
};

extern const struct sh_settings *const sh_settings;

/* Makes the global table `shell`, with what is set at the start; for struct lg_options. */
int sh_open_settings(struct lua_State *L);

/* Whether the colours go by the terminal's background, and what the terminal says of it: true when they are others now.
 */
bool sh_settings_follow_background(void);
bool sh_settings_background(enum sh_background background);

/* Runs the user's init.lua, if there is one: $XDG_CONFIG_HOME/lunarray/init.lua, else that below ~/.config. An error is
 * shown, and the session goes on. */
void sh_run_init(struct lg_session *s, struct sh_output *out);

#endif
