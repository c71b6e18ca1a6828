/* The table of texture and surface objects. A handle is the object's place in the table plus, above it, how often that
 * place was used, so that a handle that was destroyed is not taken for its successor. */
#include <stdlib.h>
#include <string.h>
#include "runtime/memory.h"
#include "runtime/simt/texture.h"

#define PLACE_BITS 20 /* of a handle: more than a million objects at a time */
#define PLACE_MASK ((1u << PLACE_BITS) - 1)

struct place {
    uint64_t handle; /* 0: free */
    uint64_t uses;
    struct simt_texture texture;
};

static struct {
    struct place **places; /* 0 is never used; each on its own, as objects must stay where they are */
    uint64_t count, room;
} table;

const struct simt_texture *simt_texture_find(uint64_t handle)
{
    uint64_t i = handle & PLACE_MASK;
    if (handle == 0 || i >= table.count || table.places[i]->handle != handle) return NULL;
    return &table.places[i]->texture;
}

bool simt_texture_over(uint64_t memory, uint64_t bytes)
{
    for (uint64_t i = 1; i < table.count; i++) {
        const struct simt_texture *t = &table.places[i]->texture;
        if (!table.places[i]->handle || (t->kind != SIMT_TEXTURE_LINEAR && t->kind != SIMT_TEXTURE_PITCH)) continue;
        if (t->memory - memory < bytes || memory - t->memory < t->slice) return true;
    }
    return false;
}

/* A free place, or the count when there is none. */
static uint64_t free_place(void)
{
    uint64_t i = 1;
    while (i < table.count && table.places[i]->handle != 0) i++;
    return i;
}

static bool grow(void)
{
    uint64_t room = table.room ? 2 * table.room : 16;
    struct place **more = rt_realloc(table.places, room * sizeof(struct place *));
    if (!more) return false;
    table.places = more;
    table.room = room;
    return true;
}

/* One more place at the end. */
static bool append(void)
{
    if (table.count > PLACE_MASK || (table.count == table.room && !grow())) return false;
    struct place *p = rt_calloc(1, sizeof *p);
    if (!p) return false;
    table.places[table.count++] = p;
    return true;
}

enum rt_status simt_texture_add(const struct simt_texture *t, uint64_t *handle)
{
    if (table.count == 0 && !append()) return RT_NOMEM;
    uint64_t i = free_place();
    if (i == table.count && !append()) return RT_NOMEM;
    struct place *p = table.places[i];
    p->texture = *t;
    p->handle = p->uses++ << PLACE_BITS | i;
    *handle = p->handle;
    return RT_OK;
}

bool simt_texture_remove(uint64_t handle)
{
    if (!simt_texture_find(handle)) return false;
    table.places[handle & PLACE_MASK]->handle = 0;
    return true;
}

unsigned simt_format_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}
