#include "repl/theme.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/colormap.h"

const char *const sh_style_names[SH_THEME_STYLES] = {
    [SH_PROMPT] = "prompt",   [SH_DIM] = "note",        [SH_SELECTED] = "selected", [SH_MATCH] = "match",
    [SH_KEYWORD] = "keyword", [SH_STRING] = "string",   [SH_NUMBER] = "number",     [SH_COMMENT] = "comment",
    [SH_FUNCTION] = "called", [SH_PAIR] = "pair",       [SH_WRONG] = "wrong",       [SH_GHOST] = "ghost",
    [SH_MODE] = "mode",       [SH_HEADING] = "heading", [SH_STRONG] = "strong",     [SH_EMPHASIS] = "emphasis",
    [SH_STRIKE] = "strike",   [SH_CODE] = "code",       [SH_LINK] = "link",         [SH_ERROR] = "error",
    [SH_CALLS] = "calls",     [SH_STATUS] = "status",
};

static const char *const themes[][SH_THEME_STYLES] = {
    [SH_DARK] = {[SH_PROMPT] = "bold green",
                 [SH_DIM] = "dim",
                 [SH_SELECTED] = "reverse",
                 [SH_MATCH] = "underline",
                 [SH_KEYWORD] = "magenta",
                 [SH_STRING] = "green",
                 [SH_NUMBER] = "cyan",
                 [SH_COMMENT] = "dim",
                 [SH_FUNCTION] = "bright blue",
                 [SH_PAIR] = "bold yellow",
                 [SH_WRONG] = "underline red",
                 [SH_GHOST] = "dim",
                 [SH_MODE] = "bold bright blue",
                 [SH_HEADING] = "bold bright blue",
                 [SH_STRONG] = "bold",
                 [SH_EMPHASIS] = "italic",
                 [SH_STRIKE] = "strike",
                 [SH_CODE] = "cyan",
                 [SH_LINK] = "underline bright blue",
                 [SH_ERROR] = "red",
                 [SH_CALLS] = "dim",
                 [SH_STATUS] = "dim"},
    [SH_LIGHT] =
        {[SH_PROMPT] = "bold 28", [SH_DIM] = "242",         [SH_SELECTED] = "reverse",    [SH_MATCH] = "underline",
         [SH_KEYWORD] = "90",     [SH_STRING] = "22",       [SH_NUMBER] = "25",           [SH_COMMENT] = "242",
         [SH_FUNCTION] = "19",    [SH_PAIR] = "bold 130",   [SH_WRONG] = "underline 124", [SH_GHOST] = "246",
         [SH_MODE] = "bold 19",   [SH_HEADING] = "bold 19", [SH_STRONG] = "bold",         [SH_EMPHASIS] = "italic",
         [SH_STRIKE] = "strike",  [SH_CODE] = "25",         [SH_LINK] = "underline 19",   [SH_ERROR] = "124",
         [SH_CALLS] = "242",      [SH_STATUS] = "242"},
    /* Only what carries meaning stays. */
    [SH_NO_COLORS] = {[SH_SELECTED] = "reverse", [SH_MATCH] = "underline", [SH_WRONG] = "underline"},
};

/* Colours */

static const char *const color_names[] = {"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"};

/* The eight named ones of 256, as terminals with 16 colours show what has a number. */
static int nearest_of_16(int red, int green, int blue)
{
    int most = red > green ? red : green;
    if (blue > most) most = blue;
    if (most < 48) return 0;
    int base = (red * 3 > most * 2) | (green * 3 > most * 2) << 1 | (blue * 3 > most * 2) << 2;
    return base == 7 && most < 144 ? 8 : base + (most > 208 && base < 7 ? 8 : 0);
}

static void channels_of_256(int n, int rgb[3])
{
    static const int levels[] = {0, 95, 135, 175, 215, 255};
    if (n >= 232) {
        rgb[0] = rgb[1] = rgb[2] = 8 + 10 * (n - 232);
        return;
    }
    n -= 16;
    rgb[0] = levels[n / 36];
    rgb[1] = levels[n / 6 % 6];
    rgb[2] = levels[n % 6];
}

static void put_16(char *to, size_t size, int n, bool behind)
{
    snprintf(to, size, "%d", (n < 8 ? 30 + n : 90 + n - 8) + 10 * behind);
}

static void put_256(char *to, size_t size, int n, int colors, bool behind)
{
    int rgb[3];
    if (n < 16) {
        put_16(to, size, n, behind);
    } else if (colors < 256) {
        channels_of_256(n, rgb);
        put_16(to, size, nearest_of_16(rgb[0], rgb[1], rgb[2]), behind);
    } else {
        snprintf(to, size, "%d;5;%d", behind ? 48 : 38, n);
    }
}

static void put_rgb(char *to, size_t size, const int rgb[3], int colors, bool behind)
{
    if (colors > 256)
        snprintf(to, size, "%d;2;%d;%d;%d", behind ? 48 : 38, rgb[0], rgb[1], rgb[2]);
    else if (colors == 256)
        put_256(to, size, lg_color_256(rgb), colors, behind);
    else
        put_16(to, size, nearest_of_16(rgb[0], rgb[1], rgb[2]), behind);
}

