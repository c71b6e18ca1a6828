#!/usr/bin/env python3
"""Measures lunarray beside its rivals on this machine, in one run, and prints the ratios: `make bench`.

Absolute times mean nothing on another machine; the ratio to a rival measured in the same minutes does. Rivals are the
NumPy and ipykernel of build/venv, and OpenCL's first device (left out, and said so, where they are missing). A floor is
what no implementation could be faster than: one pass over the memory, or what jupyter_client itself takes.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SAXPY = """
local k = gpu.kernel [[
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}]]
local x, y = gpu.ones(1000), gpu.ones(1000)
k(4, 256)(1000, 2.0, x, y)
assert(y:sum() == 3000)
"""

NUMPY = """
import json, sys, time
import numpy as np
n = 1 << 24
r = np.random.default_rng(1)
x, y = r.random(n, np.float32), r.random(n, np.float32)
m = r.random((4096, 4096), np.float32)
a = r.random((1024, 1024), np.float32)
batch, tiny = r.random((64, 128, 128), np.float32), r.random((10000, 4, 4)) + 4 * np.eye(4)
square, slim = r.random((500, 500)) + 500 * np.eye(500), r.random((1000, 20))
i, rows = r.integers(0, n, n // 4), r.integers(0, 4096, 4096)
mask, bins, sums = x > 0.5, i % 1000, np.zeros(1000, np.float32)
v, target = y[: n // 4].copy(), y.copy()
small, small2 = x[:1000].copy(), y[:1000].copy()
z = x[: n // 4] + 1j * y[: n // 4]
part, whole = x[: n // 4], (x * 1000).astype(np.int32)
part_sorted = np.sort(part)
def write(key, value):
    target[key] = value
def softmax():
    e = np.exp(m - m.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
cases = {
    "copy 16M": lambda: x.copy(), "dot 16M": lambda: x @ y, "softmax 4096": softmax,
    "solve 1024": lambda: np.linalg.solve(a, a[0]), "2x+1 16M": lambda: 2 * x + 1, "axpb 16M": lambda: 2 * x + y,
    "chain 16M": lambda: np.sqrt(x * x + y * y) / (1 + np.abs(x - y)),
    "trig 16M": lambda: np.sin(x) ** 2 + np.cos(y) ** 2, "exp 16M": lambda: np.exp(x), "sum 16M": lambda: x.sum(),
    "mean axis1 4096": lambda: m.mean(axis=0), "mean axis2 4096": lambda: m.mean(axis=1),
    "var 16M": lambda: x.var(),
    "logsumexp axis2 4096": lambda: (lambda t: np.log(np.exp(m - t).sum(axis=1, keepdims=True)) + t)(m.max(axis=1, keepdims=True)),
    "cumsum 16M": lambda: np.cumsum(x), "cumsum axis1 4096": lambda: np.cumsum(m, axis=0),
    "sort 16M": lambda: np.sort(x), "sort axis2 4096": lambda: np.sort(m),
    "argsort 4M": lambda: np.argsort(part, kind="stable"), "unique 4M": lambda: np.unique(part),
    "searchsorted 4M": lambda: np.searchsorted(part_sorted, part), "median 16M": lambda: np.median(x),
    "bincount 16M": lambda: np.bincount(whole), "histogram 16M": lambda: np.histogram(x, 100),
    "broadcast 4096": lambda: m + m[0] * 2, "transpose copy 4096": lambda: np.ascontiguousarray(m.T),
    "matmul 1024": lambda: a @ a, "small add 1000": lambda: small + small2,
    "gather 4M": lambda: x[i], "gather columns 4096": lambda: m[:, rows], "put 4M": lambda: write(i, v),
    "scatter add 4M": lambda: np.add.at(sums, bins, v), "mask select 16M": lambda: x[mask],
    "mask write 16M": lambda: write(mask, 0), "nonzero 16M": lambda: mask.nonzero(), "roll 16M": lambda: np.roll(x, 1000),
    "roll axis2 4096": lambda: np.roll(m, 7, 1), "concatenate 2x16M": lambda: np.concatenate([x, y]),
    "repeat 16Mx2": lambda: np.repeat(x, 2), "tile 4096 2x2": lambda: np.tile(m, (2, 2)),
    "pad 4096": lambda: np.pad(m, 3, "reflect"),
    "random 16M": lambda: r.random(n, np.float32), "normal 16M": lambda: r.standard_normal(n, np.float32),
    "random64 16M": lambda: r.random(n), "normal64 16M": lambda: r.standard_normal(n),
    "integers 16M": lambda: r.integers(1, 7, n),
    "matmul 64x128x128": lambda: batch @ batch, "matmul 10000x4x4": lambda: tiny @ tiny,
    "einsum bij,bjk->bk": lambda: np.einsum("bij,bjk->bk", batch, batch, optimize=True),
    "einsum ij,jk,kl->il": lambda: np.einsum("ij,jk,kl->il", slim, slim.T, slim, optimize=True),
    "solve 500": lambda: np.linalg.solve(square, square[0]), "solve 10000x4x4": lambda: np.linalg.solve(tiny, tiny),
    "svd 200": lambda: np.linalg.svd(square[:200, :200], full_matrices=False),
    "eigh 200": lambda: np.linalg.eigh(square[:200, :200]),
    "complex multiply 4M": lambda: z * z, "fft 1M": lambda: np.fft.fft(z[: 1 << 20]),
    "fft 1000x1024": lambda: np.fft.fft(z[:1024000].reshape(1000, 1024)), "fft 100003": lambda: np.fft.fft(z[:100003]),
    "rfft 1000x1024": lambda: np.fft.rfft(x[:1024000].reshape(1000, 1024)),
    "fft2 1024": lambda: np.fft.fft2(z[: 1 << 20].reshape(1024, 1024)),
}
only = sys.argv[1] if len(sys.argv) > 1 else ""
out = {}
for name, f in cases.items():
    if only not in name and name != "copy 16M":
        continue
    f(), f()
    ts = []
    for _ in range(9):
        t = time.perf_counter()
        f()
        ts.append(time.perf_counter() - t)
    out[name] = sorted(ts)[4] * 1e3
print(json.dumps(out))
"""


def median_ms(f, rounds=15):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def row(name, ours, rival="", theirs=None, floor=None):
    text = f"{name:34} {ours:10.4f} ms"
    if theirs:
        text += f"   {rival} {theirs:10.4f} ms   ratio {ours / theirs:6.3f}"
    if floor:
        text += f"   floor {floor:8.3f} ms   {ours / floor:6.2f} times that"
    print(text, flush=True)


def shell(binary, code, env):
    subprocess.run([binary, "-e", code], env=env, check=True, stdout=subprocess.DEVNULL)


def start_and_launch(binary, scratch):
    env = dict(os.environ, LUNARRAY_CACHE_DIR=os.path.join(scratch, "cache"), LUNARRAY_DEVICE="simt")
    row("start: -e 'return 1'", median_ms(lambda: shell(binary, "return 1", env), 40), "lua5.4",
        median_ms(lambda: subprocess.run(["lua5.4", "-e", "return 1"], check=True), 40) if shutil.which("lua5.4") else None)

    def cold():
        shutil.rmtree(env["LUNARRAY_CACHE_DIR"], ignore_errors=True)
        shell(binary, SAXPY, env)

    base = median_ms(lambda: shell(binary, "return 1", env), 40)
    row("first launch from source", median_ms(cold, 7) - base)
    row("first launch from the disk cache", median_ms(lambda: shell(binary, SAXPY, env), 15) - base)


READ = {"sum 16M": 1, "dot 16M": 2, "mean axis1 4096": 1, "mean axis2 4096": 1}  # elements that are only read, of 2^24


def arrays(binary, python, scratch, only=""):
    ours, floors = {}, {}
    plain = compiled(scratch, "bench_plain", "-O3", "-march=native", "-pthread")
    read = kernel_times([plain, str(len(os.sched_getaffinity(0))), "read"])["read"][0] if plain else None
    lua = [binary, "tests/bench/array_bench.lua", "cpu", only]
    for line in subprocess.run(lua, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
        name, value, floor = line.rsplit(None, 2)
        ours[name] = float(value)
        floors[name] = None if floor == "-" else float(floor)
        if read and name in READ:
            floors[name] = READ[name] * read  # as plain C's threads read, not as a copy moves
    theirs = {}
    if os.path.exists(python):
        theirs = json.loads(subprocess.run([python, "-c", NUMPY, only], stdout=subprocess.PIPE, text=True, check=True).stdout)
    else:
        print("NumPy is not in build/venv: no ratios for arrays")
    for name, value in ours.items():
        row(name, value, "NumPy", theirs.get(name), floors[name])


def small_arrays(binary, python):
    beside = [python, "tests/bench/small_bench.py", "--binary", binary]
    subprocess.run(beside if os.path.exists(python) else [binary, "tests/bench/small_bench.lua"], check=True)


def kernel_times(command, env=None):
    """What a program prints of the kernels: {"build": [ms], "saxpy": [best, median], ...}; None when it can't run."""
    p = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
    if p.returncode:
        return None
    return {name: [float(v) for v in rest] for name, *rest in (line.split() for line in p.stdout.splitlines())}


def compiled(scratch, name, *options):
    """A C program of this folder, or None where it can't be built."""
    program = os.path.join(scratch, name)
    built = subprocess.run(["cc", "-o", program, f"tests/bench/{name}.c", *options], stderr=subprocess.DEVNULL)
    return None if built.returncode else program


def opencl(scratch):
    program = compiled(scratch, "bench_opencl", "-O2", "-lOpenCL")
    if not program:
        return None
    for folder in ("pocl-before", "pocl"):  # an empty cache, so that its build is a real one
        env = dict(os.environ, POCL_CACHE_DIR=os.path.join(scratch, folder))
        os.makedirs(env["POCL_CACHE_DIR"])
        times = kernel_times([program], env)
    return times


def software_gpu(binary, scratch):
    """Best times in ms by kernel: as users have it, by one thread, interpreted; and OpenCL's. Both compilers have run
    before, with a cache of their own: the first run after a boot reads 100 MB of either from the disk."""
    script = [binary, "tests/bench/simt_bench.lua"]
    env = dict(os.environ, LUNARRAY_DEVICE="simt", LUNARRAY_CACHE_DIR=os.path.join(scratch, "simt"))
    alone = dict(env, LUNARRAY_THREADS="1")
    shell(binary, SAXPY, dict(env, LUNARRAY_CACHE_DIR=os.path.join(scratch, "simt-before")))
    ways = {
        "lunarray": kernel_times(script, env),
        "1 thread": kernel_times(script, alone),
        "no JIT": kernel_times(script, dict(env, LUNARRAY_JIT="0")),
        "OpenCL": opencl(scratch),
    }
    if not ways["OpenCL"]:
        print("no OpenCL device or headers: no ratios for the software GPU")
    ways = {name: times for name, times in ways.items() if times}
    print(f"{'software GPU, best ms':24}" + "".join(f"{name:>11}" for name in ways) + ("  ratio" if "OpenCL" in ways else ""))
    for kernel, ours in ways["lunarray"].items():
        cells = "".join(f"{times[kernel][0]:11.2f}" for times in ways.values())
        ratio = f"{ours[0] / ways['OpenCL'][kernel][0]:7.2f}" if "OpenCL" in ways else ""
        print(f"{kernel:24}{cells}{ratio}", flush=True)
    if (os.cpu_count() or 1) > 1:
        scaling(script, env, scratch)
    checks(script, env)
    for line in subprocess.run(script + ["threads"], env=env, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        count, cost = line.split()
        launch = float(cost) * int(count) / 1e3
        print(f"saxpy, {int(count):>9} threads {float(cost):10.3f} ns a thread {launch:12.2f} us a launch", flush=True)


def scaling(script, env, scratch):
    """What two threads gain over one, beside what they gain for loops in plain C: best of rounds that take turns, so
    that whatever else the machine does meets all of them."""
    program = compiled(scratch, "bench_plain", "-O3", "-march=native", "-pthread")
    ours, plain = {}, {}
    for _ in range(3):
        one = kernel_times(script, dict(env, LUNARRAY_THREADS="1"))
        two = kernel_times(script, dict(env, LUNARRAY_THREADS="2"))
        both = kernel_times([program, "2"]) if program else {}
        for kernel in one:
            ours.setdefault(kernel, []).append((one[kernel][0], two[kernel][0]))
        for kernel, pair in both.items():
            plain.setdefault(kernel, []).append(pair)
    print(f"{'1 to 2 threads, best ms':24}{'1':>11}{'2':>11}{'gain':>7}   plain C{'1':>8}{'2':>11}{'gain':>7}")
    for kernel in list(ours)[2:]:  # not the builds
        text = f"{kernel:24}"
        for pairs in (ours[kernel], plain.get(kernel)):
            if pairs:
                one, two = (min(column) for column in zip(*pairs))
                text += f"{one:11.2f}{two:11.2f}{one / two:7.2f}       "
        print(text.rstrip(), flush=True)


def checks(script, env):
    """What all checks cost, by one thread and by all."""
    alone = kernel_times(script + ["checked"], dict(env, LUNARRAY_THREADS="1"))
    both = kernel_times(script + ["checked"], env)
    print(f"{'checks, median ms':24}{'1 thread':>11}{'checked':>11}{'ratio':>7}{'all':>11}{'checked':>11}{'ratio':>7}")
    for kernel in alone:
        cells = [(t[kernel][1], t[kernel][3]) for t in (alone, both)]
        print(f"{kernel:24}" + "".join(f"{p:11.2f}{c:11.2f}{c / p:7.2f}" for p, c in cells), flush=True)


def notebook(binary, python, scratch):
    if not os.path.exists(python):
        print("jupyter_client is not in build/venv: the notebook kernel is not measured")
        return
    subprocess.run([binary, "jupyter", "install", "--prefix", scratch], check=True, stdout=subprocess.DEVNULL)
    env = dict(os.environ, JUPYTER_PATH=os.path.join(scratch, "share", "jupyter"))
    rows = {}
    for kernel in ("lunarray", "python3"):
        out = subprocess.run([python, "tests/bench/kernel_bench.py", kernel], env=env, stdout=subprocess.PIPE, text=True,
                             check=True).stdout
        rows[kernel] = json.loads(out)
    ours, theirs = rows["lunarray"], rows["python3"]
    row("kernel round trip", ours.pop("execute_ms"), "ipykernel", theirs["execute_ms"], ours.pop("floor_ms"))
    for name in ours:
        unit = {"stdout_MBps": "MB/s", "rss_mb": "MB"}.get(name, "ms")
        print(f"notebook kernel: {name:17} {ours[name]:10.3f} {unit}   ipykernel {theirs[name]:10.3f} {unit}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    ap.add_argument("--only", metavar="TEXT", help="array cases alone, those with TEXT in their names; simt: that alone; "
                    "checks: what they cost kernels with shared memory; ops: every operation in every dtype; "
                    "sweep: array expressions over dtypes, shapes and layouts")
    a = ap.parse_args()
    binary, python = os.path.abspath(os.path.join(a.build, "lunarray")), os.path.abspath("build/venv/bin/python")
    scratch = tempfile.mkdtemp(prefix="lunarray-bench-")
    try:
        if a.only == "simt":
            return software_gpu(binary, scratch)
        if a.only == "checks":
            for threads in ("1", "2"):
                print(f"checks of shared memory, {threads} thread{'s' * (threads > '1')}", flush=True)
                env = dict(os.environ, LUNARRAY_THREADS=threads)
                subprocess.run([binary, "tests/bench/check_bench.lua"], env=env, check=True)
            return None
        if a.only in ("ops", "sweep"):
            script = {"ops": "tests/bench/ops_bench.py", "sweep": "tests/bench/sweep.py"}[a.only]
            return subprocess.run([python, script, "--binary", binary]).returncode
        if a.only is not None:
            arrays(binary, python, scratch, a.only)
            return small_arrays(binary, python) if a.only == "small" else None
        start_and_launch(binary, scratch)
        arrays(binary, python, scratch)
        small_arrays(binary, python)
        software_gpu(binary, scratch)
        notebook(binary, python, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
