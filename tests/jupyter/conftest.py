"""The kernelspec, installed into a folder of its own where Jupyter's clients find it; and a browser."""
import os
import shutil
import subprocess
import tempfile

import pytest

from browsing import open_browser

BINARY = os.path.abspath(os.environ.get("LUNARRAY", "build/lunarray"))


@pytest.fixture(scope="session", autouse=True)
def kernelspec():
    folder = tempfile.mkdtemp(prefix="lunarray-jupyter-")
    subprocess.run([BINARY, "jupyter", "install", "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
    settings = {
        "JUPYTER_PATH": os.path.join(folder, "share", "jupyter"),
        "JUPYTER_RUNTIME_DIR": os.path.join(folder, "runtime"),
        "JUPYTER_CONFIG_DIR": os.path.join(folder, "config"),
        "JUPYTERLAB_SETTINGS_DIR": os.path.join(folder, "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": os.path.join(folder, "workspaces"),
        "IPYTHONDIR": os.path.join(folder, "ipython"),
        "XDG_STATE_HOME": os.path.join(folder, "state"),
        "LUNARRAY_GNUPLOT": "gnuplot",
        "LUNARRAY_CACHE_DIR": os.environ.get("LUNARRAY_CACHE_DIR", os.path.join(folder, "cache")),
    }
    before = {k: os.environ.get(k) for k in settings}
    os.environ.update(settings)
    os.makedirs(settings["JUPYTER_RUNTIME_DIR"], mode=0o700)
    yield folder
    for k, v in before.items():
        if v is None:
            del os.environ[k]
        else:
            os.environ[k] = v
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def browser():
    with open_browser() as driver:
        yield driver
