/* Bytes from a terminal to key events. The decoder is pure: it is fed bytes in any pieces and keeps what is unfinished.
 * A lone Escape can't be told from the start of a sequence, so the caller waits a little and then calls
 * sh_decoder_flush. */
#ifndef SH_KEYS_H
#define SH_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sh_key_kind {
    SH_KEY_NONE, /* no event yet, or a sequence that means nothing here */
    SH_KEY_TEXT, /* `c`; with ctrl or alt a command */
    SH_KEY_ENTER,
    SH_KEY_TAB,
    SH_KEY_BACKSPACE,
    SH_KEY_DELETE,
    SH_KEY_UP,
    SH_KEY_DOWN,
    SH_KEY_LEFT,
    SH_KEY_RIGHT,
    SH_KEY_HOME,
    SH_KEY_END,
    SH_KEY_PAGE_UP,
    SH_KEY_PAGE_DOWN,
    SH_KEY_ESCAPE,
};

struct sh_key {
    enum sh_key_kind kind;
    int32_t c; /* the code point of SH_KEY_TEXT; with ctrl the lower-case letter or one of @[\]^_ */
    bool ctrl, alt, shift;
    bool pasted; /* part of a bracketed paste: to be inserted, whatever it is */
};

struct sh_decoder { /* starts as all zeros */
    unsigned char state;
    bool alt; /* an Escape came before */
    bool pasting;
    unsigned char utf8[4]; /* an unfinished character */
    unsigned char utf8_have, utf8_need;
    unsigned short params[4]; /* of a control sequence */
    unsigned char param_count;
    bool is_private; /* it began with one of <=>? */
    bool after_cr;   /* in a paste: a newline now belongs to the carriage return before it */
    /* Answers of the terminal, which are no keys. Whoever looks at them sets these to false. */
    bool replied;    /* `reply` is what was between ESC ] and its end */
    bool identified; /* it told its attributes: ESC [ ? ... c */
    char reply[48];
    unsigned char reply_length; /* while it is not complete */
};

/* Feeds one byte. True: *key holds an event. */
bool sh_decode(struct sh_decoder *d, unsigned char byte, struct sh_key *key);
/* True while an Escape may be the whole key or the start of a sequence. */
bool sh_decoder_waiting(const struct sh_decoder *d);
/* No more came in time: gives the Escape (or Alt-[ and the like) as a key; true when there was one. */
bool sh_decoder_flush(struct sh_decoder *d, struct sh_key *key);

#endif
