#include "repl/keys.h"

#include <string.h>
#include "repl/text.h"

enum state {
    GROUND,
    ESCAPE,      /* ESC */
    CONTROL,     /* ESC [ : a control sequence with parameters */
    SINGLE,      /* ESC O : one letter */
    CONSOLE,     /* ESC [ [ : a function key of the Linux console, one letter */
    TEXT_STRING, /* ESC ] and the like: a reply of the terminal, up to BEL or ESC \ */
    STRING_END,  /* the ESC that may end it */
};

enum { ESC = 27, PASTE_BEGIN = 200, PASTE_END = 201 };

static bool emit(struct sh_decoder *d, struct sh_key *key, enum sh_key_kind kind)
{
    key->kind = kind;
    key->alt |= d->alt;
    d->alt = false;
    d->state = GROUND;
    return kind != SH_KEY_NONE;
}

static bool emit_text(struct sh_decoder *d, struct sh_key *key, int32_t c)
{
    key->c = c;
    return emit(d, key, SH_KEY_TEXT);
}

/* Control bytes outside pastes. */
static bool control_byte(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    switch (byte) {
    case '\r':
    case '\n': return emit(d, key, SH_KEY_ENTER);
    case '\t': return emit(d, key, SH_KEY_TAB);
    case 8:
    case 127: return emit(d, key, SH_KEY_BACKSPACE);
    }
    key->ctrl = true;
    return emit_text(d, key, byte >= 1 && byte <= 26 ? 'a' + byte - 1 : '@' + byte);
}

/* What a paste holds is text: line ends become newlines, other control characters but tabs are dropped. */
static bool pasted_byte(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    bool second = byte == '\n' && d->after_cr;
    d->after_cr = byte == '\r';
    if (second) return false;
    key->pasted = true;
    if (byte == '\r' || byte == '\n') return emit_text(d, key, '\n');
    if (byte == '\t') return emit_text(d, key, '\t');
    return false;
}

/* The first byte of a character of several; false when no character starts with it. */
static bool begin_utf8(struct sh_decoder *d, unsigned char byte)
{
    int need = byte >= 0xF0 && byte < 0xF5 ? 4 : byte >= 0xE0 && byte < 0xF0 ? 3 : byte >= 0xC2 && byte < 0xE0 ? 2 : 0;
    d->utf8[0] = byte;
    d->utf8_have = 1;
    d->utf8_need = (unsigned char)need;
    return need != 0;
}

static bool plain_byte(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    if (byte < 32 || byte == 127) return d->pasting ? pasted_byte(d, byte, key) : control_byte(d, byte, key);
    d->after_cr = false;
    key->pasted = d->pasting;
    if (byte < 128) return emit_text(d, key, byte);
    return begin_utf8(d, byte) ? false : emit_text(d, key, 0xFFFD);
}

/* A byte while a character of several is unfinished. What is broken gives way to a byte below 128, which is a key of
 * its own, and becomes U+FFFD before anything else. */
static bool utf8_byte(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    if (byte < 128 && byte != ESC) {
        d->utf8_need = 0;
        return plain_byte(d, byte, key);
    }
    key->pasted = d->pasting;
    if ((byte & 0xC0) != 0x80) {
        emit_text(d, key, 0xFFFD);
        d->utf8_need = 0;
        if (byte == ESC)
            d->state = ESCAPE;
        else
            begin_utf8(d, byte);
        return true;
    }
    d->utf8[d->utf8_have++] = byte;
    if (d->utf8_have < d->utf8_need) return false;
    size_t size;
    int32_t c = sh_code_point((const char *)d->utf8, d->utf8_have, 0, &size);
    d->utf8_need = 0;
    return emit_text(d, key, c);
}

static void modifiers(struct sh_key *key, unsigned value)
{
    if (value < 2) return;
    value--;
    key->shift = value & 1;
    key->alt = value & 2;
    key->ctrl = value & 4;
}

/* A key given by its code point, as terminals with extended keyboards do. */
static bool coded_key(struct sh_decoder *d, struct sh_key *key, unsigned code)
{
    switch (code) {
    case 9: return emit(d, key, SH_KEY_TAB);
    case 13: return emit(d, key, SH_KEY_ENTER);
    case 27: return emit(d, key, SH_KEY_ESCAPE);
    case 8:
    case 127: return emit(d, key, SH_KEY_BACKSPACE);
    }
    if (code < 32) return emit(d, key, SH_KEY_NONE);
    return emit_text(d, key, (int32_t)code);
}

static enum sh_key_kind letter_key(unsigned char letter)
{
    switch (letter) {
    case 'A': return SH_KEY_UP;
    case 'B': return SH_KEY_DOWN;
    case 'C': return SH_KEY_RIGHT;
    case 'D': return SH_KEY_LEFT;
    case 'H': return SH_KEY_HOME;
    case 'F': return SH_KEY_END;
    }
    return SH_KEY_NONE;
}

static enum sh_key_kind numbered_key(unsigned number)
{
    switch (number) {
    case 1:
    case 7: return SH_KEY_HOME;
    case 4:
    case 8: return SH_KEY_END;
    case 3: return SH_KEY_DELETE;
    case 5: return SH_KEY_PAGE_UP;
    case 6: return SH_KEY_PAGE_DOWN;
    }
    return SH_KEY_NONE;
}

