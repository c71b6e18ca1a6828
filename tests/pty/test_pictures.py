"""Pictures in the terminal, decoded from what was written and compared with the arrays that they show."""

import base64
import re
import shutil
import struct
import zlib

import numpy as np
import pytest

KITTY, SIXEL, PLAIN = "\033_Gi=31;OK\033\\\033[?62;4;22c", "\033[?62;4;22c", "\033[?1;2c"
GRAY = np.array([[0, 85], [170, 255]])  # what {{0, 1}, {2, 3}} is in shades of gray
SHOW = "gpu.imshow(gpu.array({{0, 1}, {2, 3}}), {cmap = 'gray'})\r"


def ready(terminal, *args, **options):
    """A shell that knows the background, and so asks the terminal for nothing but what it can show."""
    t = terminal(*args, COLORFGBG="15;0", **options)
    t.at_prompt(1)
    return t


def png(data):
    """The pixels of a PNG of 8 bits a channel that is not interlaced."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert depth == 8
            channels = {0: 1, 2: 3, 4: 2, 6: 4}[color]
        packed += body if kind == b"IDAT" else b""
        at += 12 + n
    raw, size, rows = zlib.decompress(packed), width * channels, [[0] * (width * channels)]
    for y in range(height):
        kind, row, up = raw[y * (size + 1)], list(raw[y * (size + 1) + 1:(y + 1) * (size + 1)]), rows[-1]
        for x in range(size if kind else 0):
            a, b, c = (row[x - channels], up[x], up[x - channels]) if x >= channels else (0, up[x], 0)
            if kind == 4:
                da, db, dc = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                row[x] += a if da <= db and da <= dc else b if db <= dc else c
            else:
                row[x] += a if kind == 1 else b if kind == 2 else (a + b) // 2
            row[x] &= 255
        rows.append(row)
    return np.array(rows[1:], np.uint8).reshape(height, width, channels)


def kitty(raw):
    """All pictures of kitty's protocol: their keys and pixels."""
    found = []
    for keys, data in re.findall(rb"\033_G([^;\033]*);?([^\033]*)\033\\", raw):
        keys = dict(k.split("=") for k in keys.decode().split(","))
        if keys.get("a") == "T":
            found.append((keys, b""))
        if found and data and keys.get("a") != "q":
            found[-1] = (found[-1][0], found[-1][1] + data)
        assert len(data) <= 4096
    return [(keys, png(base64.b64decode(data))) for keys, data in found]


def iterm2(raw):
    found = re.findall(rb"\033\]1337;File=([^:]*):([^\a]*)\a", raw)
    return [(dict(k.split("=") for k in keys.decode().split(";")), png(base64.b64decode(data))) for keys, data in found]


def sixel(raw):
    """The pictures as percentages of red, green and blue; -1 where nothing was drawn."""
    found = []
    for width, height, body in re.findall(rb'\033P0;1;0q"1;1;(\d+);(\d+)(.*?)\033\\', raw, re.S):
        out = np.full((int(height) + 6, int(width), 3), -1)
        colors, color, x, y, times = {}, None, 0, 0, 1
        for number, definition, repeat, sign in re.findall(rb"#(\d+)((?:;\d+)*)|!(\d+)|([?-~$-])", body):
            if number and definition:
                colors[number] = [int(v) for v in definition.split(b";")[2:]]
            elif number:
                color = colors[number]
            elif repeat:
                times = int(repeat)
            elif sign == b"$":
                x = 0
            elif sign == b"-":
                x, y = 0, y + 6
            else:
                for bit in range(6):
                    if (sign[0] - 63) >> bit & 1:
                        assert x + times <= int(width)
                        out[y + bit, x:x + times] = color
                x, times = x + times, 1
        assert (out[int(height):] == -1).all()
        found.append(out[:int(height)])
    return found


def enlarged(small, pixels):
    """A picture whose single elements are squares, in shades of gray."""
    times = pixels.shape[0] // small.shape[0]
    return np.kron(small, np.ones((times, times)))[:, :, None].repeat(3, 2)


