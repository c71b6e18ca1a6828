"""Pages that lunarray writes, in a real browser."""
import os
import subprocess

import pytest

from browsing import screenshot, wait_for

By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

BINARY = os.path.abspath(os.environ.get("LUNARRAY", "build/lunarray"))


def test_the_reference_is_searched(browser, tmp_path):
    """The pages of `lunarray doc --html`, in a tab of their own: typing leaves the entries that have all words."""
    subprocess.run([BINARY, "doc", "--html", str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    notebook = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get((tmp_path / "index.html").as_uri())
    shown = lambda: browser.execute_script("return [...document.querySelectorAll('li')].filter(e => e.offsetHeight).map(e => e.textContent)")
    everything = shown()
    browser.find_element(By.ID, "find").send_keys("LINSPACE gpu")
    found = shown()
    assert 0 < len(found) < len(everything) / 10 and all("linspace" in e for e in found), found
    screenshot(browser, "reference")
    browser.switch_to.active_element.send_keys(Keys.ENTER)  # the first of them
    wait_for(browser, "the entry", lambda: browser.current_url.endswith("gpu.html#gpu.linspace"))
    box = browser.find_element(By.NAME, "q")
    box.send_keys("string.f", Keys.ENTER)
    wait_for(browser, "the list", lambda: browser.current_url.endswith("index.html?q=string.f"))
    assert [e.split()[0] for e in shown()] == ["string.find", "string.format"]
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    wait_for(browser, "the second", lambda: browser.current_url.endswith("string.html#string.format"))
    browser.close()
    browser.switch_to.window(notebook)


def test_a_page_has_room_for_what_it_shows(browser, tmp_path):
    """A trace in a page of `lunarray --html`: no column is out of sight, and none so narrow that each word has a line."""
    script, page = tmp_path / "trace.lua", tmp_path / "trace.html"
    script.write_text("k = gpu.kernel [[ __global__ void total(const float *x, float *y) {\n  __shared__ float s[64];\n  s[threadIdx.x] = x[threadIdx.x] + 1;\n"
                      "  y[threadIdx.x] = s[63 - threadIdx.x % 32];\n} ]]\ngpu.trace(k, 1, 64){warp = 1}(gpu.rand(64), gpu.zeros(64))\n"
                      "-- %%\nprint(('many words '):rep(50))\n")
    subprocess.run([BINARY, f"--html={page}", str(script)], check=True, stdout=subprocess.DEVNULL)
    notebook = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(page.as_uri())
    wide, room, heights = browser.execute_script(
        "const d = document.querySelector('.lunarray'); return [d.scrollWidth, d.clientWidth, [...d.querySelectorAll('tr')].map(r => r.offsetHeight)]")
    assert 0 < wide <= room and max(heights) < 4 * min(heights), (wide, room, heights)
    assert browser.execute_script("const p = document.querySelector('.out pre'); return p.scrollWidth <= p.clientWidth && p.offsetHeight > 40")
    browser.close()
    browser.switch_to.window(notebook)
