/* gpu.progress: a loop that shows how far it is. In a notebook one display is updated, in a terminal one line is
 * redrawn, and where nobody watches a line is printed now and then and at the end. */
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>
#include "lang/display.h"

#define PROGRESS     "lunarray.progress"
#define BAR_COLUMNS  30
#define NOTEBOOK_MS  100 /* between two pictures */
#define TERMINAL_MS  50
#define PLAIN_MS     10000
#define LABEL_LENGTH 100

struct progress {
    lua_Integer count, done;
    double start, shown; /* milliseconds of the host's clock: of the first step, and of what is shown */
    bool ended, displayed;
    int width; /* columns of the line that a terminal shows */
    char label[LABEL_LENGTH + 1], id[64];
};

/* "0:07", "12:05", "3:02:01" */
static void write_time(double seconds, char *to, size_t size)
{
    long long s = seconds < 1e9 ? (long long)(seconds + 0.5) : 1000000000;
    if (s >= 3600)
        snprintf(to, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(to, size, "%lld:%02lld", s / 60, s % 60);
}

static void write_rate(double per_second, char *to, size_t size)
{
    if (per_second >= 1)
        snprintf(to, size, "%.*f/s", per_second < 10 ? 1 : 0, per_second);
    else
        snprintf(to, size, "%.*f s each", per_second > 0.1 ? 1 : 0, 1 / per_second);
}

/* What stands behind the bar: "42/100, 3.4/s, 0:12, 0:17 left". */
static void write_numbers(const struct progress *p, double now, char *to, size_t size)
{
    char rate[48], passed[32], left[32];
    double seconds = (now - p->start) / 1000;
    size_t n = (size_t)snprintf(to, size, "%lld/%lld", (long long)p->done, (long long)p->count);
    if (p->done > 0 && seconds > 0) {
        write_rate((double)p->done / seconds, rate, sizeof rate);
        n += (size_t)snprintf(to + n, size - n, ", %s", rate);
    }
    write_time(seconds, passed, sizeof passed);
    n += (size_t)snprintf(to + n, size - n, ", %s", passed);
    if (p->done == p->count) return;
    if (p->ended) {
        snprintf(to + n, size - n, ", stopped");
    } else if (p->done > 0) {
        write_time(seconds / (double)p->done * (double)(p->count - p->done), left, sizeof left);
        snprintf(to + n, size - n, ", %s left", left);
    }
}

static double share(const struct progress *p)
{
    return p->count > 0 ? (double)p->done / (double)p->count : 1;
}

/* The columns that a text takes; *fitting: how many of its bytes fit into the columns. */
static int width_of(const char *text, int columns, size_t *fitting)
{
    int width = 0;
    *fitting = 0;
    for (size_t at = 0, n = strlen(text); at < n;) {
        utf8proc_int32_t c = 0;
        utf8proc_ssize_t size = utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(n - at), &c);
        width += size > 0 ? utf8proc_charwidth(c) : 1;
        at += size > 0 ? (size_t)size : 1;
        if (width <= columns) *fitting = at;
    }
    return width;
}

/* "label  42% ████▌      42/100, ..." with a bar that leaves the line shorter than the terminal's columns. */
static void write_line(lua_State *L, const struct progress *p, double now, const struct lg_terminal *t, luaL_Buffer *b)
{
    static const char *const parts[] = {"",
                                        "\xe2\x96\x8f",
                                        "\xe2\x96\x8e",
                                        "\xe2\x96\x8d",
                                        "\xe2\x96\x8c",
                                        "\xe2\x96\x8b",
                                        "\xe2\x96\x8a",
                                        "\xe2\x96\x89"};
    char numbers[200], head[LABEL_LENGTH + 16];
    int columns = t->columns;
    write_numbers(p, now, numbers, sizeof numbers);
    snprintf(head, sizeof head, "%s%s%3d%% ", p->label, p->label[0] ? " " : "", (int)(share(p) * 100));
    size_t fitting;
    int left = columns - 1 - width_of(head, columns - 1, &fitting), room = left - 2 - (int)strlen(numbers);
    int width = columns == 0 || room > BAR_COLUMNS ? BAR_COLUMNS : room;
    luaL_buffinit(L, b);
    if (columns > 0) head[fitting] = '\0';
    luaL_addstring(b, head);
    if (width >= 4) {
        int eighths = (int)(share(p) * width * 8);
        if (t->few_glyphs) eighths -= eighths % 4;
        luaL_addstring(b, t->few_glyphs ? "[" : "\xe2\x96\x95");
        for (int i = 0; i < eighths / 8; i++) luaL_addstring(b, "\xe2\x96\x88");
        luaL_addstring(b, parts[eighths % 8]);
        for (int i = (eighths + 7) / 8; i < width; i++) luaL_addchar(b, ' ');
        luaL_addstring(b, t->few_glyphs ? "] " : "\xe2\x96\x8f ");
    } else if (columns > 0) {
        numbers[left > 0 && left < (int)strlen(numbers) ? left : left > 0 ? (int)strlen(numbers) : 0] = '\0';
    }
    luaL_addstring(b, numbers);
}

static void push_html(lua_State *L, const struct progress *p, double now)
{
    luaL_Buffer b;
    char text[256];
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "<div class=\"lunarray\" style=\"color:inherit;font-variant-numeric:tabular-nums\">");
    lg_add_html(&b, p->label, strlen(p->label));
    snprintf(text, sizeof text,
             "%s<progress value=\"%.6g\" max=\"1\" style=\"width:20em;vertical-align:middle\">%d%%</progress> ",
             p->label[0] ? " " : "", share(p), (int)(share(p) * 100));
    luaL_addstring(&b, text);
    write_numbers(p, now, text, sizeof text);
    luaL_addstring(&b, text);
    luaL_addstring(&b, "</div>");
    luaL_pushresult(&b);
}

