/* A profile in a notebook: the same figures as a table in the page's own colours, what stands out marked by a tint that
 * suits dark and light themes. */
#include <stdio.h>
#include <string.h>
#include "lang/profile.h"

#define BAD  "background:rgba(226,74,51,.28);border-radius:3px"
#define HEAT "rgba(110,130,255,%.2f)"

static void add_facts(luaL_Buffer *b, const struct lg_profile_fact *facts, size_t n)
{
    luaL_addstring(
        b,
        "<table style=\"color:inherit;background:none;font-size:inherit;border-collapse:collapse;margin:4px 0\"><tbody>");
    for (size_t k = 0; k < n; k++) {
        luaL_addstring(b, "<tr style=\"background:none\"><td style=\"text-align:left;opacity:.65;padding:1px 12px 1px "
                          "0;white-space:nowrap\">");
        lg_add_html_text(b, facts[k].label);
        luaL_addstring(b, "</td><td style=\"text-align:left;padding:1px 0\">");
        lg_add_html_text(b, facts[k].text);
        luaL_addstring(b, "</td></tr>");
    }
    luaL_addstring(b, "</tbody></table>");
}

static void add_headings(luaL_Buffer *b, const struct lg_profile *p)
{
    luaL_addstring(b, "<thead><tr style=\"background:none\">");
    for (int k = 0; k < LG_COLUMN_COUNT; k++) {
        if (!lg_profile_has(p, (enum lg_profile_column)k)) continue;
        luaL_addstring(b, "<th style=\"text-align:right;padding:1px 8px\" title=\"");
        lg_add_html_text(b, lg_profile_headings[k].explanation);
        luaL_addstring(b, "\">");
        lg_add_html_text(b, lg_profile_headings[k].title);
        luaL_addstring(b, "</th>");
    }
    luaL_addstring(b, "<th style=\"text-align:right;padding:1px 8px\">line</th>"
                      "<th style=\"text-align:left;padding:1px 8px\">source</th></tr></thead>");
}

static void add_row(luaL_Buffer *b, const struct lg_profile *p, const struct lg_profile_row *row)
{
    char text[128], cell[32];
    luaL_addstring(b, row->counts ? "<tr style=\"background:none\">" : "<tr style=\"background:none;opacity:.6\">");
    for (int k = 0; k < LG_COLUMN_COUNT; k++) {
        *cell = 0;
        if (!lg_profile_has(p, (enum lg_profile_column)k)) continue;
        bool bad = row->counts && lg_profile_cell(p, row->counts, (enum lg_profile_column)k, cell);
        luaL_addstring(b, "<td style=\"text-align:right;white-space:nowrap;padding:1px 8px;");
        if (bad) luaL_addstring(b, BAD);
        if (row->counts && k == LG_COLUMN_INSTRUCTIONS) {
            double heat = p->most ? (double)row->counts->instructions / (double)p->most : 0;
            snprintf(text, sizeof text, "background:" HEAT, .45 * heat);
            luaL_addstring(b, text);
        }
        luaL_addstring(b, "\">");
        lg_add_html_text(b, cell);
        luaL_addstring(b, "</td>");
    }
    luaL_addstring(b, "<td style=\"text-align:right;opacity:.55;padding:1px 8px\">");
    if (row->line) snprintf(text, sizeof text, "%d", row->line);
    luaL_addstring(b, row->line ? text : row->counts ? "?" : "&hellip;");
    luaL_addstring(b, "</td><td style=\"text-align:left;white-space:pre;padding:1px 8px\">");
    if (row->file) {
        luaL_addstring(b, "<span style=\"opacity:.6\">(");
        lg_add_html_text(b, row->file);
        luaL_addstring(b, ")</span> ");
    }
    if (row->source) lg_add_html(b, row->source, row->length);
    luaL_addstring(b, "</td></tr>");
}

void lg_push_profile_html(lua_State *L, const struct lg_profile *p)
{
    struct lg_profile_fact facts[LG_PROFILE_FACTS], notes[LG_PROFILE_NOTES];
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, "<div class=\"lunarray\" style=\"color:inherit;overflow-x:auto\"><div>profile of <code "
                       "style=\"color:inherit;background:none\">");
    lg_add_html_text(&b, p->kernel->entry->name);
    luaL_addstring(&b, "</code></div>");
    add_facts(&b, facts, lg_profile_facts(p, facts));
    if (p->result.counts) {
        luaL_addstring(&b, "<table style=\"color:inherit;background:none;font-size:inherit;font-family:monospace;"
                           "font-variant-numeric:tabular-nums;border-collapse:collapse\">");
        add_headings(&b, p);
        luaL_addstring(&b, "<tbody>");
        for (size_t k = 0; k < p->row_count; k++) add_row(&b, p, &p->rows[k]);
        luaL_addstring(&b, "</tbody></table>");
        add_facts(&b, notes, lg_profile_notes(p, notes));
    }
    luaL_addstring(&b, "</div>");
    luaL_pushresult(&b);
}
