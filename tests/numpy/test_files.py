"""Files of arrays, written by lunarray and read by NumPy and the standard library, and the other way round; test_text_files.py
has those that are text."""
import json
import os
import shutil
import struct
import subprocess
import zipfile
import zlib

import numpy as np
import pytest

from against import LUNARRAY
from files import DEVICES, run, values

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
SHAPES = [(), (0,), (5,), (2, 3), (3, 1, 4), (2, 0, 3), (1, 2, 1, 3, 1)]


def same(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype, (a.dtype, a.shape, b.dtype, b.shape)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("device", DEVICES)
def test_npy_both_ways(tmp_path, device):
    """NumPy writes every dtype, shape, order and byte order; what lunarray saved again is the same."""
    want = {}
    for t in DTYPES:
        for k, shape in enumerate(SHAPES):
            a = values(t, shape, k)
            swapped = a.astype(a.dtype.newbyteorder(">"))
            forms = {"c": a, "s": swapped} if a.ndim < 2 else {"c": a, "f": np.asfortranarray(a), "sf": np.asfortranarray(swapped)}
            for form, x in forms.items():
                name = f"{t}-{k}-{form}"
                version = [(1, 0), (2, 0), (3, 0)][k % 3]
                with open(tmp_path / f"{name}.npy", "wb") as f:
                    np.lib.format.write_array(f, x, version=version)
                want[name] = a
    (tmp_path / "names").write_text("\n".join(want))
    run(f"""
      for name in io.lines(d .. "names") do
        local x = gpu.load(d .. name .. ".npy", "{device}")
        assert(x.dtype == name:match("^[^-]+") and x.device == "{device}")
        gpu.save(d .. name .. "-again.npy", x)
      end""", tmp_path)
    for name, a in want.items():
        same(np.load(tmp_path / f"{name}-again.npy"), a)


def test_mapped(tmp_path):
    a = values("float64", (300, 7))
    np.save(tmp_path / "c.npy", a)
    np.save(tmp_path / "f.npy", np.asfortranarray(a))
    np.save(tmp_path / "e.npy", a[:0])
    np.save(tmp_path / "s.npy", a.astype(">f8"))
    run("""
      for _, name in ipairs({"c", "f", "e"}) do
        local path = d .. name .. ".npy"
        local x = gpu.load(path, {map = true, device = "cpu"})
        local y = gpu.load(path, "cpu")
        assert(tostring(x.shape) == tostring(y.shape) and tostring(x) == tostring(y))
        gpu.save(d .. name .. "-again.npy", x * 1)
        if name ~= "e" then
          x[{2, 3}] = 7                         -- in memory alone
          assert(x[{2, 3}] == 7 and gpu.load(path, "cpu")[{2, 3}] == y[{2, 3}])
        end
        x = nil
        collectgarbage()
      end
      local ok, e = pcall(gpu.load, d .. "s.npy", {map = true, device = "cpu"})
      assert(not ok and e:find("byte order"), e)
      ok, e = pcall(gpu.load, d .. "c.npy", {map = true, device = "simt"})
      assert(not ok and e:find('device = "cpu"'), e)
    """, tmp_path)
    same(np.load(tmp_path / "c-again.npy"), a)
    same(np.load(tmp_path / "f-again.npy"), a)
    same(np.load(tmp_path / "e-again.npy"), a[:0])


@pytest.mark.parametrize("device", DEVICES)
def test_npz_both_ways(tmp_path, device):
    arrays = {f"{t} {k}": values(t, s, k) for t in DTYPES for k, s in enumerate(SHAPES)}
    arrays["zeros"] = np.zeros((400, 300), "float32")
    np.savez(tmp_path / "stored.npz", **arrays)
    np.savez_compressed(tmp_path / "deflated.npz", **arrays)
    run(f"""
      for _, name in ipairs({{"stored", "deflated"}}) do
        local t = gpu.load(d .. name .. ".npz", "{device}")
        gpu.save(d .. name .. "-again.npz", t, {{compress = name == "deflated"}})
      end""", tmp_path)
    for name in "stored", "deflated":
        path = tmp_path / f"{name}-again.npz"
        with zipfile.ZipFile(path) as z:
            assert z.testzip() is None
            assert {i.compress_type for i in z.infolist()} == {8 if name == "deflated" else 0}
        again = np.load(path)
        assert sorted(again.files) == sorted(arrays)
        for key, a in arrays.items():
            same(again[key], a)
    assert os.path.getsize(tmp_path / "deflated-again.npz") < os.path.getsize(tmp_path / "stored-again.npz") / 2


def test_npz_as_others_write_them(tmp_path):
    """A comment, a member that is no array, sizes behind the data, 64-bit sizes."""
    np.save(tmp_path / "a.npy", np.arange(5))
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as z:
        z.comment = b"hello"
        z.writestr("readme.txt", "text")
        with z.open("a.npy", "w", force_zip64=True) as f:
            f.write((tmp_path / "a.npy").read_bytes())
        z.write(tmp_path / "a.npy", "folder/b.npy")
    out = run("""
      local t = gpu.load(d .. "x.npz")
      assert(t.a:sum() == 10 and t["folder/b"]:sum() == 10 and t.readme == nil)
      local n = 0
      for _ in pairs(t) do n = n + 1 end
      print(n)""", tmp_path)
    assert out == "2\n"


def test_npz_members_are_read_when_they_are_asked_for(tmp_path):
    """What cannot be read hides nothing else, and what is assigned or taken away is as in any table."""
    np.savez(tmp_path / "x.npz", first=np.arange(5.0), objects=np.array([{}, []], dtype=object), z=np.array([1 + 2j, 3]),
             last=np.ones((2, 3), "float32"))
    lines = run("""
      local t = gpu.load(d .. "x.npz", "cpu")
      print(type(t), #t, t.nothing, t[1])
      print(tostring(t):sub(#d + 11))
      print(pcall(function() return t.objects end))
      assert(t.last.dtype == "float32" and t.last == t.last and rawget(t, "first") == nil)
      local names = {}
      print(select(2, pcall(function() for name, x in pairs(t) do names[#names + 1] = name .. tostring(x.shape) end end)))
      print(table.concat(names, " "))
      t.objects, t.last, t.more = nil, nil, 7
      print(#t, t.objects, t.last)
      names = {}
      for name in pairs(t) do names[#names + 1] = name end
      print(table.concat(names, " "), tostring(t):match("more.*"))
      t = gpu.load(d .. "x.npz", "cpu")
      t.objects = nil
      for i = 1, 60 do t["k" .. i] = i end                        -- before and behind t.last in Lua's table
      local n = 0
      for _ in pairs(t) do n = n + 1 end
      assert(n == 63 and #t == 63)
      t = gpu.load(d .. "x.npz", "float32", "cpu")
      assert(t.first.dtype == "float32" and t.first.device == "cpu")
      t.first = "mine"
      print(t.first, select(2, pcall(function() return t.z end)))
    """, tmp_path).splitlines()
    assert lines[0] == "table\t4\tnil\tnil"
    assert lines[1:6] == ["x.npz", "  first  float64 (5,), in the file", "  objects  cannot be read: there is no dtype here for NumPy's '|O'",
                          "  z  complex128 (2,), in the file", "  last  float32 (2, 3), in the file"]
    assert "'objects' of" in lines[6] and "'objects' of" in lines[7]
    assert lines[8:11] == ["first(5,) z(2,) last(2, 3)", "3\tnil\tnil", "first z more\tmore  number"]
    assert lines[11].startswith("mine\t") and "'z' of" in lines[11]


def test_npz_keeps_its_file(tmp_path):
    """Replaced, deleted, or more of them open than there may be files: what was not read yet is as it was."""
    np.savez(tmp_path / "x.npz", a=np.arange(5), b=np.arange(6))
    np.savez(tmp_path / "y.npz", a=np.zeros(2))
    run("""
      local pid = io.open("/proc/self/stat"):read("n")
      local is_open = function()
        local list <close> = io.popen("ls -l /proc/" .. pid .. "/fd")
        return list:read("a"):find("x.npz", 1, true) ~= nil
      end
      local t = gpu.load(d .. "x.npz", "cpu")
      assert(t.a:sum() == 10)
      os.rename(d .. "y.npz", d .. "x.npz")
      assert(gpu.load(d .. "x.npz", "cpu").a.size == 2)
      os.remove(d .. "x.npz")
      collectgarbage()
      assert(is_open() and t.b:sum() == 15 and not is_open())
    """, tmp_path)
    np.savez(tmp_path / "x.npz", a=np.arange(5))
    (tmp_path / "many.lua").write_text("collectgarbage('stop')\nfor i = 1, 100 do assert(#gpu.load(arg[1]) == 1) end")
    subprocess.run(["sh", "-c", 'ulimit -n 40; exec "$0" "$@"', LUNARRAY, tmp_path / "many.lua",
                    tmp_path / "x.npz"], check=True, timeout=200)


def test_npz_mapped(tmp_path):
    """Stored members that lie right for their dtype are the file's own bytes, the others are read."""
    arrays = {f"{t}-{k}": values(t, s, k) for t in DTYPES for k, s in enumerate(SHAPES)}
    arrays["z"] = np.arange(6).reshape(2, 3) * (1 + 2j)
    np.savez(tmp_path / "np.npz", **arrays, swapped=np.arange(3, dtype=">i4"), f=np.asfortranarray(arrays["float64-3"]))
    np.savez_compressed(tmp_path / "packed.npz", a=np.arange(1000))
    out = run("""
      local map = {map = true, device = "cpu"}
      local mapped = function(path) for line in io.lines("/proc/self/maps") do if line:find(path, 1, true) then return true end end end
      local t = gpu.load(d .. "np.npz", map)
      assert(t.swapped:sum() == 3 and tostring(t.f) == tostring(t["float64-3"]))
      gpu.save(d .. "own.npz", t)
      local own = gpu.load(d .. "own.npz", map)
      for name, x in pairs(own) do
        assert(x.dtype == t[name].dtype and tostring(x) == tostring(t[name]), name)
        assert(x.size == 0 or mapped("own.npz"))
      end
      local before = gpu.memory("cpu").in_use
      assert(gpu.load(d .. "own.npz", map)["float64-2"]:sum() ~= 0 and gpu.memory("cpu").in_use == before)
      own["float64-2"]:fill(7)                               -- in memory alone
      assert(gpu.load(d .. "own.npz", "cpu")["float64-2"][2] ~= 7)
      for _, a in ipairs(gpu.memory("cpu").arrays) do if a.name == "own.z" then assert(a.bytes == 96) end end
      gpu.save(d .. "again.npz", own)
      local packed = gpu.load(d .. "packed.npz", map)
      assert(packed.a:sum() == 499500 and not mapped("packed.npz"))
      print(select(2, pcall(gpu.load, d .. "np.npz", {map = true, device = "simt"})))
    """, tmp_path)
    assert 'device = "cpu"' in out
    with zipfile.ZipFile(tmp_path / "own.npz") as z:
        assert z.testzip() is None
    own = np.load(tmp_path / "own.npz")
    for key, a in arrays.items():
        same(own[key], a)
    same(np.load(tmp_path / "again.npz")["float64-2"], np.full(5, 7.0))
    data = (tmp_path / "own.npz").read_bytes()
    (tmp_path / "short.npz").write_bytes(data)
    run("""
      local t = gpu.load(d .. "short.npz", {map = true, device = "cpu"})
      local f = io.open(d .. "short.npz", "w")
      f:write("PK")
      f:close()
      local ok, e = pcall(function() return t.z end)
      assert(not ok and e:find("short.npz ends at byte 2", 1, true), e)""", tmp_path)


def test_npz_of_other_writers(tmp_path):
    """A stream with its sizes behind the members, folders, the same name again, and zip's own program."""
    class Pipe:
        def __init__(self):
            self.bytes = b""

        def write(self, data):
            self.bytes += bytes(data)
            return len(data)

        def flush(self):
            pass

    np.save(tmp_path / "a.npy", np.arange(5))
    np.save(tmp_path / "b.npy", np.arange(6))
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as z:
        z.write(tmp_path / "a.npy", "a.npy")
    (tmp_path / "pipe.npz").write_bytes(pipe.bytes)
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as z:
        z.mkdir("folder.npy/") if hasattr(z, "mkdir") else z.writestr("folder.npy/", b"")
        z.write(tmp_path / "b.npy", "a.npy")
        with pytest.warns(UserWarning):
            z.write(tmp_path / "a.npy", "a.npy")
    files = ["pipe", "twice"]
    if shutil.which("zip"):
        subprocess.run(["zip", "-q", "-0", "zip.npz", "a.npy"], cwd=tmp_path, check=True)
        files.append("zip")
    run(f"""
      for _, name in ipairs {{"{'", "'.join(files)}"}} do
        for _, map in ipairs {{true, false}} do
          local t = gpu.load(d .. name .. ".npz", {{map = map, device = "cpu"}})
          assert(#t == 1 and t.a:sum() == 10 and t.a.size == 5, name)
        end
      end""", tmp_path)


def test_damage_is_told(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", a=np.arange(1000))
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[200] ^= 1
    (tmp_path / "bad.npz").write_bytes(data)
    np.savez(tmp_path / "y.npz", a=np.arange(1000))
    data = bytearray((tmp_path / "y.npz").read_bytes())
    data[3000] ^= 1
    (tmp_path / "sum.npz").write_bytes(data)
    (tmp_path / "cut.npz").write_bytes(data[:4000])
    np.save(tmp_path / "a.npy", np.arange(100))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:500])
    (tmp_path / "text.npy").write_text("not an array at all")
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    np.save(tmp_path / "records.npy", np.zeros(2, [("a", "f4")]))
    np.save(tmp_path / "names.npy", np.array(["a", "bc"]))
    (tmp_path / "folder.npy").mkdir()
    cases = {
        "cut.npz": "no whole zip archive",
        "cut.npy": "promises 800 bytes of elements, but 372 follow it at byte 128", "text.npy": "does not begin with",
        "objects.npy": "'|O'", "records.npy": "records", "names.npy": "no dtype here", "folder.npy": "not a file",
        "missing.npy": "No such file", "x.xyz": "format", "new/x.npy": "No such file",
    }
    (tmp_path / "cases").write_text("\n".join(f"{k}\t{v}" for k, v in cases.items()))
    run("""
      for line in io.lines(d .. "cases") do
        local name, part = line:match("^(.-)\\t(.*)$")
        local ok, e = pcall(gpu.load, d .. name)
        assert(not ok and e:find(part, 1, true) and e:find(name, 1, true), name .. ": " .. tostring(e))
      end
      local ok, e = pcall(gpu.save, d .. "new/x.npy", gpu.zeros(2))
      assert(not ok and e:find("cannot write", 1, true) and e:find("No such file", 1, true), e)
      ok, e = pcall(gpu.save, d .. "folder.npy", gpu.zeros(2))
      assert(not ok and e:find("no file that could be replaced", 1, true), e)
      ok, e = pcall(gpu.save, d .. "x.npz", {a = gpu.zeros(2), b = 3})
      assert(not ok and e:find("'b' is a number", 1, true), e)
      for name, part in pairs {["bad.npz"] = "damaged", ["sum.npz"] = "checksum"} do
        local t = gpu.load(d .. name)
        ok, e = pcall(function() return t.a end)
        assert(not ok and e:find("'a' of " .. d .. name, 1, true) and e:find(part, 1, true), e)
        ok, e = pcall(gpu.save, d .. "x.npz", t)
        assert(not ok and e:find(part, 1, true), e)
      end
      ok, e = pcall(gpu.save, d .. "x.npz", {gpu.zeros(2)})
      assert(not ok and e:find("a key of the table is a number", 1, true), e)
      assert(gpu.load(d .. "x.npz").a:sum() == 499500)   -- as it was
    """, tmp_path)
    assert not [n for n in os.listdir(tmp_path) if ".part-" in n]


