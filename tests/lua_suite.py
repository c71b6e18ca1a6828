#!/usr/bin/env python3
"""Fetches the test-suite of Lua's authors into the folder that is named, for the release of Lua that is installed.

The source package of lupa carries it (third-party/lua54/testes, MIT). It is taken by way of pip's own index, wherever that
is. When it can't be had, this says so and leaves no folder; the test is skipped then.
"""
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request

# Releases of Lua, and the lupa with that one's tests: another release's expect other messages.
PACKAGES = {"5.4.4": ("2.0", "ad3fef486be7adddd349fe9a9c393789061312cf98ebc533b489be34f484cb79")}


def find(version):
    listed = subprocess.run([sys.executable, "-m", "pip", "index", "versions", "-vv", "lupa"], capture_output=True, text=True, timeout=60)
    link = re.search(rf"https?://\S*/lupa-{re.escape(version)}\.tar\.gz", listed.stdout + listed.stderr)
    if not link:
        raise OSError(f"pip knows no source package of lupa {version}")
    return link.group()


def fetch(folder, version, digest):
    with urllib.request.urlopen(find(version), timeout=60) as page:
        data = page.read()
    if hashlib.sha256(data).hexdigest() != digest:
        raise OSError(f"the source package of lupa {version} is another than it was")
    part = folder + ".part"
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as package:
        prefix = f"lupa-{version}/third-party/lua54/testes/"
        for member in package.getmembers():
            if member.name.startswith(prefix) and (member.isfile() or member.isdir()):
                member.name = member.name[len(prefix):]
                package.extract(member, part)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.move(part, folder)


def main():
    release = re.search(r"Lua (\S+)", subprocess.run(["lua5.4", "-v"], capture_output=True, text=True).stdout)
    if not release or release.group(1) not in PACKAGES:
        print(f"no tests of Lua's authors for {release.group(1) if release else 'this Lua'}")
        return
    try:
        fetch(sys.argv[1], *PACKAGES[release.group(1)])
    except (OSError, subprocess.SubprocessError, tarfile.TarError) as error:
        print(f"the tests of Lua's authors can't be had: {error}")


if __name__ == "__main__":
    main()