def test_kitty(terminal):
    t = ready(terminal, answer=KITTY, TERM="xterm-kitty", KITTY_WINDOW_ID="1")
    t.send(SHOW)
    t.at_prompt(2)
    (keys, pixels), = kitty(t.raw)
    assert keys["f"] == "100" and pixels.shape == (320, 320, 3) and (pixels == enlarged(GRAY, pixels)).all()
    assert t.asked == 0 and not any("\u2580" in line for line in t.lines())


def test_kitty_that_answers_and_a_picture_in_many_pieces(terminal):
    t = ready(terminal, answer=KITTY)
    t.send("x = gpu.random.generator(1):integers(0, 256, {40, 60, 3}):to('uint8') gpu.imshow(x) print(x:sum())\r")
    t.at_prompt(2)
    (keys, pixels), = kitty(t.raw)
    assert t.asked == 1 and pixels.shape == (240, 360, 3)
    assert str(pixels[::6, ::6].sum(dtype=np.int64)) in t.lines()[-2]
    t.send("gpu.imshow(x)\r")  # not asked again
    t.at_prompt(3)
    assert t.asked == 1 and (kitty(t.raw)[1][1] == pixels).all()
    assert int(keys["i"]) != int(kitty(t.raw)[1][0]["i"])


def test_a_kitty_picture_that_changes_is_removed(terminal):
    t = ready(terminal, answer=KITTY)
    t.send("h = gpu.imshow(gpu.zeros(2, 2)) gpu.imshow(gpu.ones(2, 2), {vmin = 0, cmap = 'gray', into = h})\r")
    t.at_prompt(2)
    (first, _), (_, pixels) = kitty(t.raw)
    assert f"\033_Ga=d,d=I,i={first['i']},q=2\033\\".encode() in t.raw and (pixels == 255).all()


def test_a_terminal_that_was_asked_for_its_background_before(terminal):
    t = terminal(answer=KITTY)
    t.at_prompt(1)
    t.send(SHOW)
    t.at_prompt(2)
    (_, pixels), = kitty(t.raw)
    assert t.asked == 2 and (pixels == enlarged(GRAY, pixels)).all()


def test_iterm2(terminal):
    t = ready(terminal, TERM_PROGRAM="iTerm.app")
    t.send(SHOW)
    t.at_prompt(2)
    (keys, pixels), = iterm2(t.raw)
    assert keys["inline"] == "1" and (pixels == enlarged(GRAY, pixels)).all() and t.asked == 0


@pytest.mark.parametrize("program", ["", "vscode"])  # with terminal.integrated.enableImages
def test_sixel(terminal, program):
    t = ready(terminal, answer=SIXEL, TERM_PROGRAM=program)
    t.child.setwinsize(40, 80)
    t.send(SHOW)
    t.at_prompt(2)
    pixels, = sixel(t.raw)
    assert pixels.shape == (320, 320, 3)
    assert (pixels == np.round(enlarged(GRAY, pixels) / 255 * 100)).all()


def test_sixel_with_many_colours_and_holes(terminal):
    t = ready(terminal, "--no-init", answer=SIXEL)
    t.send("shell.images = 'sixel' y, x = gpu.range(0, 39):reshape(40, 1) / 39, gpu.range(0, 39):reshape(1, 40) / 39 "
           "gpu.imshow(gpu.stack({y + 0 * x, x + 0 * y, (x + y) / 2, (x:lt(0.9) + 0 * y):to('float32')}, 3))\r")
    t.at_prompt(2)
    pixels, = sixel(t.raw)
    size = pixels.shape[0]
    i = np.arange(size) * 40 // size / 39
    y, x = np.meshgrid(i, i, indexing="ij")
    there = x < 0.9
    assert ((pixels[:, :, 0] >= 0) == there).all()
    wanted = np.stack([y, x, (x + y) / 2], 2) * 100
    assert np.abs(pixels - wanted)[there].max() <= 11  # six or seven levels


def test_inside_tmux_what_the_outer_terminal_can_do_does_not_count(terminal):
    t = ready(terminal, answer=PLAIN, TMUX="/tmp/x,1,0", TERM="tmux-256color", KITTY_WINDOW_ID="1", TERM_PROGRAM="tmux")
    t.send(SHOW)
    t.at_prompt(2)
    assert t.asked == 1 and b"\033_G" not in t.raw and any(line.startswith("\u2580") for line in t.lines())


