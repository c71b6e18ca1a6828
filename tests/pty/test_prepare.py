"""Kernels that are made before anybody needs them: by `lunarray prepare`, and beside a session that uses a GPU, for which
the software GPU's driver stands in."""

import hashlib
import os
import re
import signal
import struct
import subprocess
import time

import pytest
from terminal import BINARY, PATIENCE, ready

DRIVER = os.path.join(os.path.dirname(BINARY), "libcuda-simt.so")
GPU = {"LUNARRAY_CUDA": DRIVER, "LUNARRAY_DEVICE": ""}
CAPABILITY = "8.0"  # the driver's
SCHED_IDLE, POLICY, GROUP = 5, 38, 2  # fields of /proc/PID/stat behind the name
# Of float32, which is made first; each of them waits for one compiler at least where nothing is prepared.
FIRST = """
local x = gpu.rand(1000)
local m = gpu.ones({ 100, 100 })
for _, f in ipairs { function() return x + x end, function() return x * 2 + 1 end, function() return x:sum() end,
    function() return m:mean(2) end, function() return m:softmax(2) end, function() return x:sort() end,
    function() return x:cumsum() end, function() return x[x:gt(0.5)] end, function() return x:std() end,
    function() return tostring(x) end, function() return m.T:copy() end, function() return m:matmul(m) end } do
  local r = f()
  if type(r) == "userdata" then gpu.evaluate(r) end
end
"""


@pytest.fixture(autouse=True)
def compiler():
    if subprocess.run([BINARY, "-e", "gpu.kernel('__global__ void k() {}', { device = 'simt' })"], capture_output=True).returncode:
        pytest.skip("no NVRTC")


def kept(env):
    folder = env["LUNARRAY_CACHE_DIR"]
    return {name for name in os.listdir(folder) if not name.startswith(".")} if os.path.isdir(folder) else set()


def cubins(env):
    """How many files of the cache are machine code."""
    count = 0
    for name in kept(env):
        with open(os.path.join(env["LUNARRAY_CACHE_DIR"], name), "rb") as f:
            count += f.read(68)[64:] == b"\x7fELF"
    return count


def preparing(pid):
    """The numbers of the processes that prepare for this one."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/children") as f:
            for child in f.read().split():
                try:
                    with open(f"/proc/{child}/cmdline") as words:
                        if words.read().split("\0")[1:2] == ["prepare"]:
                            found.append(int(child))
                except FileNotFoundError:
                    pass
    return found


def stat(pid, field):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[field])


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def beside(t):
    """The process that prepares beside the terminal's shell, once it is one."""
    found = []

    def begun():
        found[:] = preparing(t.child.pid)
        return bool(found)

    until(begun)
    return found[0]


