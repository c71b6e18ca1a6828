/* Bytes from a terminal as keys: control keys, UTF-8, escape sequences, pasted text. */
#include "tests/unit/test.h"

#include "repl/keys.h"

/* The events of some bytes, written out: "a C-x A-b Up C-Left <paste>x". */
static const char *decode(const char *bytes, size_t length, bool flush)
{
    static const char *const names[] = {"None", "",      "Enter", "Tab", "Backspace", "Delete",   "Up",    "Down",
                                        "Left", "Right", "Home",  "End", "PageUp",    "PageDown", "Escape"};
    static char out[4096];
    struct sh_decoder d = {0};
    struct sh_key key;
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i <= length; i++) {
        bool got = i < length ? sh_decode(&d, (unsigned char)bytes[i], &key) : flush && sh_decoder_flush(&d, &key);
        if (!got) continue;
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s%s%s%s", n ? " " : "", key.pasted ? "<paste>" : "",
                              key.ctrl ? "C-" : "", key.alt ? "A-" : "", key.shift ? "S-" : "");
        if (key.kind != SH_KEY_TEXT)
            n += (size_t)snprintf(out + n, sizeof out - n, "%s", names[key.kind]);
        else if (key.c > 32 && key.c < 127)
            n += (size_t)snprintf(out + n, sizeof out - n, "%c", (char)key.c);
        else
            n += (size_t)snprintf(out + n, sizeof out - n, "U+%04X", (unsigned)key.c);
    }
    return out;
}
#define DECODE(s)  decode(s, sizeof(s) - 1, false)
#define FLUSHED(s) decode(s, sizeof(s) - 1, true)

TEST(plain_and_control)
{
    CHECK_STR(DECODE("a B"), "a U+0020 B");
    CHECK_STR(DECODE("\x01\x1a\x1f"), "C-a C-z C-_");
    CHECK_STR(DECODE("\0"), "C-@");
    CHECK_STR(DECODE("\r\n\t\x7f\b"), "Enter Enter Tab Backspace Backspace");
}

TEST(utf8)
{
    CHECK_STR(DECODE("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "U+00E9 U+20AC U+1F600");
    CHECK_STR(DECODE("\xFF"), "U+FFFD");
    CHECK_STR(DECODE("\xC3x"), "x");                    /* broken off by a key */
    CHECK_STR(DECODE("\xC3\xC3\xA9"), "U+FFFD U+00E9"); /* by another character */
    CHECK_STR(DECODE("\xE2\x82\033[A"), "U+FFFD Up");   /* by a sequence */
    CHECK_STR(DECODE("\xED\xA0\x80"), "U+FFFD");        /* a surrogate */
    CHECK_STR(DECODE("\xC0\x80"), "U+FFFD U+FFFD");     /* too long */
}

TEST(sequences)
{
    CHECK_STR(DECODE("\033[A\033[B\033[C\033[D\033[H\033[F"), "Up Down Right Left Home End");
    CHECK_STR(DECODE("\033OA\033OH\033OF"), "Up Home End");
    CHECK_STR(DECODE("\033[1~\033[3~\033[4~\033[5~\033[6~\033[7~\033[8~"), "Home Delete End PageUp PageDown Home End");
    CHECK_STR(DECODE("\033[1;5D\033[1;3C\033[1;2A\033[3;5~"), "C-Left A-Right S-Up C-Delete");
    CHECK_STR(DECODE("\033[Z"), "S-Tab");
    CHECK_STR(DECODE("\033[13;2u\033[97;5u"), "S-Enter C-a");
    CHECK_STR(DECODE("\033[27;5;13~"), "C-Enter");
}

TEST(alt)
{
    CHECK_STR(DECODE("\033b\033\x7f\033\r"), "A-b A-Backspace A-Enter");
    CHECK_STR(DECODE("\033\033[D"), "A-Left");
    CHECK_STR(DECODE("\033\xC3\xA9"), "A-U+00E9");
}

TEST(lone_escape)
{
    CHECK_STR(DECODE("\033"), "");
    CHECK_STR(FLUSHED("\033"), "Escape");
    CHECK_STR(FLUSHED("\033["), "A-[");
    CHECK_STR(FLUSHED("\033O"), "A-O");
    CHECK_STR(FLUSHED("\033[1;"), "");
    CHECK_STR(FLUSHED("x"), "x");
}

TEST(unknown_sequences_leave_nothing)
{
    CHECK_STR(DECODE("\033[[Ax"), "x");        /* F1 of the Linux console */
    CHECK_STR(DECODE("\033[15~\033OPx"), "x"); /* F5, F1 */
    CHECK_STR(DECODE("\033[?62;1;4cx"), "x");  /* a reply of the terminal */
    CHECK_STR(DECODE("\033]11;rgb:0/0/0\007x"), "x");
    CHECK_STR(DECODE("\033P1$r\033\\x"), "x");
    CHECK_STR(DECODE("\033[99999999999;9;9;9;9;9;9zx"), "x");
}

TEST(paste)
{
    CHECK_STR(DECODE("\033[200~a\tb\033[201~c"), "<paste>a <paste>U+0009 <paste>b c");
    CHECK_STR(DECODE("\033[200~1\r\n2\r3\n4\033[201~"),
              "<paste>1 <paste>U+000A <paste>2 <paste>U+000A <paste>3 <paste>U+000A <paste>4");
    CHECK_STR(DECODE("\033[200~\x03\x04\033[A\033x\033[201~\x03"), "<paste>x C-c");
    CHECK_STR(DECODE("\033[200~\xC3\xA9\033[201~"), "<paste>U+00E9");
}

/* What the terminal answers is no key, whenever and in whatever pieces it comes. */
TEST(answers)
{
    static const char bytes[] =
        "a\033]11;rgb:ffff/0000/8080\033\\b\033[?62;4c\033]11;rgb:1/2/3\007c\033]4\rd\033P1+r\033\\e";
    static const char *const replies[] = {"11;rgb:ffff/0000/8080", "11;rgb:1/2/3"};
    struct sh_decoder d = {0};
    char keys[16];
    size_t n = 0, seen = 0;
    int identified = 0;
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        struct sh_key key;
        if (sh_decode(&d, (unsigned char)bytes[i], &key)) keys[n++] = key.kind == SH_KEY_ENTER ? '!' : (char)key.c;
        if (d.reply_length) CHECK(!sh_decoder_flush(&d, &key)); /* the rest may come late */
        if (d.replied) CHECK_STR(d.reply, replies[seen++]);
        identified += d.identified;
        d.replied = d.identified = false;
    }
    keys[n] = '\0';
    CHECK_STR(keys, "abc!de");
    CHECK_INT(seen, 2);
    CHECK_INT(identified, 1);
}
