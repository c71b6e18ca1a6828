#include "runtime/foreign.h"

#include <stdint.h>
#include <stdio.h>

#define INVISIBLE "" /* takes no room */
#define SPACE     " "

/* What is written instead of the characters from `first` to `last`; where CUDA C has another word than Lua, too. */
static const struct {
    uint16_t first, last;
    const char *lua, *cuda;
} characters[] = {
    {0x0000, 0x001F, INVISIBLE, NULL},     {0x007F, 0x009F, INVISIBLE, NULL},
    {0x00A0, 0x00A0, SPACE, NULL},         {0x00AB, 0x00AB, "\"", NULL},
    {0x00AC, 0x00AC, "not", "!"},          {0x00AD, 0x00AD, INVISIBLE, NULL},
    {0x00B2, 0x00B2, "^ 2", "x * x"},      {0x00B3, 0x00B3, "^ 3", "x * x * x"},
    {0x00B4, 0x00B4, "'", NULL},           {0x00B7, 0x00B7, "*", NULL},
    {0x00BB, 0x00BB, "\"", NULL},          {0x00D7, 0x00D7, "*", NULL},
    {0x00F7, 0x00F7, "/", NULL},           {0x03C0, 0x03C0, "math.pi", "3.14159265f"},
    {0x2000, 0x200A, SPACE, NULL},         {0x200B, 0x200F, INVISIBLE, NULL},
    {0x2010, 0x2015, "-", NULL},           {0x2018, 0x201B, "'", NULL},
    {0x201C, 0x201F, "\"", NULL},          {0x2022, 0x2022, "*", NULL},
    {0x2026, 0x2026, "...", NULL},         {0x2028, 0x202E, INVISIBLE, NULL},
    {0x202F, 0x202F, SPACE, NULL},         {0x2032, 0x2032, "'", NULL},
    {0x2033, 0x2033, "\"", NULL},          {0x2044, 0x2044, "/", NULL},
    {0x205F, 0x205F, SPACE, NULL},         {0x2060, 0x206F, INVISIBLE, NULL},
    {0x2212, 0x2212, "-", NULL},           {0x2215, 0x2215, "/", NULL},
    {0x2217, 0x2217, "*", NULL},           {0x2219, 0x2219, "*", NULL},
    {0x221A, 0x221A, "^ 0.5", "sqrtf(x)"}, {0x221E, 0x221E, "math.huge", "INFINITY"},
    {0x2227, 0x2227, "and", "&&"},         {0x2228, 0x2228, "or", "||"},
    {0x2260, 0x2260, "~=", "!="},          {0x2264, 0x2264, "<=", NULL},
    {0x2265, 0x2265, ">=", NULL},          {0x22C5, 0x22C5, "*", NULL},
    {0x3000, 0x3000, SPACE, NULL},         {0x3001, 0x3001, ",", NULL},
    {0x3002, 0x3002, ".", NULL},           {0xFEFF, 0xFEFF, INVISIBLE, NULL},
};

size_t rt_character_length(const char *text, size_t length)
{
    unsigned char first = (unsigned char)*text;
    size_t n = first < 0xC2 || first > 0xF4 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (n > length) return 1;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80) return 1;
    return n;
}

static uint32_t code_point(const char *text, size_t n)
{
    uint32_t c = (unsigned char)*text;
    if (n > 1) c &= 0xFFu >> (n + 1);
    for (size_t i = 1; i < n; i++) c = c << 6 | ((unsigned char)text[i] & 0x3F);
    return c;
}

/* What is written instead; NULL: nothing is known. `own` holds it for a character that is an ASCII one, but wide. */
static const char *instead(uint32_t c, enum rt_language language, char own[2])
{
    if (c >= 0xFF01 && c <= 0xFF5E) {
        own[0] = (char)(c - 0xFF01 + '!');
        own[1] = '\0';
        return own;
    }
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++)
        if (c >= characters[i].first && c <= characters[i].last)
            return language == RT_CUDA_C && characters[i].cuda ? characters[i].cuda : characters[i].lua;
    return NULL;
}

bool rt_foreign_hint(const char *text, size_t length, enum rt_language language, char *out, size_t size)
{
    size_t n = rt_character_length(text, length);
    uint32_t c = code_point(text, n);
    char own[2];
    const char *plain = instead(c, language, own);
    if (c < 128 && !plain) return false;
    if (n == 1 && c >= 128)
        snprintf(out, size, "the byte 0x%02x is no text in UTF-8, as a file of code is", (unsigned)c);
    else if (plain && !*plain)
        snprintf(out, size, "a character that nobody sees, U+%04X, stands here: delete it", (unsigned)c);
    else if (plain && *plain == ' ')
        snprintf(out, size, "what looks like a space is U+%04X: type it again", (unsigned)c);
    else if (plain)
        snprintf(out, size, "%.*s is written %s", (int)n, text, plain);
    else
        snprintf(out, size, "%.*s may stand in strings and comments; names have letters from a to z, digits and _",
                 (int)n, text);
    return true;
}
