"""What the README shows in the terminal is what comes there."""

import re

import pytest

BLOCKS = [b for b in re.findall(r"```\w*\n(.*?)```", open("README.md").read(), re.S)]

# What the reader has to think of before the later ones.
BEFORE = {
    "reverse": ["", "x = gpu.ones(256)", '''reverse = gpu.kernel [[
  __global__ void reverse(float *x) {
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[255 - threadIdx.x];
  }
]]'''],
    "transpose": ["a, b = gpu.ones(1024, 1024), gpu.zeros(1024, 1024)", '''transpose = gpu.kernel [[
__global__ void transpose(int n, const float *a, float *b) {
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  b[x * n + y] = a[y * n + x];
}
]]'''],
    "odd": ["x = gpu.zeros(32)", '''odd = gpu.kernel [[
  __global__ void odd(int n, float *x) {
    int i = threadIdx.x, steps = 0;
    while (i > 28) {
      i--;
      steps++;
    }
    if (i < n) x[i] = steps;
  }
]]'''],
}


def transcript(text):
    """The cells of a session and what each puts out."""
    cells = []
    for line in text.splitlines():
        new = re.match(r"\d*> (.*)", line) if not re.match(r">\s+[\d,]+\s+\d", line) else None
        if new:
            cells.append(([new[1]], []))
        elif line.startswith("..") and line != "..." and not cells[-1][1]:
            cells[-1][0].append(line[2:])
        else:
            cells[-1][1].append(line)
    return [("\n".join(code), output) for code, output in cells]


def demo(cells):
    return "".join('-- %% tags=["raises-exception"]\n' + code + "\n" + "".join(f"--> {line}\n" for line in output) for code, output in cells)


@pytest.mark.parametrize("text", [b for b in BLOCKS if re.match(r"\d*> ", b)], ids=lambda b: b.split("\n")[0][:30])
def test_sessions(cli, tmp_path, text):
    cells = transcript(re.sub("0x[0-9a-f]+", "...", text))  # an address
    name = re.search(r"\w+(?=[,(])", cells[0][0].replace("gpu.profile(", "").replace("gpu.trace(", ""))[0]
    cells = [(code or "x = 1", []) for code in BEFORE.get(name, [])] + cells
    (tmp_path / "talk.lua").write_text(demo(cells))
    r = cli("--check", "talk.lua", LUNARRAY_DEVICE="simt")
    assert r.returncode == 0 and " 0 different, 0 failed" in r.stdout, r.stdout


def test_the_demo_with_expected_output(cli, tmp_path):
    (text,) = [b for b in BLOCKS if b.startswith("-- %%")]
    (tmp_path / "sums.lua").write_text(text)
    r = cli("--check", "sums.lua", LUNARRAY_DEVICE="simt")
    assert r.returncode == 0 and "1 as expected, 1 not compared" in r.stdout


def test_the_ways_to_run_it(cli):
    """Each option and command of the table is one that --help lists."""
    text = cli("--help").stdout
    words = re.findall(r"^\| (`.*?) \|", open("README.md").read(), re.M)
    options = {w for cell in words for w in re.findall(r"(?<![\w-])--?[a-zA-Z]+", cell)}
    assert {"-e", "--present", "--html", "--inplace", "--info"} - {"--inplace"} <= options
    for option in options - {"--user", "--prefix"}:  # of lunarray jupyter install
        assert option in text, option
