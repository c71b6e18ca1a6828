#!/usr/bin/env python3
"""What can be told of the code's structure without understanding it; `make lint` asks. Tells each file in which it is
not so, and exits with 1:
  includes point down: a folder includes what LAYERS gives it, and Lua's headers are for those that MAY_KNOW_LUA
  a file says what it is about: it opens with a comment, or includes the header first that does
  a file has one subject: no more than MOST_LINES

usage: tests/structure.py      from the repository's root
"""
import re
import subprocess
import sys

LAYERS = {
    "repl": ["jupyter", "lang", "runtime"],
    "jupyter": ["lang", "runtime"],
    "lang": ["kernels", "runtime"],
    "kernels": ["runtime"],
    "runtime": ["runtime/simt"],
    "runtime/simt": ["runtime"],
    "runtime/simt/libcuda": ["runtime", "runtime/simt"],
    "runtime/simt/libcudart": [],
    # programs for any CUDA driver or runtime
    "tests/driver": ["tests/unit"],
    "tests/cudart": ["tests/unit"],
}
ALSO = {"runtime/simt/libcudart": ["runtime/simt/fatbin_layout.h"]}  # what nvcc writes, not what lunarray does
MAY_KNOW_LUA = ["repl", "jupyter", "lang"]
MOST_LINES = 600
TABLES = (".def",)  # one row each, as long as there are rows


def folder_of(path):
    return path.rpartition("/")[0]


def includes(text):
    return re.findall(r'^\s*#\s*include\s*([<"])([^>"]*)', text, re.MULTILINE)


def wrong_includes(path, text):
    folder = folder_of(path)
    for kind, name in includes(text) if folder in LAYERS else []:
        if kind == '"' and folder_of(name) not in [folder, *LAYERS[folder]] and name not in ALSO.get(folder, []):
            yield f"includes {name}, which is not below {folder}/"
        if name in ("lua.h", "lauxlib.h", "lualib.h") and folder not in MAY_KNOW_LUA:
            yield f"includes {name}: {folder}/ knows no Lua"


def has_head(path, text):
    first = re.sub(r"^#define _GNU_SOURCE.*\n", "", text)
    own = [name for _, name in includes(first)[:1]] == [path[:-2] + ".h"]
    return own or re.match(r"\s*(/\*|//)", first)


def wrong(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith((".c", ".h", ".cu")):
        yield from wrong_includes(path, text)
        if not has_head(path, text):
            yield "does not say what it is about"
    lines = text.count("\n")
    if lines > MOST_LINES and not path.endswith(TABLES):
        yield f"has {lines} lines, {MOST_LINES} at most"


def main():
    files = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.cu", "*.def", "*.lua", "*.py"], check=True, capture_output=True, text=True)
    told = [f"{path}: {what}" for path in files.stdout.split() for what in wrong(path)]
    print(*told, sep="\n", end="\n" if told else "")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