/* One word as the parameters of SGR; false when it is no colour. */
static bool put_color(const char *word, int colors, bool bright, bool behind, char *to, size_t size)
{
    unsigned red, green, blue;
    int used = 0;
    char *end;
    for (int i = 0; i < 8; i++)
        if (strcmp(word, color_names[i]) == 0) return put_16(to, size, i + 8 * bright, behind), true;
    if (bright) return false;
    if (strlen(word) == 7 && sscanf(word, "#%2x%2x%2x%n", &red, &green, &blue, &used) == 3 && used == 7)
        return put_rgb(to, size, (int[]){(int)red, (int)green, (int)blue}, colors, behind), true;
    long n = strtol(word, &end, 10);
    if (*end || end == word || n < 0 || n > 255) return false;
    put_256(to, size, (int)n, colors, behind);
    return true;
}

enum { UNDERLINE = 4, REVERSE = 7 };

static int attribute(const char *word)
{
    static const struct {
        const char *name;
        int code;
    } known[] = {{"bold", 1}, {"dim", 2}, {"italic", 3}, {"underline", UNDERLINE}, {"reverse", REVERSE}, {"strike", 9}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i].name) == 0) return known[i].code;
    return 0;
}

bool sh_theme_code(const char *description, int colors, char code[SH_CODE_SIZE])
{
    char word[16], part[24];
    bool bright = false, behind = false;
    size_t n = 0;
    code[0] = '\0';
    for (const char *p = description; *(p += strspn(p, " \t"));) {
        size_t length = strcspn(p, " \t");
        if (length >= sizeof word) return false;
        memcpy(word, p, length);
        word[length] = '\0';
        p += length;
        if (strcmp(word, "none") == 0) continue;
        if (strcmp(word, "bright") == 0 && (bright = true)) continue;
        if (strcmp(word, "on") == 0 && (behind = true)) continue;
        int a = attribute(word);
        if (a == UNDERLINE && colors == 16) a = REVERSE; /* the Linux console has another colour in place of lines */
        if (a)
            snprintf(part, sizeof part, "%d", a);
        else if (!put_color(word, colors, bright, behind, part, sizeof part))
            return false;
        if (a || colors > 0) n += (size_t)snprintf(code + n, SH_CODE_SIZE - n, "%s%s", n ? ";" : "\033[", part);
        if (n + 2 > SH_CODE_SIZE) return false;
        bright = behind = false;
    }
    if (n) memcpy(code + n, "m", 2);
    return !bright && !behind;
}

static struct {
    bool chosen;
    char codes[SH_THEME_STYLES][SH_CODE_SIZE];
} theme;

void sh_theme_choose(enum sh_background background, int colors, const char *const *own)
{
    if (colors == 0) background = SH_NO_COLORS;
    theme.chosen = true;
    for (int i = 0; i < SH_THEME_STYLES; i++) {
        const char *text = themes[background][i];
        if (own && own[i] && *own[i] && strcmp(own[i], "auto") != 0 && background != SH_NO_COLORS) text = own[i];
        if (!text || !sh_theme_code(text, colors, theme.codes[i])) theme.codes[i][0] = '\0';
    }
}

const char *sh_style_code(int style, bool color)
{
    if (style < 0 || style >= SH_THEME_STYLES) return "";
    if (!color) return style == SH_SELECTED ? "\033[7m" : style == SH_MATCH ? "\033[4m" : "";
    if (!theme.chosen) sh_theme_choose(SH_DARK, 1 << 24, NULL);
    return theme.codes[style];
}

/* The terminal */

static enum sh_background told = SH_DARK;

void sh_background_told(enum sh_background background)
{
    told = background;
}

enum sh_background sh_background(void)
{
    /* "15;0" or "0;default;15": the last is the background's. */
    const char *set = getenv("COLORFGBG"), *last = set ? strrchr(set, ';') : NULL;
    if (!last) return told;
    int n = atoi(last + 1);
    return last[1] >= '0' && last[1] <= '9' && (n == 7 || n >= 9) ? SH_LIGHT : SH_DARK;
}

static bool has(const char *text, const char *part)
{
    return text && strstr(text, part);
}

int sh_colors(void)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR"), *program = getenv("TERM_PROGRAM");
    const char *colorterm = getenv("COLORTERM"), *tmux = getenv("TMUX");
    bool screen = getenv("STY") || (has(term, "screen") && !(tmux && *tmux));
    if ((no_color && *no_color) || !term || !*term || strcmp(term, "dumb") == 0) return 0;
    if (strcmp(term, "linux") == 0 || strncmp(term, "vt", 2) == 0) return 16;
    if (screen || has(term, "rxvt") || has(program, "Apple_Terminal")) return 256;
    if (has(colorterm, "truecolor") || has(colorterm, "24bit")) return 1 << 24;
    return strcmp(term, "xterm") == 0 || strcmp(term, "ansi") == 0 ? 256 : 1 << 24;
}

bool sh_few_glyphs(void)
{
    const char *term = getenv("TERM");
    return term && strcmp(term, "linux") == 0;
}

/* GNU screen and the consoles of Linux and Emacs do not; some of them would show the question. */
bool sh_terminal_has_background(void)
{
    const char *term = getenv("TERM");
    bool screen = getenv("STY") || (has(term, "screen") && !getenv("TMUX"));
    return sh_colors() > 16 && !getenv("COLORFGBG") && !screen && !getenv("INSIDE_EMACS") && !has(term, "eterm");
}