def test_saving_replaces_the_file_and_keeps_links_and_modes(tmp_path):
    path, link = tmp_path / "a.npy", tmp_path / "link.npy"
    np.save(path, np.zeros(3))
    os.chmod(path, 0o640)
    link.symlink_to(path)
    run('gpu.save(d .. "link.npy", gpu.ones(2))', tmp_path)
    assert link.is_symlink() and os.stat(path).st_mode & 0o777 == 0o640
    same(np.load(path), np.ones(2, "float32"))


def test_raw(tmp_path):
    a = values("int16", (4, 6))
    (tmp_path / "a.bin").write_bytes(b"head" + a.tobytes())
    out = run("""
      local x = gpu.load(d .. "a.bin", {dtype = "int16", shape = {4, 6}, offset = 4})
      assert(gpu.load(d .. "a.bin", "int16", {shape = {4, 6}, offset = 4}):equal(x))
      assert(gpu.load(d .. "a.bin", nil, "cpu", {dtype = "int16"}).device == "cpu")
      gpu.save(d .. "b.raw", x.T)
      print(gpu.load(d .. "a.bin").dtype, #gpu.load(d .. "a.bin"))
      assert(gpu.load(d .. "a.bin", {shape = {3, 0}}).size == 0)
      local huge = {0, 1 << 62, 1 << 62}
      for _, o in ipairs({{dtype = "int16", shape = {40, 60}}, {offset = 100}, {dtype = "int32", offset = 1}, {shape = huge}}) do
        print(select(2, pcall(gpu.load, d .. "a.bin", o)))
      end
      print(select(2, pcall(gpu.load, d .. "a.bin", "int16", {4, 6})))
      print(select(2, pcall(gpu.load, d .. "a.bin", {offset = 4}, {dtype = "int16"})))
      print(select(2, pcall(gpu.load, d .. "a.bin", 16)))
      print(select(2, pcall(gpu.load, d .. "a.bin", {skip = 2})))
      print(select(2, pcall(gpu.load, d .. "none", {format = "png", shape = {2}})))
      print(select(2, pcall(gpu.save, d .. "x.csv", gpu.ones(2), {compress = true})))
      print(select(2, pcall(gpu.save, d .. "x.npy", gpu.ones(2), {header = {"a"}})))
      gpu.save(d .. "x.npy", gpu.ones(2), {compress = false})""", tmp_path)
    same(np.fromfile(tmp_path / "b.raw", "int16").reshape(6, 4), a.T)
    lines = out.splitlines()
    assert lines[0] == "uint8\t52"
    assert "the shape needs 4800" in lines[1] and "ends at byte 52" in lines[2] and "no whole number" in lines[3]
    assert "so large a shape" in lines[4]
    assert "#3" in lines[5] and "such as {shape = {2, 3}}, got a list" in lines[5]
    assert "#3" in lines[6] and "second table" in lines[6] and "expected a dtype" in lines[7]
    assert "gpu.load: the format raw has no option 'skip'; of its own it has: shape offset" in lines[8]
    assert "the format png has no option 'shape' and no other" in lines[9]
    assert "gpu.save: the format csv has no option 'compress'; of its own it has: delimiter header" in lines[10]
    assert "the format npy has no option 'header' and no other" in lines[11] and not (tmp_path / "x.csv").exists()


