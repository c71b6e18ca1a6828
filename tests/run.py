#!/usr/bin/env python3
"""Runs the tests and counts them.

usage: tests/run.py [--build DIR] [--only NAME] [--threads] [--jobs N] [--cache DIR]      from the repository's root, after a build

A suite is a kind of test; what a suite consists of is found by looking, so a new file is a new test:
  unit       DIR/tests/unit/test_*           C, one process a test
  driver     DIR/tests/driver/test_*         C programs for the CUDA driver API, with the software GPU as their libcuda
  fuzz       DIR/tests/fuzz/fuzz_*           every parser of foreign bytes over its corpus and fixed mutations of it
  lua        tests/lua/*.lua                 scripts through the binary
  generated  those of tests/lua that use array operations, computed by generated CUDA C on the software GPU
  stock      tests/lua/create.lua and kernel.lua by the system's lua5.4 and require "lunarray"
  simt       tests/simt/*.lua                kernels with expected results
  checked    those of tests/simt that have nothing wrong, with gpu.check(true): a report is a failure
  cuda       both of the above on cuda:0, with DIR/libcuda-simt.so in the place of NVIDIA's driver
  tutorials  tutorials/*.ipynb               by `lunarray FILE.ipynb`
  python     tests/wire, pty, jupyter, numpy  pytest: real clients, a real terminal, a real browser, NumPy as a reference
  gpu        tests/gpu/check.lua             what only a GPU shows: skipped, one by one, where there is none
With --threads, for builds with ThreadSanitizer, it is a part of these: where the product's own threads meet.
As many programs run beside each other as the machine has cores (--jobs 1: one by one).
Each test prints "ok NAME", "not ok NAME" or "skip NAME"; a program that ends badly without saying so is one failure.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET

GENERATED = ["ops", "reduce", "statistics", "convert", "index", "gather", "rearrange", "random", "scan", "contract", "sort", "linalg", "order", "explain", "conv", "sparse", "complex", "fft"]
STOCK = ["create", "kernel"]
CHECKED = ["async", "cooperative", "functions", "graph", "grid", "guide", "heap", "histogram", "image", "language",
           "learning", "linear", "mandelbrot", "matmul", "matrix", "physics", "reduction", "resident", "saxpy",
           "scan", "signal", "sort", "sparse", "stencil", "surface", "texture", "transpose", "warps"]
# What ThreadSanitizer watches, on several threads whatever the machine has. None of these leaves its work to a library
# that it can't see into (OpenBLAS, ZeroMQ).
THREADS = {
    "unit": ["test_threads", "test_background", "test_memory", "test_simt_exec", "test_simt_driver", "test_session",
             "test_study", "test_simt_tally"],
    "driver": ["test_contexts", "test_launches", "test_memory"],
    "lua": ["profile", "trace", "reduce", "convert", "ops"],
    "simt": ["atomics", "cooperative", "grid", "printf", "reduction", "resident", "scan", "warps"],
    "checked": ["graph", "grid", "reduction", "scan", "sort"],
}


class Runner:
    def __init__(self, build, only, jobs, cache):
        self.build, self.only = build, only
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.waiting = []
        self.reporting = threading.Lock()  # held by the one that reads a program's results
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures = []
        self.scratch = tempfile.mkdtemp(prefix="lunarray-test-")
        self.binary = os.path.join(build, "lunarray")
        self.env = dict(os.environ)
        self.env.update(
            LUNARRAY=os.path.abspath(self.binary),
            LUNARRAY_CACHE_DIR=os.path.abspath(cache) if cache else os.path.join(self.scratch, "cache"),
            LUNARRAY_COMPILE="wait",  # generated code is what is tested, and not what serves until it is compiled
            LUNARRAY_HISTORY="",
            LUNARRAY_GNUPLOT="cat",  # plots show as what gnuplot would be told; tests that want it itself say so
            XDG_STATE_HOME=os.path.join(self.scratch, "state"),
            XDG_CONFIG_HOME=os.path.join(self.scratch, "config"),
            JUPYTER_CONFIG_DIR=os.path.join(self.scratch, "jupyter"),
            IPYTHONDIR=os.path.join(self.scratch, "ipython"),
            # LeakSanitizer takes thread-local storage that begins 16 bytes into a page for glibc 2.19's and follows what
            # stands before it; red zones of 256 bytes let none begin there.
            ASAN_OPTIONS="detect_stack_use_after_return=0:allocator_may_return_null=1:redzone=256",
            UBSAN_OPTIONS="print_stacktrace=1",
        )
        self.venv = os.path.join("build", "venv", "bin", "python")

    def wanted(self, *names):
        return not self.only or any(self.only in n for n in names)

    def count(self, kind, name, detail=""):
        self.counts[kind] += 1
        if kind == "failed":
            self.failures.append(name)
            print(f"  FAILED {name}\n{detail}", flush=True)

    def read_lines(self, program, output):
        """Counts the lines of the protocol; returns how many there were."""
        seen, detail = 0, []
        for line in output.splitlines():
            word, _, rest = line.partition(" ")
            if line.startswith("not ok "):
                self.count("failed", f"{program}: {line[7:]}", "\n".join("    " + d for d in detail[-40:]))
            elif word == "ok" and rest:
                self.count("passed", rest)
            elif word == "skip" and rest:
                self.count("skipped", rest)
            else:
                detail.append(line)
                continue
            seen, detail = seen + 1, []
        return seen

    def later(self, task, *args):
        self.waiting.append(self.pool.submit(task, *args))

    def wait(self):
        for task in self.waiting:
            task.result()

    def run(self, command, timeout, env=None):
        """Returns a program's output, its exit status or why it has none, and the seconds it took."""
        start = time.monotonic()
        try:
            p = subprocess.run(command, env={**self.env, **(env or {})}, timeout=timeout, text=True, errors="replace",
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            output, status = p.stdout, p.returncode
        except subprocess.TimeoutExpired as e:
            output = e.stdout.decode(errors="replace") if isinstance(e.stdout, bytes) else (e.stdout or "")
            status = f"no end within {timeout} s"
        return output, status, time.monotonic() - start

    def program(self, name, command, env=None):
        output, status, seconds = self.run(command, 900, env)
        with self.reporting:
            failed_before = self.counts["failed"]
            seen = self.read_lines(name, output)
            if self.counts["failed"] == failed_before and (status != 0 or seen == 0):
                why = f"exit status {status}" if status != 0 else "it reported no test"
                self.count("failed", f"{name}: {why}", "\n".join("    " + l for l in output.splitlines()[-40:]))
            print(f"{seconds:7.2f} s  {name}", flush=True)

    def programs(self, suite, pattern, names=None, env=None):
        for path in sorted(glob.glob(os.path.join(self.build, "tests", suite, pattern))):
            name = os.path.basename(path)
            if not name.endswith(".d") and self.wanted(suite, name) and (names is None or name in names):
                self.later(self.program, name, [path], env)

    def scripts(self, suite, folder, names=None, command=None, env=None):
        for path in sorted(glob.glob(f"tests/{folder}/*.lua")):
            name = os.path.basename(path)[:-4]
            if name != "test" and (names is None or name in names) and self.wanted(suite, name):
                self.later(self.program, f"{suite}/{name}", (command or [self.binary]) + [path], env)

    def stock(self):
        lua = shutil.which("lua5.4")
        if not lua or "asan" in self.build:  # a sanitizer's runtime must be in the program itself
            return
        self.scripts("stock", "lua", STOCK, [lua], {"LUA_CPATH": os.path.abspath(self.build) + "/?.so"})

    def tutorials(self):
        for path in sorted(glob.glob("tutorials/*.ipynb")):
            if self.wanted("tutorials", path):
                self.later(self.tutorial, path)

    def tutorial(self, path):
        output, status, _ = self.run([self.binary, path], 600)
        with self.reporting:
            self.count("passed" if status == 0 else "failed", path, output[-2000:])

    def python(self):
        """The slowest: to be started first. The browser's tests are one process, the others one for each file."""
        for folder, together in ("jupyter", True), ("numpy", False), ("wire", False), ("pty", False):
            files = [f for f in sorted(glob.glob(f"tests/{folder}/test_*.py")) if self.wanted("python", folder, f)]
            for part in [files] if together and files else [[f] for f in files]:
                self.later(self.pytest, part)

    def pytest(self, files):
        name = " ".join(files)
        if not os.path.exists(self.venv):
            with self.reporting:
                self.count("failed", name, f"    {self.venv} is missing: make test-deps")
            return
        report = os.path.join(self.scratch, os.path.basename(files[0]) + ".xml")
        output, status, seconds = self.run([self.venv, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=600", "--tb=short",
                                            f"--junit-xml={report}", *files], 1800, {"PYTHONDONTWRITEBYTECODE": "1"})
        with self.reporting:
            failed_before = self.counts["failed"]
            seen = self.read_junit(report)
            if self.counts["failed"] == failed_before and (status != 0 or seen == 0):
                self.count("failed", f"pytest {name}: exit status {status}", output[-3000:])
            print(f"{seconds:7.2f} s  pytest {name}", flush=True)

    def read_junit(self, report):
        if not os.path.exists(report):
            return 0
        cases = list(ET.parse(report).getroot().iter("testcase"))
        for case in cases:
            bad = [c for c in case if c.tag in ("failure", "error")]
            skip = [c for c in case if c.tag == "skipped"]
            kind = "failed" if bad else "skipped" if skip else "passed"
            self.count(kind, f"{case.get('classname')}.{case.get('name')}",
                       "\n".join("    " + l for c in bad for l in (c.text or "").splitlines()[-40:]))
        return len(cases)

    def gpu(self):
        if os.path.exists("tests/gpu/check.lua") and self.wanted("gpu"):
            self.later(self.program, "gpu", [self.binary, "tests/gpu/check.lua", "--list"])

    def threads(self):
        env = {"LUNARRAY_THREADS": "4", "TSAN_OPTIONS": "suppressions=tests/threads.supp"}
        self.programs("unit", "test_*", THREADS["unit"], {"TSAN_OPTIONS": env["TSAN_OPTIONS"]})
        self.programs("driver", "test_*", THREADS["driver"], env)
        self.scripts("lua", "lua", THREADS["lua"], env=env)
        self.scripts("simt", "simt", THREADS["simt"], env=env)
        self.scripts("checked", "simt", THREADS["checked"], env={**env, "LUNARRAY_TEST_CHECK": "1"})

    def everything(self):
        self.python()
        self.programs("unit", "test_*")
        self.programs("driver", "test_*")
        self.programs("fuzz", "fuzz_*")
        self.scripts("lua", "lua")
        self.scripts("generated", "lua", GENERATED, env={"LUNARRAY_GENERATED": "1", "LUNARRAY_TEST_DEVICES": "simt"})
        self.scripts("simt", "simt")
        self.scripts("checked", "simt", CHECKED, env={"LUNARRAY_TEST_CHECK": "1"})
        cuda = {"LUNARRAY_CUDA": os.path.join(self.build, "libcuda-simt.so"), "LUNARRAY_DEVICE": "cuda",
                "LUNARRAY_CUBLAS": os.path.join(self.build, "tests/driver/libcublas.so.13"),
                "LUNARRAY_CUSOLVER": os.path.join(self.build, "tests/driver/libcusolver.so.12"),
                "LUNARRAY_CUFFT": "none",  # it does not run on the software GPU
                "LUNARRAY_TEST_DEVICES": "cuda:0"}
        self.scripts("cuda", "lua", env=cuda)
        self.scripts("cuda", "simt", env=cuda)
        self.stock()
        self.tutorials()
        self.gpu()

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        with open(os.path.join(self.build, "test-counts.json"), "w") as f:
            json.dump(self.counts, f)
        for name in self.failures:
            print(f"failed: {name}")
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**self.counts))
        return 1 if self.counts["failed"] or not sum(self.counts.values()) else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build")
    ap.add_argument("--only")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--cache", help="compiled kernels, kept for the next run; without it each run begins with none")
    ap.add_argument("--threads", action="store_true", help="only the tests of threaded code")
    ap.add_argument("--list", action="store_true", help="with --threads: names the unit tests to build instead")
    a = ap.parse_args()
    if a.list:
        print(*[os.path.join(a.build, "tests", "unit", name) for name in THREADS["unit"]])
        return 0
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    r = Runner(a.build, a.only, a.jobs, a.cache)
    try:
        r.threads() if a.threads else r.everything()
        r.wait()
    finally:
        status = r.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
