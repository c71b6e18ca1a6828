"""The table `shell` and the file init.lua."""

import time

import pytest
from terminal import BINARY, ready


@pytest.fixture
def init(tmp_path):
    """init(text) writes the init file."""
    def write(text, folder=".config"):
        path = tmp_path / folder / "lunarray" / "init.lua"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        return path
    return write


def test_init_runs_before_the_first_cell(terminal, init):
    init("local mine = 42\nprint 'from init'\nfunction double(x) return 2 * x end")
    t = ready(terminal)
    assert "from init" in t.lines()
    t.send("double(mine)\r")
    t.at_prompt(2)
    t.shows("1> double(mine)", "84", "2>")
    t = ready(terminal, "--no-init")
    t.send("double\r")
    t.at_prompt(1 + 1)
    assert not any("from init" in line or "function" in line for line in t.lines()[1:])


def test_init_in_the_folder_that_xdg_names(terminal, init, tmp_path):
    init("print 'the other one'", "elsewhere")
    t = ready(terminal, XDG_CONFIG_HOME=str(tmp_path / "elsewhere"))
    assert "the other one" in t.lines()


def test_an_error_in_init_is_shown_and_the_session_goes_on(terminal, init):
    path = init("x = 1\nshell.promt = 'mine> '\ny = 2")
    t = ready(terminal, columns=120)
    assert any(line.startswith("init.lua:2: shell has no 'promt'; did you mean 'prompt'?") for line in t.lines()), t.lines()
    assert "shell.promt = 'mine> '" in " ".join(t.lines()) and any(str(path) in line for line in t.lines())
    t.send("x, y\r")
    t.at_prompt(2)
    t.shows("1> x, y", "1       nil", "2>")


def test_prompt(terminal, init):
    init("shell.prompt = 'lua[{n}] '")
    t = terminal()
    t.wait(lambda t: t.lines()[-1:] == ["lua[1]"] and t.cursor[1] == 7)
    t.send("do\rend\r")
    t.wait(lambda t: t.lines()[-3:] == ["lua[1] do", "...... end", "lua[2]"])
    t.send("shell.prompt = '> '\r")
    t.wait(lambda t: t.lines()[-1] == ">" and t.cursor[1] == 2)


def test_colours(terminal, init):
    init("shell.colors.keyword = 'bold #ff8800'")
    t = ready(terminal)
    t.send("for")
    t.wait(lambda t: b"\033[1;38;2;255;136;0mfor" in t.raw)
    t.send("\x15shell.theme = 'none' shell.colors = {keyword = 'auto'}\r")
    t.at_prompt(2)
    before = len(t.raw)
    t.send("for")
    t.wait(lambda t: t.lines()[-1] == "2> for")
    assert b"\033[3" not in t.raw[before:] and b"\033[1;3" not in t.raw[before:]


def test_colours_of_errors(terminal, init):
    init("shell.colors = {error = 'bold yellow', calls = 'underline'}")
    t = ready(terminal)
    t.send("error('oh')\r")
    t.at_prompt(2)
    assert b"\033[1;33mcell 1:1: oh\033[0m" in t.raw and b"\033[4m  cell 1:1: in the cell\033[0m" in t.raw


def test_a_light_background(terminal):
    t = ready(terminal, COLORFGBG="0;15", TERM="xterm-256color")
    t.send("for")
    t.wait(lambda t: b"\033[38;5;90mfor" in t.raw)


@pytest.mark.parametrize("code, message", [
    ("shell.thema = 1", "shell has no 'thema'; did you mean 'theme'?"),
    ("shell.zzzzzzzz = 1", "shell has no 'zzzzzzzz'; ?shell lists what there is"),
    ("shell[1] = 1", "shell has no field 1"),
    ("shell.theme = 'drak'", '"auto", "dark", "light" or "none" expected, got "drak"'),
    ("shell.vi = 1", "shell.vi must be true or false, not number"),
    ("shell.prompt = {}", "shell.prompt must be a text, not table"),
    ("shell.prompt = 'a\\nb'", "shell.prompt must be one line without control characters"),
    ("shell.prompt = ('x'):rep(100)", "shell.prompt must be shorter than 64 bytes"),
    ("shell.colors.keyward = 'red'", "shell.colors has no 'keyward'; did you mean 'keyword'?"),
    ("shell.colors.keyword = 'redd'", 'shell.colors.keyword must be a colour such as "bold red" or "#ff8800", not "redd"'),
    ("shell.colors = 'red'", "shell.colors must be a table"),
    ("shell.pager = 1", "shell.pager must be a command"),
    ("shell.images = 'gif'", '"sixel"'),
])
def test_wrong_settings(cli, code, message):
    r = cli("-i", stdin=code + "\n'alive'\n")
    assert message in r.stderr and '"alive"' in r.stdout, r.stderr