def png_pixels(path):
    """The pixels of a PNG image without interlacing, by the specification."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + n]
        assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(kind + chunk)
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", chunk[:10])
        body += chunk if kind == b"IDAT" else b""
        at += 12 + n
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[color]
    step = channels * depth // 8
    raw, before, rows = zlib.decompress(body), bytearray(width * step), []
    for y in range(height):
        kind, line = raw[y * (width * step + 1)], bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
        for x in range(width * step):
            a, b, c = line[x - step] if x >= step else 0, before[x], before[x - step] if x >= step else 0
            p = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[x] = (line[x] + [0, a, b, (a + b) // 2, p][kind]) & 255
        before = line
        rows.append(bytes(line))
    return np.frombuffer(b"".join(rows), ">u2" if depth == 16 else "u1").reshape(height, width, channels)


def write_png(path, width, height, depth, color, rows, extra=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)) + extra
                     + chunk(b"IDAT", body) + chunk(b"IEND", b""))


@pytest.mark.parametrize("device", DEVICES)
def test_png_both_ways(tmp_path, device):
    r = np.random.default_rng(2)
    images = {}
    for t, top in ("uint8", 256), ("uint16", 65536):
        for channels in 1, 2, 3, 4:
            a = r.integers(0, top, (17, 23, channels)).astype(t)
            images[f"{t}-{channels}"] = a
            np.save(tmp_path / f"{t}-{channels}.npy", a[:, :, 0] if channels == 1 else a)
    np.save(tmp_path / "floats.npy", np.array([[-1, 0, 0.5], [1, 2, np.nan]], "float32"))
    np.save(tmp_path / "bools.npy", np.array([[True, False]]))
    write_png(tmp_path / "bits.png", 4, 2, 1, 0, [b"\xa0", b"\x50"])
    write_png(tmp_path / "palette.png", 2, 1, 8, 3, [b"\1\0"],
              b"\0\0\0\6PLTE\1\2\3\4\5\6" + struct.pack(">I", zlib.crc32(b"PLTE\1\2\3\4\5\6")))
    write_png(tmp_path / "huge.png", 2**31 - 1, 2**31 - 1, 8, 6, [b"\0"])
    write_png(tmp_path / "short.png", 50, 50, 8, 0, [b"\0"])
    (tmp_path / "text.png").write_text("this is no image, but text")
    names = list(images)
    out = run(f"""
      for _, name in ipairs({{{", ".join(json.dumps(n) for n in [*names, "floats", "bools"])}}}) do
        local x = gpu.load(d .. name .. ".npy", "{device}")
        gpu.save(d .. name .. ".png", x)
        if x.dtype:find("uint") then assert(gpu.load(d .. name .. ".png", "{device}"):equal(x), name) end
      end
      for _, name in ipairs({{"bits", "palette"}}) do
        gpu.save(d .. name .. ".npy", gpu.load(d .. name .. ".png", "{device}"))
      end
      assert(gpu.load(d .. "bits.png", "float32").dtype == "float32")
      for _, name in ipairs({{"huge", "short", "text"}}) do print(select(2, pcall(gpu.load, d .. name .. ".png"))) end
      for _, x in ipairs({{gpu.zeros(3), gpu.zeros(2, 2, 5), gpu.zeros(0, 2), gpu.zeros({{2, 2}}, "int32")}}) do
        print(select(2, pcall(gpu.save, d .. "x.png", x)))
      end""", tmp_path)
    for name, a in images.items():
        np.testing.assert_array_equal(png_pixels(tmp_path / f"{name}.png"), a)
    assert png_pixels(tmp_path / "floats.png")[:, :, 0].tolist() == [[0, 0, 128], [255, 255, 0]]
    assert png_pixels(tmp_path / "bools.png")[:, :, 0].tolist() == [[255, 0]]
    assert np.load(tmp_path / "bits.npy").tolist() == [[255, 0, 255, 0], [0, 255, 0, 255]]
    assert np.load(tmp_path / "palette.npy").tolist() == [[[4, 5, 6], [1, 2, 3]]]
    lines = out.splitlines()
    for line, part in zip(lines, ["is not in a file of", "no whole PNG", "no whole PNG", "(3,)", "(2, 2, 5)", "(0, 2)", "not of int32"],
                          strict=True):
        assert part in line


def test_libraries_are_opened_when_they_are_needed(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(2))
    maps = 'local s = io.open("/proc/self/maps"):read("a")\n'
    out = run('gpu.load(d .. "a.npy")\n' + maps + 'print(s:find("libpng", 1, true), s:find("libz.so", 1, true))', tmp_path)
    assert out == "nil\tnil\n"
    empty = tmp_path / "nothing"
    empty.mkdir()
    out = run('print(select(2, pcall(gpu.save, d .. "a.png", gpu.zeros(2, 2))))\n'
              'print(select(2, pcall(gpu.save, d .. "a.npz", {a = gpu.zeros(2, 2)})))', tmp_path,
              LUNARRAY_PNG=str(empty), LUNARRAY_ZLIB=str(empty))
    assert "libpng was not found" in out and "apt install" in out and "zlib was not found" in out
