/* A trace in a notebook: lanes as a row of 32 squares, in colours that suit dark and light themes. */
#include <stdio.h>
#include <string.h>
#include "lang/trace.h"

#define MOST_STEPS 300 /* that a notebook shows */
#define CELL       "style=\"text-align:left;padding:1px 8px;vertical-align:top;white-space:pre\""
/* A long line is cut, so that what changes beside it is seen without scrolling; the mouse shows all of it. */
#define SOURCE_COLUMNS 32
#define TEXT_OF(n)     #n
#define WIDTH(n)       "max-width:" TEXT_OF(n) "ch;"
#define SOURCE_CELL                                                                                                    \
    "style=\"text-align:left;padding:1px 8px;vertical-align:top;white-space:pre;" WIDTH(                               \
        SOURCE_COLUMNS) "overflow:hidden;text-overflow:ellipsis\""
#define MOST_CALLS    4 /* that are shown in front of it, each by ARROW_COLUMNS */
#define ARROW         "&rsaquo; "
#define ARROW_COLUMNS 2
#define CHANGES_CELL  "style=\"text-align:left;padding:1px 8px;vertical-align:top;white-space:pre-wrap;min-width:12ch\""
#define FAINT_CELL    "style=\"text-align:right;padding:1px 8px;vertical-align:top;opacity:.55\""

static void add_lanes(luaL_Buffer *b, uint32_t lanes)
{
    for (int l = 0; l < 32;) {
        uint32_t active = lanes >> l & 1;
        luaL_addstring(b, active ? "<span style=\"color:#5b82f0\">" : "<span style=\"opacity:.18\">");
        for (; l < 32 && (lanes >> l & 1) == active; l++) luaL_addstring(b, "&#9632;");
        luaL_addstring(b, "</span>");
    }
}

static void add_source(luaL_Buffer *b, const char *source, size_t length, uint32_t calls)
{
    luaL_addstring(b, "<td " SOURCE_CELL);
    if (source && length + ARROW_COLUMNS * calls > SOURCE_COLUMNS) {
        luaL_addstring(b, " title=\"");
        lg_add_html(b, source, length);
        luaL_addstring(b, "\"");
    }
    luaL_addstring(b, ">");
    for (uint32_t d = 0; d < calls; d++) luaL_addstring(b, ARROW);
    if (source) lg_add_html(b, source, length);
    luaL_addstring(b, "</td>");
}

static void add_step(luaL_Buffer *b, const struct lg_trace *t, uint32_t k)
{
    const struct simt_trace_step *s = &t->result->steps[k];
    size_t length = 0;
    const char *source = lg_trace_source(t, s, &length);
    char text[256];
    snprintf(text, sizeof text, "<tr style=\"background:none\"><td " FAINT_CELL ">%u</td><td " FAINT_CELL ">%d</td>",
             k + 1, s->line + t->kernel->program->first_line - 1);
    luaL_addstring(b, text);
    luaL_addstring(b, "<td " CELL ">");
    add_lanes(b, s->lanes);
    luaL_addstring(b, "</td>");
    add_source(b, source, length, s->depth < MOST_CALLS ? s->depth : MOST_CALLS);
    luaL_addstring(b, "<td " CHANGES_CELL ">");
    struct lg_trace_change at = {0};
    for (bool first = true; lg_trace_change_text(t, s, &at, text, sizeof text); first = false) {
        if (!first) luaL_addstring(b, "   ");
        lg_add_html_text(b, text);
    }
    luaL_addstring(b, "</td></tr>");
}

void lg_push_trace_html(lua_State *L, const struct lg_trace *t)
{
    static const char *const headings[] = {"step", "line", "lanes", "source", "changes"};
    char text[256];
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "<div class=\"lunarray\" style=\"color:inherit;overflow-x:auto\"><div>trace of <code "
                       "style=\"color:inherit;background:none\">");
    lg_add_html_text(&b, t->kernel->entry->name);
    luaL_addstring(&b, "</code>: ");
    lg_trace_title(t, text, sizeof text);
    lg_add_html_text(&b, text);
    luaL_addstring(&b, "</div><table style=\"color:inherit;background:none;font-size:inherit;font-family:monospace;"
                       "font-variant-numeric:tabular-nums;border-collapse:collapse\"><thead><tr "
                       "style=\"background:none\">");
    for (size_t k = 0; k < sizeof headings / sizeof *headings; k++) {
        luaL_addstring(&b, "<th style=\"text-align:left;padding:1px 8px\">");
        luaL_addstring(&b, headings[k]);
        luaL_addstring(&b, "</th>");
    }
    luaL_addstring(&b, "</tr></thead><tbody>");
    uint32_t shown = t->result->step_count < MOST_STEPS ? t->result->step_count : MOST_STEPS;
    for (uint32_t k = 0; k < shown; k++) add_step(&b, t, k);
    luaL_addstring(&b, "</tbody></table>");
    if (lg_trace_rest(t, shown, text, sizeof text)) {
        luaL_addstring(&b, "<div style=\"opacity:.7\">");
        lg_add_html_text(&b, text);
        luaL_addstring(&b, "</div>");
    }
    luaL_addstring(&b, "</div>");
    luaL_pushresult(&b);
}