def test_the_linux_console_is_not_asked(terminal):
    t = ready(terminal, TERM="linux")
    t.send(SHOW)
    t.at_prompt(2)
    assert t.asked == 0 and any(line.startswith("\u2580") for line in t.lines())
    assert not re.search(rb"[34]8;[25];", t.raw)


def test_eight_colours_are_mixed_to_the_right_mean(terminal):
    t = ready(terminal, TERM="linux", columns=100, rows=60)
    for number, (red, green, blue) in enumerate([(0, 0, 0), (1, 1, 1), (0.25, 0.5, 0.75)], 2):
        t.raw = b""
        t.send(f"gpu.imshow(gpu.stack({{gpu.full({{32, 32}}, {red}), gpu.full({{32, 32}}, {green}), gpu.full({{32, 32}}, {blue})}}, 3))\r")
        t.at_prompt(number)
        pixels = [int(n) for pair in re.findall(rb"\033\[3(\d);4(\d)m\xe2\x96\x80", t.raw) for n in pair]
        assert len(pixels) == 32 * 32
        assert [np.mean([n >> k & 1 for n in pixels]) for k in range(3)] == [red, green, blue]


def test_a_bar_in_a_font_of_few_characters(terminal):
    t = ready(terminal, TERM="linux")
    t.send("for i in gpu.progress(8) do end\r")
    t.wait(lambda t: any(line.startswith("100% [" + 30 * "\u2588" + "] 8/8") for line in t.lines()))


def test_a_terminal_that_does_not_answer_keeps_what_is_typed(terminal):
    t = ready(terminal, answer="'typed ahead'")
    t.send(SHOW)
    t.wait(lambda t: t.lines()[-1] == "2> 'typed ahead'")
    assert any(line.startswith("\u2580") for line in t.lines())


def test_the_setting(terminal):
    t = ready(terminal, answer=KITTY)
    t.send("shell.images = 'none' " + SHOW)
    t.at_prompt(2)
    assert any(line.startswith("image of 2 x 2 values") for line in t.lines())
    t.send("shell.images = 'iterm2' " + SHOW)
    t.at_prompt(3)
    assert len(iterm2(t.raw)) == 1 and t.asked == 0


def test_a_picture_is_no_wider_than_the_terminal(terminal):
    t = ready(terminal, answer=SIXEL, columns=20, rows=10)
    t.send("gpu.imshow(gpu.zeros(8, 8))\r")
    t.at_prompt(2)
    pixels, = sixel(t.raw)
    assert pixels.shape[0] == pixels.shape[1] == 8 * 16


@pytest.mark.skipif(not shutil.which("gnuplot"), reason="no gnuplot")
def test_plots_are_pictures(terminal):
    t = ready(terminal, answer=KITTY, LUNARRAY_GNUPLOT="gnuplot")
    t.send("gpu.plot({0, 1, 4, 9}, {title = 'squares', size = {300, 200}})\r")
    t.at_prompt(2)
    (_, pixels), = kitty(t.raw)
    assert pixels.shape == (200, 300, 4)
    line = (np.abs(pixels[:, :, :3].astype(int) - [0, 0x72, 0xb2]).max(2) < 8) & (pixels[:, :, 3] > 200)
    columns = np.where(line.any(0))[0]
    assert len(columns) > 150 and line[:, columns[-1]].argmax() < line[:, columns[0]].argmax()  # it rises


def test_displays_with_a_picture_of_their_own(terminal, tmp_path):
    t = ready(terminal, answer=KITTY)
    pixel = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d))
        for k, d in ((b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0\1\2\3")), (b"IEND", b"")))).decode()
    t.send(f"display({{['image/png'] = '{pixel}', ['text/plain'] = 'text'}}) display({{['image/png'] = 'bad', ['text/plain'] = 'words'}})\r")
    t.at_prompt(2)
    (_, pixels), = kitty(t.raw)
    assert pixels.tolist() == [[[1, 2, 3]]] and "words" in t.lines() and "text" not in t.lines()
