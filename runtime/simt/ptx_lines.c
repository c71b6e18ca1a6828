/* Where instructions come from: at which line of the user's they are told, what was inlined from a toolkit's headers,
 * too, and which are of NVIDIA's own code that the checks know. */
#include <string.h>
#include "runtime/simt/ptx_read.h"

/* In the headers of a toolkit, such as "/usr/local/cuda-13.0/include/". */
static bool is_toolkit_file(const char *name)
{
    for (const char *s = name; (s = strstr(s, "/cuda")); s++) {
        const char *end = s + 5;
        if (*end == '-') end += 1 + strspn(end + 1, "0123456789.");
        if (!strncmp(end, "/include/", 9)) return true;
    }
    return strstr(name, "/targets/") || strstr(name, "/nvidia/") || strstr(name, "__nv_nvrtc_builtin_header");
}

/* A file of the toolkit or of the compiler itself: what is inlined from one is reported at the user's line. */
static bool is_system_file(const char *name)
{
    static const char *const ends[] = {".hpp", "_functions.h", "_fp16.h", "_bf16.h"};
    if (!name) return true;
    if (is_toolkit_file(name)) return true;
    if (strchr(name, '/')) return false;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (length > n && strcmp(name + length - n, ends[i]) == 0) return true;
    }
    return false;
}

/* What cooperative groups do in memory that is their own; a copy's memory is the user's. */
static bool is_groups_file(const char *name)
{
    return name && strstr(name, "/cooperative_groups") && !strstr(name, "async.h");
}

static bool is_one_of(const char *name, const char *const *files, size_t count)
{
    for (size_t k = 0; name && k < count; k++)
        if (strstr(name, files[k])) return true;
    return false;
}

/* CUB's and Thrust's merges and run lengths, in shared memory that is their own: by file, or by a piece of their
 * kernels' mangled names where the compiler wrote no lines. */
static bool is_ahead_in(const char *name)
{
    static const char *const pieces[] = {"/cub/block/block_merge_sort.cuh",
                                         "/cub/agent/agent_merge.cuh",
                                         "/cub/agent/agent_rle.cuh",
                                         "/thrust/system/cuda/detail/set_operations.h",
                                         "6detail10merge_sort",
                                         "6detail14segmented_sort",
                                         "6detail5merge",
                                         "6detail3rle",
                                         "16__set_operations"};
    return is_one_of(name, pieces, sizeof pieces / sizeof *pieces);
}

static bool is_tiles_in(const char *name)
{
    static const char *const pieces[] = {"/cub/agent/agent_select_if.cuh",
                                         "/cub/agent/agent_unique_by_key.cuh",
                                         "/cub/agent/agent_rle.cuh",
                                         "/thrust/system/cuda/detail/unique.h",
                                         "6detail6select",
                                         "6detail13unique_by_key",
                                         "6detail3rle",
                                         "8__unique"};
    return is_one_of(name, pieces, sizeof pieces / sizeof *pieces);
}

void ptx_settle_locations(struct ptx_parser *p)
{
    struct ptx_module *m = p->module;
    for (size_t i = 1; i < p->location_count; i++) { /* parents come first and are settled */
        struct location *l = &p->locations[i];
        const char *file = (size_t)l->file < m->file_count ? m->files[l->file] : NULL;
        const struct location *caller = l->parent > 0 && l->parent < (int)i ? &p->locations[l->parent] : NULL;
        bool ahead = is_ahead_in(file) || (caller && caller->ahead);
        bool of_tiles = is_tiles_in(file) || (caller && caller->of_tiles);
        if (caller && is_system_file(file)) *l = *caller;
        l->of_groups |= is_groups_file(file);
        l->ahead = ahead;
        l->of_tiles = of_tiles;
    }
    for (size_t f = 0; f < m->func_count; f++) {
        const char *name = m->funcs[f].name;
        const bool nvidias = strstr(name, "3cub") || strstr(name, "6thrust");
        const bool ahead = nvidias && is_ahead_in(name), of_tiles = nvidias && is_tiles_in(name);
        for (size_t i = 0; i < m->funcs[f].insn_count; i++) {
            struct ptx_insn *insn = &m->funcs[f].insns[i];
            const struct location *l = &p->locations[insn->file];
            insn->file = l->file;
            insn->source_line = l->line;
            insn->source_column = l->column;
            insn->of_groups = l->of_groups;
            insn->ahead = l->file ? l->ahead : ahead;
            insn->of_tiles = l->file ? l->of_tiles : of_tiles;
        }
    }
}