# Nearly all of that is NVRTC's work, which sanitizers do not see; what they see of it the tests below come by, too.
@pytest.mark.skipif("asan" in BINARY, reason="the build without sanitizers has made them all")
def test_first_uses_compile_nothing_afterwards(env):
    env.update(GPU, LUNARRAY_COMPILE="wait")

    def prepare(*words):
        run = subprocess.run([BINARY, "prepare", CAPABILITY, *words], env=env, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        return run.stdout

    made = re.fullmatch(r"float32: (\d+) kernels\n\1 kernels for compute capability 8.0, made in \d+ s\n", prepare("float32"))
    assert made and int(made[1]) > 100
    assert prepare("float32") == "the kernels for compute capability 8.0 are there already\n"
    before = kept(env)
    assert cubins(env) >= int(made[1]) // 2
    env["LUNARRAY_COMPILE"] = "background"
    run = subprocess.run([BINARY, "-e", FIRST], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    compiled = kept(env) - before
    # x * 2 + 1 is a program of its own: operations that are ready serve until it is, too.
    assert len(compiled) <= 1, len(compiled)
    p = subprocess.Popen([BINARY, "prepare", CAPABILITY], env=env, stdout=subprocess.PIPE, text=True)
    assert re.fullmatch(r"float32: \d+ kernels\n", p.stdout.readline())  # of the others nothing is there, so it works on
    p.kill()
    p.wait()
    p.stdout.close()


def test_beside_a_session(env, terminal):
    t = ready(terminal, **GPU)
    t.send("1 + 1\r")
    t.at_prompt(2)
    assert not preparing(t.child.pid)
    t.send("gpu.ones(3):sum()\r")
    t.at_prompt(3)
    pid = beside(t)
    until(lambda: stat(pid, POLICY) == SCHED_IDLE)
    assert stat(pid, GROUP) == pid
    with open(f"/proc/{pid}/oom_score_adj") as f:
        assert f.read() == "1000\n"
    until(lambda: len(kept(env)) > 20)
    t.send("while true do end\r")
    t.wait(lambda t: "while true do end" in t.lines()[-1])
    time.sleep(0.3)
    t.send("\x03")
    t.at_prompt(4)
    assert is_there(pid)
    t.send("x = 'still here'\r")
    t.at_prompt(5)
    assert preparing(t.child.pid) == [pid]
    t.send("\x04")
    assert t.ended() == 0
    until(lambda: not is_there(pid))


def test_it_ends_with_a_session_that_is_killed(env, terminal):
    t = ready(terminal, **GPU)
    t.send("gpu.ones(3):sum()\r")
    t.at_prompt(2)
    pid = beside(t)
    until(lambda: len(kept(env)) > 5)
    t.child.kill(signal.SIGKILL)
    until(lambda: not is_there(pid))


@pytest.mark.parametrize("changes", [{"LUNARRAY_COMPILE": "wait", **GPU}, {"LUNARRAY_DEVICE": "simt"}, {"LUNARRAY_DEVICE": "cpu"}])
def test_not_where_nobody_gains(terminal, changes):
    t = ready(terminal, **changes)
    for i in range(2, 5):
        t.send("gpu.ones(3):sum()\r")
        t.at_prompt(i)
    assert not preparing(t.child.pid)


def test_not_beside_scripts(env, tmp_path):
    script = tmp_path / "script.lua"
    script.write_text("gpu.ones(3):sum() local f <close> = io.open('/proc/thread-self/children') print(f:read('a'))")
    run = subprocess.run([BINARY, str(script)], env={**env, **GPU}, capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.strip() == "", run.stdout + run.stderr


def entry(*fields):
    """A file of the cache."""
    body = b"".join(struct.pack("<Q", len(field)) + field + b"\0" for field in fields)
    return b"lunarra1" + struct.pack("<QQ", len(fields), len(body)) + hashlib.sha256(body).digest() + body


def cubin_name(ptx, capability):
    """That of the machine code that goes with the PTX."""
    parts = (b"cubin 1", ptx.encode(), struct.pack("<i", capability))
    return hashlib.sha256(b"".join(struct.pack("<Q", len(part)) + part for part in parts)).hexdigest()


def test_machine_code_is_taken_before_ptx(env):
    """Other PTX lies in the place of machine code, which the software GPU's driver does not take."""
    code = """local k = gpu.kernel("__global__ void k(int *x) { *x = 4711; }") local x = gpu.zeros(1, "int32") k(1, 1)(x) print(x[1]) print(k.ptx)"""

    def result(device):
        run = subprocess.run([BINARY, "-e", code], env={**env, **GPU, "LUNARRAY_DEVICE": device}, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        value, _, ptx = run.stdout.partition("\n")
        return value, ptx[:-1]

    value, ptx = result("cuda")
    assert value == "4711" and ptx.count("4711") == 1
    path = os.path.join(env["LUNARRAY_CACHE_DIR"], cubin_name(ptx, 80))
    for image, wanted in ((ptx.replace("4711", "1234").encode(), "1234"), (b"\x7fELF and so on", "4711"), (b"", "4711")):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(entry(image))
        assert result("cuda") == (wanted, ptx) and result("simt") == ("4711", ptx)


def test_in_a_hurry(env):
    """A kernel that is compiled so is another one in the cache, and computes the same."""
    def new(how):
        before = kept(env)
        run = subprocess.run([BINARY, "-e", "print((gpu.ones(1000) + 1):sum())"], env={**env, **GPU, "LUNARRAY_COMPILE": how}, capture_output=True,
                             text=True)
        assert run.stdout == "2000.0\n", run.stderr
        return len(kept(env) - before)

    assert new("hurry") > 0 and new("wait") > 0 and new("hurry") == 0 and new("wait") == 0


def test_what_is_asked_for_wrongly(env):
    for words, said in ((["nine"], "usage: lunarray prepare [CAPABILITY [DTYPE]]"), (["9.0", "float32", "bool"], "usage:"), (["9.0", "floot"], "no dtype floot"), ([], "there is no GPU here"),
                        (["1.0"], "compiles for compute capability")):
        run = subprocess.run([BINARY, "prepare", *words], env={**env, "LUNARRAY_CUDA": "/nowhere"}, capture_output=True, text=True)
        assert run.returncode == 1 and said in run.stderr, run.stderr
    run = subprocess.run([BINARY, "prepare", "9.0"], env={**env, "LUNARRAY_CACHE_DIR": ""}, capture_output=True, text=True)
    assert run.returncode == 1 and "LUNARRAY_CACHE_DIR" in run.stderr
    # Who started it has ended already.
    before = kept(env)
    run = subprocess.run([BINARY, "prepare", "--beside=1", "9.0"], env=env, capture_output=True, text=True)
    assert run.returncode == 0 and kept(env) == before
