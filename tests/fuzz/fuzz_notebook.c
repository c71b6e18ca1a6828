/* Any bytes as a notebook: cells come out, or one line that says why not; the presenter shows them on a narrow screen.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include "repl/notebook.h"
#include "repl/present.h"

/* Does what an action asks for. */
static void act(struct sh_presenter *p, enum sh_present_action action)
{
    switch (action) {
    case SH_PRESENT_RUN: sh_present_done(p, LG_DONE, 0); break;
    case SH_PRESENT_EDIT:
        if (sh_present_edited(p, "x", 1, 0) == SH_PRESENT_RUN) sh_present_done(p, LG_ERROR, 0);
        break;
    case SH_PRESENT_PROMPT: sh_present_resume(p, 0); break;
    case SH_PRESENT_RESTART: sh_present_restart(p, 0); break;
    default: break;
    }
}

/* The bytes are keys, too. */
static void present(const struct sh_demo *demo, const uint8_t *keys, size_t count)
{
    struct sh_presenter p;
    struct sh_frame f = {0};
    struct sh_present_view view = {.columns = 20, .rows = 10, .number = 1};
    const struct sh_present_options options = {.play = true};
    if (!sh_present_start(&p, demo, &options, 0)) return;
    for (size_t step = 0; step < 256; step++) {
        static const enum sh_key_kind kinds[] = {SH_KEY_UP, SH_KEY_DOWN, SH_KEY_ENTER, SH_KEY_ESCAPE};
        struct sh_key key = {.kind = SH_KEY_TEXT};
        sh_present_frame(&p, &view, &f);
        assert(f.failed || (f.count <= 10 && f.cursor_row < f.count && f.cursor_column < 20));
        assert(p.at <= demo->count && (p.phase == SH_AT_END) == (p.at == demo->count) && p.phase != SH_AT_RUNNING);
        if (step < 64) { /* by itself first */
            act(&p, sh_present_tick(&p, 0));
            continue;
        }
        if (step - 64 >= count) break;
        key.c = keys[step - 64] & 127;
        if (keys[step - 64] >= 128) key.kind = kinds[key.c % 4];
        act(&p, sh_present_key(&p, &key, 0));
    }
    sh_frame_free(&f);
    sh_present_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sh_notebook n = {0};
    struct sh_demo demo;
    char why[SH_WHY] = "";
    json_t *read = sh_document_parse((const char *)data, size, why);
    if (read && sh_notebook_view(read, &n, why)) {
        for (size_t i = 0; i < n.count; i++) {
            assert(n.cells[i].source[n.cells[i].length] == '\0');
            assert(!n.cells[i].stored || !strchr(n.cells[i].stored, '\033'));
        }
        if (sh_demo_build(&n, &demo)) {
            assert(demo.count <= n.count);
            present(&demo, data, size);
            sh_demo_free(&demo);
        }
    } else {
        assert(n.count == 0 && *why);
    }
    sh_notebook_free(&n);
    json_decref(read);
    return 0;
}
