/* Device time by events, and the host's clock. */
#include "runtime/host.h"
#include "runtime/kernel.h"

double rt_now_ms(void)
{
    return (double)rt_now_ns() * 1e-6;
}

enum rt_status rt_timer_start(struct rt_device *d, struct rt_timer *t, struct rt_error *e)
{
    *t = (struct rt_timer){.device = d, .generation = d->generation};
    const struct driver *driver = d->driver;
    if (driver) {
        enum rt_status status = rt_device_enter(d, e);
        if (status == RT_OK) status = rt_device_check(d, driver->EventCreate(&t->start, 0), e, "creating an event");
        if (status == RT_OK) status = rt_device_check(d, driver->EventCreate(&t->end, 0), e, "creating an event");
        if (status == RT_OK)
            status = rt_device_check(d, driver->EventRecord(t->start, d->stream), e, "recording an event");
        if (status != RT_OK) {
            rt_timer_release(t);
            return status;
        }
    }
    t->host_start = rt_now_ms();
    return RT_OK;
}

enum rt_status rt_timer_stop(struct rt_timer *t, double *milliseconds, struct rt_error *e)
{
    struct rt_device *d = t->device;
    const struct driver *driver = d->driver;
    float elapsed = 0;
    if (!driver) {
        *milliseconds = rt_now_ms() - t->host_start;
        return RT_OK;
    }
    enum rt_status status = rt_device_enter(d, e);
    if (status == RT_OK) status = rt_device_check(d, driver->EventRecord(t->end, d->stream), e, "recording an event");
    if (status == RT_OK) status = rt_device_synchronize(d, e); /* by polling, so that Ctrl-C is seen */
    if (status == RT_OK)
        status = rt_device_check(d, driver->EventElapsedTime(&elapsed, t->start, t->end), e, "reading the timer");
    *milliseconds = elapsed;
    return status;
}

void rt_timer_release(struct rt_timer *t)
{
    const struct rt_device *d = t->device;
    const struct driver *driver = d && d->generation == t->generation ? d->driver : NULL;
    if (driver && t->start) driver->EventDestroy(t->start);
    if (driver && t->end) driver->EventDestroy(t->end);
    *t = (struct rt_timer){0};
}