static bool sequence_end(struct sh_decoder *d, unsigned char final, struct sh_key *key)
{
    unsigned first = d->params[0], second = d->params[1];
    if (d->is_private && final == 'c') d->identified = true;
    if (d->is_private) return emit(d, key, SH_KEY_NONE);
    if (final == '~' && (first == PASTE_BEGIN || first == PASTE_END)) {
        d->pasting = first == PASTE_BEGIN;
        d->after_cr = false;
        return emit(d, key, SH_KEY_NONE);
    }
    if (d->pasting) return emit(d, key, SH_KEY_NONE);
    modifiers(key, second);
    if (final == '~' && first == 27) return coded_key(d, key, d->params[2]);
    if (final == 'u') return coded_key(d, key, first);
    if (final == 'Z') {
        key->shift = true;
        return emit(d, key, SH_KEY_TAB);
    }
    return emit(d, key, final == '~' ? numbered_key(first) : letter_key(final));
}

static bool sequence_byte(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    if (byte >= '0' && byte <= '9') {
        unsigned short *p = &d->params[d->param_count];
        if (*p < 6000) *p = (unsigned short)(*p * 10 + byte - '0');
        return false;
    }
    if (byte == ';' || byte == ':') {
        if (d->param_count + 1u < sizeof d->params / sizeof *d->params) d->param_count++;
        return false;
    }
    if (byte == '[' && d->param_count == 0 && d->params[0] == 0) {
        d->state = CONSOLE;
        return false;
    }
    if (byte >= '<' && byte <= '?') {
        d->is_private = true;
        return false;
    }
    if (byte >= 0x20 && byte < 0x40) return false; /* intermediate bytes mean nothing to us */
    if (byte < 0x20 || byte > 0x7E) {              /* not a sequence after all */
        emit(d, key, SH_KEY_NONE);
        if (byte != ESC) return plain_byte(d, byte, key);
        d->state = ESCAPE;
        return false;
    }
    return sequence_end(d, byte, key);
}

static bool escape_byte(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    memset(d->params, 0, sizeof d->params);
    d->param_count = 0;
    d->is_private = false;
    switch (byte) {
    case '[': d->state = CONTROL; return false;
    case 'O': d->state = SINGLE; return false;
    case ']':
    case 'P':
    case '_':
        d->state = TEXT_STRING;
        d->is_private = byte != ']';
        d->reply_length = 0;
        d->replied = false;
        return false;
    case ESC: d->alt = true; return false; /* Alt with a key that has a sequence, from some terminals */
    }
    d->state = GROUND;
    if (!d->pasting) d->alt = true;
    return plain_byte(d, byte, key);
}

static bool string_end(struct sh_decoder *d, struct sh_key *key)
{
    d->reply[d->reply_length] = '\0';
    d->reply_length = 0;
    d->replied = !d->is_private;
    return emit(d, key, SH_KEY_NONE);
}

static bool string_byte(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    if (byte == ESC) d->state = STRING_END;
    if (byte == 7) return string_end(d, key);
    if (byte < 32 && byte != ESC) { /* somebody who types had begun it */
        d->reply_length = 0;
        emit(d, key, SH_KEY_NONE);
        return plain_byte(d, byte, key);
    }
    if (byte != ESC && d->reply_length + 1u < sizeof d->reply) d->reply[d->reply_length++] = (char)byte;
    return false;
}

bool sh_decode(struct sh_decoder *d, unsigned char byte, struct sh_key *key)
{
    *key = (struct sh_key){0};
    switch ((enum state)d->state) {
    case GROUND:
        if (d->utf8_need) return utf8_byte(d, byte, key);
        if (byte != ESC) return plain_byte(d, byte, key);
        d->state = ESCAPE;
        return false;
    case ESCAPE: return escape_byte(d, byte, key);
    case CONTROL: return sequence_byte(d, byte, key);
    case SINGLE: return emit(d, key, d->pasting ? SH_KEY_NONE : letter_key(byte));
    case CONSOLE: return emit(d, key, SH_KEY_NONE);
    case TEXT_STRING: return string_byte(d, byte, key);
    case STRING_END:
        if (byte == '\\') return string_end(d, key);
        d->state = byte == ESC ? STRING_END : TEXT_STRING;
        return false;
    }
    return false;
}

bool sh_decoder_waiting(const struct sh_decoder *d)
{
    return d->state != GROUND && !d->pasting;
}

bool sh_decoder_flush(struct sh_decoder *d, struct sh_key *key)
{
    *key = (struct sh_key){0};
    enum state state = d->state;
    if (!sh_decoder_waiting(d)) return false;
    if (state == ESCAPE) {
        bool twice = d->alt;
        d->alt = false;
        key->alt = twice;
        return emit(d, key, SH_KEY_ESCAPE);
    }
    /* An answer comes in pieces where the line is slow. */
    if ((state == TEXT_STRING || state == STRING_END) && d->reply_length > 0) return false;
    bool begun = state == CONTROL && d->param_count == 0 && d->params[0] == 0 && !d->is_private;
    if (state == SINGLE || begun) {
        d->alt = true;
        return emit_text(d, key, state == SINGLE ? 'O' : '[');
    }
    return emit(d, key, SH_KEY_NONE);
}