def test_the_table_shows_and_lists_itself(cli):
    r = cli("-i", stdin="shell\nfor k in pairs(shell) do io.write(k, ' ') end\n?shell.theme\n%who\n%reset\nshell.vi\n")
    assert r.stderr == "" and 'shell.prompt = "{n}> "' in r.stdout and "shell.status = false" in r.stdout
    assert "COLORFGBG" in r.stdout and "There are no variables yet." in r.stdout
    assert all(name + " " in r.stdout for name in ("prompt", "theme", "colors", "images", "pager", "status", "vi"))


def test_examples_of_the_documentation(cli):
    r = cli("-i", stdin="""
for _, d in ipairs(gpu.docs()) do
  if d.name:find("^session%.shell") then assert(load(d.example, d.name))() print("ran", d.name) end
end
for name in pairs(shell) do print("setting", name) end
""")
    assert r.stderr == "" and r.stdout.count("ran") == r.stdout.count("setting\t") + 1 > 7


# A terminal that is asked for its background: what it says, how a prompt looks then. Whoever knows nothing of it answers
# the question behind it alone.
ATTRIBUTES = "\033[?62;22c"
PROMPTS = {"light": b"\033[1;38;5;28m", "dark": b"\033[1;32m"}


@pytest.mark.parametrize("answer, look", [
    ("\033]11;rgb:ffff/ffff/ffff\033\\", "light"), ("\033]11;rgb:fd/f6/e3\007", "light"), ("\033]11;rgb:0000/2b2b/3636\033\\", "dark"),
    ("\033]11;rgba:ff/ff/ff/ff\007", "light"), ("\033]11;nonsense\007", "dark"), ("", "dark")])
def test_background_told_by_the_terminal(terminal, answer, look):
    t = terminal(answer=answer + ATTRIBUTES)
    t.at_prompt(1)
    t.send("6 * 7\r")
    t.at_prompt(2)
    assert "42" in t.lines()
    t.wait(lambda t: t.raw.rfind(PROMPTS[look]) > t.raw.rfind(b"42"))
    assert b"\033]11;?" in t.raw and t.raw.count(b"\033]11;?") == 1
    assert not any("rgb" in line or "62" in line for line in t.lines())


def test_background_told_late(terminal):
    """It is never waited for, and not taken for keys."""
    t = terminal(answer="")
    t.at_prompt(1)
    t.send("x = ")
    t.wait(lambda t: t.lines()[-1] == "1> x =")
    t.send("\033]11;rgb:ff")
    time.sleep(0.2)
    t.send("/ff/ff\033\\" + ATTRIBUTES + "7")
    t.wait(lambda t: t.lines()[-1] == "1> x = 7" and PROMPTS["light"] in t.raw)
    t.send("\r")
    t.at_prompt(2)
    t.send("x\r")
    t.at_prompt(3)
    t.shows("2> x", "7", "3>")


@pytest.mark.parametrize("changes", [{"COLORFGBG": "15;0"}, {"TERM": "linux"}, {"TERM": "screen-256color"}, {"STY": "1.tty"}, {"NO_COLOR": "1"}, {"INSIDE_EMACS": "29"}], ids=str)
def test_background_is_not_asked_for(terminal, changes):
    t = terminal(**changes)
    t.at_prompt(1)
    t.send("1\r")
    t.at_prompt(2)
    assert b"\033]" not in t.raw


def test_a_set_theme_stays(terminal, tmp_path):
    (tmp_path / ".config/lunarray").mkdir(parents=True)
    (tmp_path / ".config/lunarray/init.lua").write_text("shell.theme = 'dark'")
    t = terminal(answer="\033]11;rgb:ffff/ffff/ffff\033\\" + ATTRIBUTES)
    t.at_prompt(1)
    assert b"\033]11;?" not in t.raw and PROMPTS["dark"] in t.raw


def test_the_answer_is_not_left_to_others(terminal):
    """Who leaves at once leaves nothing of it on the command line."""
    t = terminal("-c", f'"{BINARY}"; echo left; cat -v', command="/bin/sh", answer="")
    t.wait(lambda t: b"\033[c" in t.raw)
    t.send("\004")
    t.send("\033]11;rgb:ffff/ffff/ffff\033\\" + ATTRIBUTES)
    t.wait(lambda t: "left" in t.lines())
    t.send("typed\n")
    t.wait(lambda t: t.lines()[-1] == "typed")
    assert not any("rgb" in line or "[?" in line for line in t.lines())
