"""JupyterLab's server, a real browser, and what tests do with its page: open a notebook, run its cells, look."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import nbformat
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 180  # seconds for a page or a notebook to be done


# An address of this machine that no other program uses: what listens there finds its port free.
ADDRESS = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.1"


def free_port():
    with socket.socket() as s:
        s.bind((ADDRESS, 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def lab_server(folder, settings):
    def write(plugin, values):
        path = os.path.join(settings, "@jupyterlab", plugin + ".jupyterlab-settings")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            json.dump(values, f)

    # Cells out of sight are part of the page too; nothing is fetched from outside; completions may come late.
    write("completer-extension/manager", {"providerTimeout": 1000 * TIMEOUT})
    write("notebook-extension/tracker", {"windowingMode": "none"})
    write("apputils-extension/notification", {"fetchNews": "false", "checkForUpdates": False})
    port = free_port()
    log = open(os.path.join(settings, "log"), "wb")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ip={ADDRESS}", f"--port={port}",
         "--ServerApp.port_retries=0", "--IdentityProvider.token=", "--expose-app-in-browser", f"--notebook-dir={folder}"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    url = f"http://{ADDRESS}:{port}"
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + TIMEOUT
    try:
        while True:
            assert server.poll() is None and time.monotonic() < end, "JupyterLab did not start"
            with contextlib.suppress(OSError):
                direct.open(url + "/api/status", timeout=TIMEOUT).close()
                break
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        try:
            server.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        log.close()


@contextlib.contextmanager
def open_browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("chromium and chromedriver are needed to look at pages")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tempfile.mkdtemp(prefix="lunarray-chromium-")
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1300,2000",
                     f"--user-data-dir={profile}"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    driver.set_script_timeout(TIMEOUT)
    # JupyterLab's current notebook is the one with the focus, which a page without a window may never get by itself.
    driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    yield driver
    driver.quit()
    shutil.rmtree(profile, ignore_errors=True)


# Opens a notebook beside those that the page has.
OPEN = """
return window.jupyterapp.commands.execute('docmanager:open', {path: arguments[0], factory: 'Notebook'}).then(() => null);
"""

# The notebook is loaded and its kernel waits for work.
READY = """
const context = window.jupyterapp?.shell?.currentWidget?.context;
const session = context?.isReady && context.sessionContext;
return !!session?.isReady && session.session?.kernel?.status === 'idle' && context.path === arguments[0];
"""

# JupyterLab counts a run as ended at its first error, though cells after a tagged one go on. The kernel answers in
# order, so this reply comes after theirs. The page counts the cells that it has sent.
RUN = """
const kernel = window.jupyterapp.shell.currentWidget.context.sessionContext.session.kernel;
window.cellsSent = 0;
window.runEnded = false;
kernel.anyMessage.connect((_, m) => {
  window.cellsSent += m.direction === 'send' && m.msg.header.msg_type === 'execute_request';
});
const ended = () => kernel.requestKernelInfo().then(() => { window.runEnded = true; });
window.jupyterapp.commands.execute('notebook:run-all-cells').then(ended, ended);
"""

# Each code cell of the page: its prompt, the text and tables shown below it, and how many of its outputs are errors.
STATE = """
const cells = window.jupyterapp.shell.currentWidget.content.widgets.filter(w => w.model.type === 'code');
const outputs = model => Array.from({length: model.outputs.length}, (_, i) => model.outputs.get(i));
return cells.map(cell => ({
  prompt: cell.node.querySelector('.jp-InputPrompt').textContent,
  text: Array.from(cell.node.querySelectorAll('.jp-OutputArea-output')).map(o => o.textContent).join('\\n'),
  tables: cell.node.querySelectorAll('.jp-OutputArea-output table').length,
  errors: outputs(cell.model).filter(o => o.type === 'error').length,
}));
"""


def wait_for(browser, what, test, timeout=TIMEOUT):
    end = time.monotonic() + timeout
    while not (value := test()):
        if time.monotonic() > end:
            screenshot(browser, "failed")
            pytest.fail(f"{what} did not come (see build/lab-failed.png): {browser.execute_script(STATE)}")
        time.sleep(0.1)
    return value


def comes_to_hold(browser, check):
    """The page draws some time after messages came, and piece by piece: a check that fails is tried again for a while."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > end:
                screenshot(browser, "failed")
                raise
        time.sleep(0.2)


def open_and_run(lab, browser, name, check):
    """Runs all cells of a notebook, makes the file "all-sent" in the notebook's folder once the page has sent them, then
    calls check with the state of its code cells."""
    _, folder = lab
    cells = sum(c.cell_type == "code" and bool(c.source.strip()) for c in nbformat.read(os.path.join(folder, name), 4).cells)
    open_notebook(lab, browser, name)
    browser.execute_script(RUN)
    wait_for(browser, "the sending of all cells", lambda: browser.execute_script("return window.cellsSent") == cells)
    with open(os.path.join(folder, "all-sent"), "w"):
        pass
    wait_for(browser, "the end of the run", lambda: browser.execute_script("return !!window.runEnded"))
    wait_for(browser, "the idle kernel", lambda: browser.execute_script(READY, name))
    comes_to_hold(browser, lambda: check(browser.execute_script(STATE)))
    screenshot(browser, name.removesuffix(".ipynb"))


def open_notebook(lab, browser, name):
    """The page is loaded once: that takes longer than most notebooks."""
    url, _ = lab
    if browser.current_url.startswith(url):
        browser.execute_script(OPEN, name)
    else:
        browser.get(f"{url}/lab/tree/{name}?reset")
    wait_for(browser, "the notebook", lambda: browser.execute_script(READY, name))


def screenshot(browser, name):
    folder = os.path.join(HERE, "..", "..", "build")
    os.makedirs(folder, exist_ok=True)
    browser.save_screenshot(os.path.join(folder, f"lab-{name}.png"))
