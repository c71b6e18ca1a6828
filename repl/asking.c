#define _GNU_SOURCE /* memmem */
#include "repl/asking.h"

#include <stdlib.h>
#include <string.h>
#include "repl/settings.h"
#include "repl/terminal.h"
#include "repl/theme.h"
#include "runtime/host.h"

/* Every terminal answers the second question, so that its answer says that there is none to the first. */
static const char question[] = "\033]11;?\033\\\033[c";
enum { WAIT_MS = 150 };

static struct {
    bool asked, open;
    long since; /* milliseconds */
} state;

void sh_ask(void)
{
    if (state.asked || !sh_terminal_has_background() || !sh_settings_follow_background()) return;
    state.asked = state.open = true;
    state.since = rt_now_ns() / 1000000;
    sh_terminal_write(question, sizeof question - 1);
}

void sh_ask_nothing(void)
{
    state.asked = true;
}

/* "rgb:ffff/ffff/ffff", of one to four digits each, or "rgba:...". */
static bool read_color(const char *text, double rgb[3])
{
    const char *at = strchr(text, ':');
    if (!at || strncmp(text, "rgb", 3) != 0) return false;
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long value = strtoul(at + 1, &end, 16);
        long digits = end - at - 1;
        if (digits < 1 || digits > 4 || (i < 2 && *end != '/')) return false;
        rgb[i] = (double)value / (double)((1UL << 4 * digits) - 1);
        at = end;
    }
    return true;
}

bool sh_take_answer(struct sh_decoder *d)
{
    double rgb[3];
    bool changed = false;
    if (d->replied && strncmp(d->reply, "11;", 3) == 0 && read_color(d->reply + 3, rgb)) {
        /* As bright as people see it. */
        bool light = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] > 0.5;
        changed = sh_settings_background(light ? SH_LIGHT : SH_DARK);
    }
    if (d->identified) state.open = false;
    d->replied = d->identified = false;
    return changed;
}

/* "\033[?62;4c" */
static bool has_attributes(const char *bytes, size_t length)
{
    const char *end = bytes + length;
    for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), "\033[?", 3)); at += 3) {
        const char *p = at + 3;
        while (p < end && strchr("0123456789;", *p) && *p) p++;
        if (p < end && *p == 'c') return true;
    }
    return false;
}

void sh_await_answer(char *bytes, size_t from, size_t *have, size_t size)
{
    while (state.open && *have < size && !has_attributes(bytes + from, *have - from)) {
        long left = state.since + WAIT_MS - rt_now_ns() / 1000000;
        if (left <= 0 || !sh_terminal_pending_within((int)left)) break;
        size_t n = sh_terminal_read(bytes + *have, size - *have);
        if (n == 0) break;
        *have += n;
    }
    state.open = false;
}