static void show_display(lua_State *L, struct progress *p, double now)
{
    luaL_Buffer b;
    struct lg_mime items[2] = {{.type = "text/html"}, {.type = "text/plain"}};
    push_html(L, p, now);
    items[0].data = lua_tolstring(L, -1, &items[0].length);
    write_line(L, p, now, &(struct lg_terminal){.columns = 0}, &b);
    luaL_pushresult(&b);
    items[1].data = lua_tolstring(L, -1, &items[1].length);
    if (!p->displayed) {
        snprintf(p->id, sizeof p->id, "%s", lg_push_display_id(L));
        lua_pop(L, 1);
    }
    lg_show(L, &(struct lg_bundle){items, 2}, p->id, p->displayed);
    lua_pop(L, 2);
}

static void show_text(lua_State *L, struct progress *p, double now, const struct lg_terminal *t)
{
    luaL_Buffer b;
    size_t n;
    char up[24] = "";
    write_line(L, p, now, t, &b);
    luaL_pushresult(&b);
    /* A line that became too long, since the terminal narrowed, has been broken into several. */
    if (t->columns > 0 && p->width > t->columns)
        snprintf(up, sizeof up, "\033[%dA\r\033[J", (p->width - 1) / t->columns);
    p->width = width_of(lua_tostring(L, -1), 0, &n);
    if (t->color)
        lua_pushfstring(L, "%s\r%s\033[K%s", up, lua_tostring(L, -1), p->ended ? "\n" : "");
    else
        lua_pushfstring(L, "%s\n", lua_tostring(L, -1));
    const char *text = lua_tolstring(L, -1, &n);
    lg_show_text(L, text, n);
    lua_pop(L, 2);
}

/* Shows where the loop is, unless it was shown a short time ago. */
static void show(lua_State *L, struct progress *p)
{
    struct lg_terminal t;
    double now = rt_now_ms();
    if (!p->ended && p->shown > 0 && now - p->shown < TERMINAL_MS) return;
    luaL_checkstack(L, 12, NULL);
    bool pictures = lg_shows_pictures(L, &t);
    double pause = pictures ? NOTEBOOK_MS : t.color ? TERMINAL_MS : PLAIN_MS;
    bool first = p->shown == 0;
    if (!p->ended && (first ? pause == PLAIN_MS : now - p->shown < pause)) {
        if (first) p->shown = now;
        return;
    }
    p->shown = now;
    if (pictures) {
        show_display(L, p, now);
        p->displayed = true;
    } else {
        show_text(L, p, now, &t);
    }
}

static int step(lua_State *L)
{
    struct progress *p = luaL_checkudata(L, 1, PROGRESS);
    lua_Integer i = luaL_checkinteger(L, 2);
    if (p->ended) return luaL_error(L, "a gpu.progress serves one loop; each loop needs one of its own");
    p->done = i;
    p->ended = i >= p->count;
    show(L, p);
    if (p->ended) return 0;
    lua_pushinteger(L, i + 1);
    return 1;
}

/* The loop was left. */
static int finish(lua_State *L)
{
    struct progress *p = luaL_checkudata(L, 1, PROGRESS);
    if (p->ended) return 0;
    p->ended = true;
    show(L, p);
    return 0;
}

/* A label of one line, cut between code points. */
static void set_label(lua_State *L, struct progress *p, int idx)
{
    const char *label = luaL_optstring(L, idx, "");
    size_t n = strlen(label);
    if (n > LABEL_LENGTH)
        for (n = LABEL_LENGTH; n > 0 && ((unsigned char)label[n] & 0xc0) == 0x80;) n--;
    memcpy(p->label, label, n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)p->label[i] < ' ' || p->label[i] == 127) p->label[i] = ' ';
}

static int progress(lua_State *L)
{
    lua_Integer count = luaL_checkinteger(L, 1);
    luaL_argcheck(L, count >= 0, 1, "the number of steps, 0 or more, expected");
    lua_settop(L, 2);
    lua_pushcfunction(L, step);
    struct progress *p = lua_newuserdatauv(L, sizeof *p, 0);
    *p = (struct progress){.count = count, .start = rt_now_ms()};
    set_label(L, p, 2);
    luaL_setmetatable(L, PROGRESS);
    lua_pushinteger(L, 0);
    lua_pushvalue(L, -2); /* to be closed: however the loop is left */
    return 4;
}

static const struct lg_function functions[] = {
    {"progress", progress, "for i in gpu.progress(n [, label]) do ... end",
     "A loop from 1 to n that shows a bar, behind the label, with the rate and the time left.\n"
     "A notebook updates one display, ten times a second at most; a terminal redraws one line; to a file or a pipe goes a "
     "line every ten seconds and one at the end. A loop that is left early shows where it stopped.",
     "local sum = 0\nfor i in gpu.progress(10, 'adding') do sum = sum + i end\nassert(sum == 55)"},
    {0}};

void lg_open_progress(lua_State *L)
{
    lg_register(L, "gpu", functions);
    luaL_newmetatable(L, PROGRESS);
    lua_pushcfunction(L, finish);
    lua_setfield(L, -2, "__close");
    lua_pop(L, 1);
}
