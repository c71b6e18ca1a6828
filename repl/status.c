#include "repl/status.h"

#include <stdio.h>
#include <string.h>
#include "repl/theme.h"
#include "runtime/memory.h"

void sh_status_begin(struct sh_status *s)
{
    struct rt_error e = {0};
    struct rt_device *d = rt_device_known();
    s->timing = d && rt_timer_start(d, &s->timer, &e) == RT_OK;
    s->timed = false;
    rt_error_clear(&e);
}

void sh_status_end(struct sh_status *s)
{
    struct rt_error e = {0};
    if (!s->timing) return;
    s->timed = rt_timer_stop(&s->timer, &s->milliseconds, &e) == RT_OK;
    s->timing = false;
    rt_timer_release(&s->timer);
    rt_error_clear(&e);
}

void sh_status_frame(const struct sh_status *s, struct sh_frame *f)
{
    char text[128] = "no device was used yet", size[32];
    struct rt_device *d = rt_device_known();
    if (d) {
        struct rt_memory_stats m;
        rt_memory_stats(d, &m);
        int n = snprintf(text, sizeof text, "%s  %s in use", d->name, rt_size_text((double)m.in_use, size));
        if (s->timed)
            snprintf(text + n, sizeof text - (size_t)n, s->milliseconds < 1 ? "  %.3f ms" : "  %.4g ms",
                     s->milliseconds);
    }
    sh_frame_newline(f);
    sh_frame_clipped(f, text, strlen(text), f->columns, (enum sh_style)SH_STATUS);
}
