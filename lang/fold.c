#include "lang/fold.h"

#include <string.h>
#include "lang/display.h"

#define NARROW 20 /* columns; nothing is readable below */

int lg_columns(lua_State *L)
{
    struct lg_terminal t;
    lg_shows_pictures(L, &t);
    return t.columns > 0 && t.columns < NARROW ? NARROW : t.columns;
}

static int width_of(const char *text, size_t length)
{
    int n = 0;
    for (size_t i = 0; i < length; i++) n += (text[i] & 0xC0) != 0x80;
    return n;
}

void lg_add_folded(luaL_Buffer *b, const char *text, size_t length, int column, int hang, int columns)
{
    bool fresh = true; /* no word yet on this line */
    const char *end = text + length;
    while (text < end) {
        size_t blanks = 0, word = 0;
        while (text + blanks < end && text[blanks] == ' ') blanks++;
        for (const char *p = text + blanks; p + word < end && p[word] != ' ' && p[word] != '\n';) word++;
        int width = (int)blanks + width_of(text + blanks, word);
        if (columns && !fresh && word && column + width > columns) {
            luaL_addchar(b, '\n');
            for (int i = 0; i < hang; i++) luaL_addchar(b, ' ');
            luaL_addlstring(b, text + blanks, word);
            column = hang + width - (int)blanks;
        } else {
            luaL_addlstring(b, text, blanks + word);
            column += width;
        }
        fresh = false;
        text += blanks + word;
        if (text == end || *text != '\n') continue;
        luaL_addchar(b, '\n');
        fresh = true;
        column = 0;
        text++;
    }
}
