#!/usr/bin/env python3
"""What can be told of the code's structure without understanding it; `make lint` asks. Tells each file in which it is
not so, and exits with 1:
  includes point down: a folder includes what LAYERS gives it, and Lua's headers are for those that MAY_KNOW_LUA
  a file says what it is about: it opens with a comment, or includes the header first that does
  a file has one subject: no more than MOST_LINES
  what CONTRIBUTING.md's tables of files name is there, and of runtime/simt/check_* nothing is left out

usage: tests/structure.py      from the repository's root
"""
import glob
import os
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


def named_files(text):
    """The patterns of files in "Where to look", from the root; `_name` goes on from the word that its row begins with."""
    folder = ""
    for row in re.findall(r"^\| `.*", text.partition("## Where to look")[2].partition("\n## ")[0], re.MULTILINE):
        cell, _, rest = row[2:].partition(" | ")
        names = re.findall(r"`([^`]+)`", cell)
        if names == [cell.strip("`")] and cell.endswith("/`"):
            folder = names[0]
            continue
        family = re.match(r"[a-z0-9]+", names[0])[0]
        for name in names + [n for n in re.findall(r"`([^`]+)`", rest) if n.startswith("_")]:
            name = family + name if name.startswith("_") else name
            yield (name if name.startswith("runtime/") else folder + name) + ("" if re.search(r"[./*]", name) else ".*")


def wrong_guide(path):
    with open(path, encoding="utf-8") as f:
        patterns = list(named_files(f.read()))
    found = {p: glob.glob(p) for p in patterns}
    yield from (f"names {p}, which is not there" for p in patterns if not found[p])
    there = {os.path.splitext(p)[0] for paths in found.values() for p in paths}
    yield from (f"does not name {p}" for p in sorted(glob.glob("runtime/simt/check_*.c")) if p[:-2] not in there)


def main():
    files = subprocess.run(["git", "ls-files", "*.c", "*.h", "*.cu", "*.def", "*.lua", "*.py"], check=True, capture_output=True, text=True)
    told = [f"{path}: {what}" for path in files.stdout.split() for what in wrong(path)]
    told += [f"CONTRIBUTING.md: {what}" for what in wrong_guide("CONTRIBUTING.md")]
    print(*told, sep="\n", end="\n" if told else "")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
