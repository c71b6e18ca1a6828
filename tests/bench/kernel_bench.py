"""What a front end sees of a Jupyter kernel: `kernel_bench.py KERNELSPEC` prints one JSON object.

start_ms: spawn until the client is ready; execute_ms: median of execute until both reply and idle; floor_ms: what of that
the client alone takes, to send the request and to take in an answer that has already arrived; complete_ms: median of
complete until its reply; stdout_MBps: one cell that prints 200,000 lines; rss_mb: memory afterwards. start_ms has the
client's own first steps in it, and the 200 ms for which wait_for_ready listens whether more comes; first_reply_ms, of
another kernel, has neither: from the end of its spawn until it has told what it is.
"""
import json
import statistics
import sys
import time

from jupyter_client.manager import KernelManager

ARRIVED_MS = 10  # more than any kernel here needs to answer
LUA = dict(one="return 1", complete="string.f", lines="for i = 1, 200000 do print('line', i) end")
PYTHON = dict(one="1", complete="str.f", lines="for i in range(200000): print('line', i)")


def finish(client, msg_id):
    """Waits for the reply and for idle; returns the bytes that stdout brought."""
    size = 0
    while True:
        m = client.get_iopub_msg(timeout=60)
        if m["parent_header"].get("msg_id") != msg_id:
            continue
        if m["msg_type"] == "stream":
            size += len(m["content"]["text"])
        if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
            break
    while client.get_shell_msg(timeout=60)["parent_header"].get("msg_id") != msg_id:
        pass
    return size


def timed(f):
    start = time.perf_counter()
    f()
    return (time.perf_counter() - start) * 1e3


def client_alone(client, code):
    """A round trip without the wait in its middle, which is busy so that the processor stays as warm as in a real one."""
    start = time.perf_counter()
    msg_id = client.execute(code)
    sent = time.perf_counter()
    while (time.perf_counter() - sent) * 1e3 < ARRIVED_MS:
        pass
    return (sent - start) * 1e3 + timed(lambda: finish(client, msg_id))


def first_reply(kernel):
    km = KernelManager(kernel_name=kernel)
    km.start_kernel()
    start = time.perf_counter()
    kc = km.client()
    kc.start_channels(hb=False)
    try:
        kc.kernel_info()
        kc.get_shell_msg(timeout=60)
        return (time.perf_counter() - start) * 1e3
    finally:
        kc.stop_channels()
        km.shutdown_kernel(now=True)


def main():
    code = PYTHON if sys.argv[1] == "python3" else LUA
    start = time.perf_counter()
    km = KernelManager(kernel_name=sys.argv[1])
    km.start_kernel()
    kc = km.client()
    kc.start_channels()
    kc.wait_for_ready(timeout=60)
    result = {"start_ms": (time.perf_counter() - start) * 1e3}
    try:
        for _ in range(20):
            finish(kc, kc.execute(code["one"]))
        # In turns, so that both meet the same load.
        rounds = [(timed(lambda: finish(kc, kc.execute(code["one"]))), client_alone(kc, code["one"])) for _ in range(300)]
        result["execute_ms"], result["floor_ms"] = map(statistics.median, zip(*rounds))

        def complete():
            msg_id = kc.complete(code["complete"])
            while kc.get_shell_msg(timeout=10)["parent_header"].get("msg_id") != msg_id:
                pass

        result["complete_ms"] = statistics.median(timed(complete) for _ in range(100))
        start = time.perf_counter()
        size = finish(kc, kc.execute(code["lines"]))
        result["stdout_MBps"] = size / 1e6 / (time.perf_counter() - start)
        with open(f"/proc/{km.provisioner.pid}/status") as f:
            result["rss_mb"] = next(int(l.split()[1]) / 1024 for l in f if l.startswith("VmRSS"))
    finally:
        kc.stop_channels()
        km.shutdown_kernel(now=True)
    result["first_reply_ms"] = statistics.median(first_reply(sys.argv[1]) for _ in range(5))
    print(json.dumps(result))


main()
