/* Any bytes as a notebook: cells come out, or one line that says why not; the presenter shows them on a narrow screen.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "repl/notebook.h"
#include "repl/present.h"

static void present(const struct sh_demo *demo)
{
    struct sh_presenter p;
    struct sh_frame f = {0};
    struct sh_present_view view = {.columns = 20, .rows = 10, .number = 1};
    const struct sh_present_options options = {.play = true};
    if (!sh_present_start(&p, demo, &options, 0)) return;
    for (size_t steps = 0; steps < 64 && p.phase != SH_AT_END; steps++) {
        sh_present_frame(&p, &view, &f);
        assert(f.failed || (f.count <= 10 && f.cursor_row < f.count && f.cursor_column < 20));
        if (sh_present_tick(&p, 0) == SH_PRESENT_RUN) sh_present_done(&p, LG_DONE, 0);
    }
    sh_present_key(&p, &(struct sh_key){.kind = SH_KEY_TEXT, .c = 'g'}, 0);
    sh_present_frame(&p, &view, &f);
    sh_frame_free(&f);
    sh_present_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sh_notebook n;
    struct sh_demo demo;
    char why[SH_WHY] = "";
    if (sh_notebook_parse((const char *)data, size, &n, why)) {
        for (size_t i = 0; i < n.count; i++) {
            assert(n.cells[i].source[n.cells[i].length] == '\0');
            assert(!n.cells[i].stored || !strchr(n.cells[i].stored, '\033'));
        }
        if (sh_demo_build(&n, &demo)) {
            assert(demo.count <= n.count);
            present(&demo);
            sh_demo_free(&demo);
        }
    } else {
        assert(n.count == 0 && *why);
    }
    sh_notebook_free(&n);
    return 0;
}
