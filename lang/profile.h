/* Profiles inside lang/: what profile.c fills and its text and HTML are made of. */
#ifndef LG_PROFILE_H
#define LG_PROFILE_H

#include "lang/kernel.h"
#include "runtime/study.h"

/* A line of the listing: one that was run, one that stands near, or a gap. */
struct lg_profile_row {
    const struct simt_counts *counts; /* NULL: not run */
    const char *file;                 /* another one than the kernel's source; else NULL */
    int line;                         /* as users count: of the cell or file; 0 for a gap, or when not known */
    const char *source;               /* NULL when not known */
    size_t length;
};
const char *lg_source_line(const char *text, int line, size_t *length); /* NULL: there is none; lines from 1 */

struct lg_profile {
    const struct rt_kernel *kernel;
    struct rt_launch launch;
    struct rt_profile result;
    struct lg_profile_row *rows;
    size_t row_count;
    uint64_t most; /* instructions of the hottest line */
};

/* What stands above the listing, and what below: a label and a sentence each. */
#define LG_PROFILE_FACTS 12
#define LG_PROFILE_NOTES 8
struct lg_profile_fact {
    char label[24], text[232];
};
size_t lg_profile_facts(const struct lg_profile *p, struct lg_profile_fact out[LG_PROFILE_FACTS]);
size_t lg_profile_notes(const struct lg_profile *p, struct lg_profile_fact out[LG_PROFILE_NOTES]);
/* Bytes of the sectors of global memory that were touched. */
uint64_t lg_profile_moved(const struct simt_counts *c);

/* The columns of figures. A cell is empty where there is nothing to say. */
enum lg_profile_column {
    LG_COLUMN_INSTRUCTIONS,
    LG_COLUMN_SHARE,
    LG_COLUMN_LANES,
    LG_COLUMN_SECTORS,
    LG_COLUMN_IDEAL,
    LG_COLUMN_MOVED,
    LG_COLUMN_CONFLICTS,
    LG_COLUMN_COLLISIONS,
    LG_COLUMN_COUNT
};
struct lg_profile_heading {
    const char *title, *explanation;
    int width;
    bool marks; /* its figures may stand out */
};
extern const struct lg_profile_heading lg_profile_headings[LG_COLUMN_COUNT];
/* Whether the launch has anything for the column. */
bool lg_profile_has(const struct lg_profile *p, enum lg_profile_column column);
/* The cell's text into out; true when the figure is one to do something about. */
bool lg_profile_cell(const struct lg_profile *p, const struct simt_counts *c, enum lg_profile_column column,
                     char out[32]);

/* Push the profile as text and as HTML. [raises] */
void lg_push_profile_text(lua_State *L, const struct lg_profile *p);
void lg_push_profile_html(lua_State *L, const struct lg_profile *p);

#endif
