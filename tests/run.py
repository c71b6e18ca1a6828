#!/usr/bin/env python3
"""Runs the tests and counts them.

usage: tests/run.py [--build DIR] [--only NAME] [--threads] [--jobs N] [--cache DIR]      from the repository's root, after a build

A suite is a kind of test; what a suite consists of is found by looking, so a new file is a new test:
  unit       DIR/tests/unit/test_*           C, one process a test
  driver     DIR/tests/driver/test_*         C programs for the CUDA driver API, with the software GPU as their libcuda
  cudart     DIR/tests/cudart/test_*         CUDA C++ programs built by nvcc, with the software GPU as their CUDA runtime: skipped,
                                             file by file, where there is no nvcc
  fuzz       DIR/tests/fuzz/fuzz_*           every parser of foreign bytes over its corpus and fixed mutations of it
  lua        tests/lua/*.lua                 scripts through the binary
  generated  those of tests/lua that use products and solvers, computed by generated CUDA C on the software GPU
  stock      tests/lua/create.lua and kernel.lua by the system's lua5.4 and require "lunarray"
  simt       tests/simt/*.lua                kernels with expected results
  checked    those of tests/simt that have nothing wrong, with gpu.check(true): a report is a failure
  cuda       tests/lua, in brief, and tests/simt on cuda:0, with DIR/libcuda-simt.so in the place of NVIDIA's driver, but those
             that choose simt, NOT_ON_CUDA and BACKGROUND
  background those of tests/lua in BACKGROUND, in brief, on the same cuda:0 as a session does it: beginning with no kernels, and
             by what serves while they are compiled
  suite      the tests of Lua's authors (tests/lua_suite.py fetches them), by the binary as by lua
  tutorials  tutorials/*.ipynb               by `lunarray FILE.ipynb`; the demos, *.lua, by `lunarray --check`
  python     tests/wire, pty, jupyter, numpy  pytest: real clients, a real terminal, a real browser, NumPy as a reference
  gpu        tests/gpu/check.lua             what only a GPU shows: skipped, one by one, where there is none
With --threads, for builds with ThreadSanitizer, it is a part of these: where the product's own threads meet.
One program more than the machine has cores runs beside each other (--jobs 1: one by one).
Each test prints "ok NAME", "not ok NAME" or "skip NAME"; a program that ends badly without saying so is one failure.
One line a program says how long it took: seconds, and seconds of a processor.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET

# The suite cuda has the others' generated code, which is the same, but cuBLAS and cuSOLVER in the place of some of these'.
GENERATED = ["contract", "linalg", "networks"]
# Sanitizers see the code of the host alone, which is the same whatever was generated or checked, and wherever it ran. Under the
# address sanitizer these come by all of it but a branch of 750, as counts by gcc --coverage say, with the scripts, the unit tests,
# the fuzzers and the tutorials that are not left out: all is run without sanitizers.
GENERATED_SANITIZED = ["random", "sort"]
CHECKED_SANITIZED = ["cluster", "heap", "learning", "linear", "surface", "texture"]
CUDA_SANITIZED = ["create", "kernel", "streams"]
CUDA_KERNELS_SANITIZED = ["globals", "printf"]
NOT_SANITIZED = ["broadcast", "convert", "create", "divisors", "dlpack", "finite", "kernel", "language", "large", "narrow",
                 "random", "rows", "shift", "sums", "turned"]
UNITS_NOT_SANITIZED = ["test_generated", "test_random", "test_simt_dialects"]
KERNELS_NOT_SANITIZED = ["again", "alone", "async", "atomics", "chosen", "clean", "clean_global", "cluster", "compiled",
                         "compiled_blocks", "cooperative", "digits", "divisions", "edges", "elements", "equal", "faulty_atomics",
                         "faulty_copies", "faulty_globals", "faulty_suites", "faulty_threads", "fences", "fitting", "functions",
                         "globals", "graph", "grid", "groups", "guide", "half_lines", "halves", "headers", "histogram", "image",
                         "joins", "known", "language", "learning", "library", "linear", "listed", "local", "mandelbrot",
                         "many_lines", "matmul", "modern", "multicast", "own_loads", "parted", "parted_checks", "parts",
                         "parts_by_chance", "phases", "physics", "picked", "printf", "reduction", "reread", "rows_by_chance",
                         "saxpy", "scan", "scattered", "signal", "small_blocks", "sort", "sparse", "stencil", "stretches",
                         "strings", "surface", "swaps", "texture", "transpose", "wanted", "warps", "written"]
# These on cuda:0 would only compile once more what test_generated has of each operation and tests/numpy of each function, or are
# about what the host or Lua does before anything is generated.
NOT_ON_CUDA = ["describe", "divisors", "docs", "finite", "kernel_hints", "keywords", "keywords_alone", "narrow", "ops",
               "small", "sums", "turned"]
# Expressions, reductions, sorts and writes of every layout. Each kernel is compiled twice there, in a hurry first.
BACKGROUND = ["arranged", "broadcast", "generic", "index", "lazy", "reduce", "scan", "sort", "views"]
# Of these the sanitized build runs fewer sizes and types, since the other one runs all: what is left comes by all code, and by
# all threads.
LUA_BRIEF = ["reduce", "sort", "signal"]
STOCK = ["create", "kernel"]
CHECKED = ["async", "cluster", "cooperative", "functions", "graph", "grid", "guide", "heap", "histogram", "image", "language",
           "fitting", "learning", "library", "linear", "mandelbrot", "matmul", "matrix", "physics", "reduction", "resident", "saxpy",
           "scan", "signal", "small_blocks", "sort", "sparse", "stencil", "surface", "texture", "transpose", "warps"]
# What ThreadSanitizer watches, on several threads whatever the machine has. None of these leaves its work to a library
# that it can't see into (OpenBLAS, ZeroMQ).
THREADS = {
    "unit": ["test_threads", "test_background", "test_memory", "test_simt_exec", "test_simt_driver", "test_session_interrupt",
             "test_study", "test_simt_tally", "test_simt_masked"],
    "driver": ["test_clusters", "test_contexts", "test_launches", "test_memory", "test_queue"],
    "lua": ["profile", "trace", "reduce", "sums", "rows", "convert", "ops", "narrow"],
    "simt": ["atomics", "cluster", "cooperative", "grid", "printf", "reduction", "resident", "scan", "scattered", "scopes",
             "stretches", "updated", "warps"],
    "checked": ["cluster", "graph", "grid", "reduction", "scan", "sort"],
}


# Seconds until a program that does not end is given up: many times what the slowest takes on a machine that is busy otherwise.
PATIENCE = 1200


class Runner:
    def __init__(self, build, only, jobs, cache):
        self.build, self.only, self.start = build, only, time.monotonic()
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.waiting, self.running = [], set()
        self.reporting = threading.Lock()  # held by the one that reads a program's results
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures = []
        self.scratch = tempfile.mkdtemp(prefix="lunarray-test-")
        self.binary = os.path.join(build, "lunarray")
        self.env = dict(os.environ)
        self.env.update(
            LUNARRAY=os.path.abspath(self.binary),
            LUNARRAY_CACHE_DIR=os.path.abspath(cache) if cache else os.path.join(self.scratch, "cache"),
            # What serves until generated code is compiled, and that code without hurry, have a suite of their own.
            LUNARRAY_COMPILE="hurry",
            LUNARRAY_HISTORY="",
            LUNARRAY_GNUPLOT="cat",  # plots show as what gnuplot would be told; tests that want it itself say so
            XDG_STATE_HOME=os.path.join(self.scratch, "state"),
            XDG_CONFIG_HOME=os.path.join(self.scratch, "config"),
            JUPYTER_CONFIG_DIR=os.path.join(self.scratch, "jupyter"),
            IPYTHONDIR=os.path.join(self.scratch, "ipython"),
            # LeakSanitizer takes thread-local storage that begins 16 bytes into a page for glibc 2.19's and follows what
            # stands before it; red zones of 256 bytes let none begin there. What is freed is kept for 64 MB more, instead of 256:
            # to fill and take back pages for it is what the system does most here.
            ASAN_OPTIONS="detect_stack_use_after_return=0:allocator_may_return_null=1:redzone=256:quarantine_size_mb=64",
            UBSAN_OPTIONS="print_stacktrace=1",
            # Else each of Python's programs would compile all that it imports, which takes pytest three times as long to start.
            PYTHONDONTWRITEBYTECODE="",
            PYTHONPYCACHEPREFIX=os.path.abspath("build/pycache"),
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

    def run(self, command, env=None):
        """Returns a program's output, its exit status or why it has none, and how long it took, in words: the seconds until
        its end, and those of a processor that it and what it waited for used."""
        start, late = time.monotonic(), threading.Event()
        with subprocess.Popen(command, env={**self.env, **(env or {})}, text=True, errors="replace", start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as p:
            self.running.add(p.pid)
            patience = threading.Timer(PATIENCE, lambda: (late.set(), self.kill(p.pid)))
            patience.start()
            output = p.stdout.read()
            _, status, used = os.wait4(p.pid, 0)
            patience.cancel()
            p.returncode = os.waitstatus_to_exitcode(status)
            self.running.discard(p.pid)
        took = f"{time.monotonic() - start:7.2f} s {used.ru_utime + used.ru_stime:7.2f} s"
        return output, f"no end within {PATIENCE} s" if late.is_set() else p.returncode, took

    def kill(self, group):
        """Ends a program and what it started, which holds the pipe, too."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def interrupt(self):
        self.pool.shutdown(wait=False, cancel_futures=True)
        for group in list(self.running):
            self.kill(group)

    def program(self, name, command, env=None):
        output, status, took = self.run(command, env)
        with self.reporting:
            failed_before = self.counts["failed"]
            seen = self.read_lines(name, output)
            if self.counts["failed"] == failed_before and (status != 0 or seen == 0):
                why = f"exit status {status}" if status != 0 else "it reported no test"
                self.count("failed", f"{name}: {why}", "\n".join("    " + l for l in output.splitlines()[-40:]))
            print(f"{took}  {name}", flush=True)

    def programs(self, suite, pattern, names=None, env=None, but=()):
        for path in sorted(glob.glob(os.path.join(self.build, "tests", suite, pattern))):
            name = os.path.basename(path)
            if not name.endswith(".d") and self.wanted(suite, name) and (names is None or name in names) and name not in but:
                self.later(self.program, name, [path], env)

    def runtime(self):
        built = os.path.join(self.build, "tests", "cudart")
        for path in sorted(glob.glob("tests/cudart/test_*.cu")):
            name = os.path.basename(path)[:-3]
            if self.wanted("cudart", name) and not os.path.exists(os.path.join(built, name)):
                with self.reporting:
                    self.count("skipped", f"cudart/{name}: no nvcc built it")
        self.programs("cudart", "test_*")

    def has_line(self, path, beginning):
        with open(path, encoding="utf-8", errors="replace") as f:
            return any(line.startswith(beginning) for line in f)

    def scripts(self, suite, folder, names=None, command=None, env=None, brief=(), eight=(), but=()):
        not_on_cuda = NOT_ON_CUDA + (BACKGROUND if folder == "lua" and "asan" not in self.build else [])
        for path in sorted(glob.glob(f"tests/{folder}/*.lua")):
            name = os.path.basename(path)[:-4]
            if name in but or suite == "cuda" and (name in not_on_cuda or self.has_line(path, 'gpu.device("simt")')):
                continue  # it would run much the same once more
            if name != "test" and (names is None or name in names) and self.wanted(suite, f"{suite}/{name}.lua"):
                self.later(self.program, f"{suite}/{name}", (command or [self.binary]) + [path],
                           {**(env or {}), **({"LUNARRAY_TEST_BRIEF": "1"} if name in brief else {}),
                            **({"LUNARRAY_THREADS": "8"} if name in eight else {})})

    def stock(self):
        lua = shutil.which("lua5.4")
        if not lua or "asan" in self.build:  # a sanitizer's runtime must be in the program itself
            return
        self.scripts("stock", "lua", STOCK, [lua], {"LUA_CPATH": os.path.abspath(self.build) + "/?.so"})

    def lua_suite(self):
        if self.wanted("suite"):
            self.later(self.authors_tests, os.path.join("build", "lua-suite"))

    def authors_tests(self, folder):
        name = "the tests of Lua's authors"
        if not os.path.exists(os.path.join(folder, "all.lua")):
            with self.reporting:
                self.count("skipped", name)
            return
        # _U leaves out what only their own build of Lua passes.
        output, status, took = self.run(["env", "-C", folder, os.path.abspath(self.binary), "-e", "_U = true", "all.lua"])
        with self.reporting:
            self.count("passed" if status == 0 and "final OK" in output else "failed", name, output[-2000:])
            print(f"{took}  {name}", flush=True)

    def tutorials(self):
        for path in sorted(glob.glob("tutorials/*.ipynb") + glob.glob("tutorials/*.lua")):
            if self.wanted("tutorials", path):
                self.later(self.tutorial, path)

    def tutorial(self, path):
        check = ["--check"] if path.endswith(".lua") else []
        output, status, took = self.run([self.binary, *check, path])
        with self.reporting:
            self.count("passed" if status == 0 else "failed", path, output[-2000:])
            print(f"{took}  {path}", flush=True)

    def python(self):
        """The slowest: to be started first. The browser's tests are one process, the others a few for each folder."""
        for folder, processes in ("jupyter", 1), ("numpy", 4), ("wire", 2), ("pty", 4):
            if folder == "jupyter" and "asan" in self.build:  # its clients send what the tests of the wire do
                continue
            files = [f for f in sorted(glob.glob(f"tests/{folder}/test_*.py")) if self.wanted("python", folder, f)]
            for part in [files[i::processes] for i in range(min(processes, len(files)))]:
                self.later(self.pytest, part)

    def pytest(self, files):
        name = " ".join(files)
        if not os.path.exists(self.venv):
            with self.reporting:
                self.count("failed", name, f"    {self.venv} is missing: make test-deps")
            return
        report = os.path.join(self.scratch, os.path.basename(files[0]) + ".xml")
        sanitized = "asan" in self.build and "numpy" in name
        choice = ["-k", "not generated"] if sanitized else []  # see GENERATED_SANITIZED
        brief = {"LUNARRAY_TEST_BRIEF": "1"} if sanitized else {}  # the build without sanitizers runs all random cases
        # JupyterLab brings the plugin anyio along, which takes longer to import than pytest.
        output, status, took = self.run([self.venv, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:anyio", "--timeout=600",
                                            "--tb=short", f"--junit-xml={report}", *choice, *files], {
            **brief,
            # NumPy's threads would turn on processors that the other programs have.
            "OPENBLAS_NUM_THREADS": "1"})
        with self.reporting:
            failed_before = self.counts["failed"]
            seen = self.read_junit(report)
            if self.counts["failed"] == failed_before and (status != 0 or seen == 0):
                self.count("failed", f"pytest {name}: exit status {status}", output[-3000:])
            print(f"{took}  pytest {name}", flush=True)

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
        # Each process, of which these tests have many, would sleep for a second at its end to let other threads race.
        options = "suppressions=tests/threads.supp:atexit_sleep_ms=20"
        env = {"LUNARRAY_THREADS": "4", "TSAN_OPTIONS": options, "LUNARRAY_TEST_BRIEF": "1"}
        self.programs("unit", "test_*", THREADS["unit"], {"TSAN_OPTIONS": options})
        self.programs("driver", "test_*", THREADS["driver"], env)
        # Arrays of both of the host's devices go through the same loops and threads.
        self.scripts("lua", "lua", THREADS["lua"], env={**env, "LUNARRAY_TEST_DEVICES": "simt"})
        self.scripts("simt", "simt", THREADS["simt"], env=env)
        self.scripts("checked", "simt", THREADS["checked"], env={**env, "LUNARRAY_TEST_CHECK": "1"})

    def everything(self):
        self.python()
        sanitized = "asan" in self.build
        self.programs("unit", "test_*", but=UNITS_NOT_SANITIZED if sanitized else ())
        self.programs("driver", "test_*")
        self.runtime()
        self.programs("fuzz", "fuzz_*")
        self.scripts("lua", "lua", brief=LUA_BRIEF if sanitized else (), but=NOT_SANITIZED if sanitized else ())
        brief = {"LUNARRAY_TEST_BRIEF": "1"} if sanitized else {}
        generated = {"LUNARRAY_GENERATED": "1", "LUNARRAY_TEST_DEVICES": "simt", **brief}
        self.scripts("generated", "lua", GENERATED_SANITIZED if sanitized else GENERATED, env=generated)
        # What runs again on other numbers of threads does so alone with sanitizers: t.on_threads begins nothing then.
        others = [os.path.basename(p)[:-4] for p in glob.glob("tests/simt/*.lua") if self.has_line(p, "t.on_threads(")]
        self.scripts("simt", "simt", env=brief, eight=others if sanitized else (), but=KERNELS_NOT_SANITIZED if sanitized else ())
        self.scripts("checked", "simt", CHECKED_SANITIZED if sanitized else CHECKED, env={"LUNARRAY_TEST_CHECK": "1", **brief})
        cuda = {"LUNARRAY_CUDA": os.path.join(self.build, "libcuda-simt.so"), "LUNARRAY_DEVICE": "cuda",
                "LUNARRAY_CUBLAS": os.path.join(self.build, "tests/driver/libcublas.so.13"),
                "LUNARRAY_CUSOLVER": os.path.join(self.build, "tests/driver/libcusolver.so.12"),
                "LUNARRAY_CUFFT": "none",  # it does not run on the software GPU
                "LUNARRAY_TEST_DEVICES": "cuda:0"}
        self.scripts("cuda", "lua", CUDA_SANITIZED if sanitized else None, env={**cuda, "LUNARRAY_TEST_BRIEF": "1"})
        self.scripts("cuda", "simt", CUDA_KERNELS_SANITIZED if sanitized else None, env=cuda)
        for name in () if sanitized else BACKGROUND:
            self.scripts("background", "lua", [name], env={
                **cuda, "LUNARRAY_TEST_BRIEF": "1", "LUNARRAY_COMPILE": "background",
                "LUNARRAY_CACHE_DIR": os.path.join(self.scratch, "background", name)})
        self.stock()
        self.lua_suite()
        self.tutorials()
        self.gpu()

    def close(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        with open(os.path.join(self.build, "test-counts.json"), "w") as f:
            json.dump(self.counts, f)
        for name in self.failures:
            print(f"failed: {name}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{time.monotonic() - self.start:7.2f} s {used.ru_utime + used.ru_stime:7.2f} s  all of {self.build}")
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**self.counts))
        return 1 if self.counts["failed"] or not sum(self.counts.values()) else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build")
    ap.add_argument("--only")
    # One more than there are cores: some wait for a terminal, a browser or a client.
    ap.add_argument("--jobs", type=int, default=os.cpu_count() + 1)
    ap.add_argument("--cache", help="compiled kernels, kept for the next run; without it each run begins with none")
    ap.add_argument("--threads", action="store_true", help="only the tests of threaded code")
    ap.add_argument("--list", action="store_true", help="with --threads: names what to build for them instead")
    a = ap.parse_args()
    if a.list:
        print(os.path.join(a.build, "lunarray"), *[os.path.join(a.build, "tests", s, name) for s in ("unit", "driver") for name in THREADS[s]])
        return 0
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup tests would inherit that it is ignored
    r = Runner(a.build, a.only, a.jobs, a.cache)
    try:
        r.threads() if a.threads else r.everything()
        r.wait()
    except KeyboardInterrupt:
        r.interrupt()
        raise SystemExit(130)
    finally:
        status = r.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
