"""Files of arrays, written by lunarray and read by NumPy and the standard library, and the other way round."""
import csv
import json
import os
import shutil
import struct
import subprocess
import zipfile
import zlib

import numpy as np
import pytest

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
SHAPES = [(), (0,), (5,), (2, 3), (3, 1, 4), (2, 0, 3), (1, 2, 1, 3, 1)]
DEVICES = ["cpu", "simt"]


def run(code, folder, **env):
    """What a script prints; `d` is the folder in it."""
    path = os.path.join(folder, "script.lua")
    with open(path, "w") as f:
        f.write(f"local d = {json.dumps(str(folder) + '/')}\n{code}")
    p = subprocess.run([os.environ.get("LUNARRAY", "build/lunarray"), path], text=True, capture_output=True, timeout=200,
                       env={**os.environ, **env})
    assert p.returncode == 0, p.stderr + p.stdout
    return p.stdout


def values(dtype, shape, seed=0):
    r = np.random.default_rng(seed)
    if dtype == "bool":
        return r.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        a = np.asarray(r.standard_normal(shape) * 100).astype(dtype)
        flat = a.reshape(-1)
        flat[:3] = np.array([np.nan, np.inf, -0.0])[: flat.size]
        return a
    info = np.iinfo(dtype)
    a = np.asarray(r.integers(info.min, info.max, shape, dtype=dtype, endpoint=True))
    a.reshape(-1)[:2] = np.array([info.min, info.max], dtype=dtype)[: a.size]
    return a


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
    subprocess.run(["sh", "-c", 'ulimit -n 40; exec "$0" "$@"', os.environ.get("LUNARRAY", "build/lunarray"), tmp_path / "many.lua",
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


@pytest.mark.parametrize("device", DEVICES)
def test_csv_both_ways(tmp_path, device):
    r = np.random.default_rng(1)
    wide = r.standard_normal((200, 5)) * 10.0 ** r.integers(-300, 300, (200, 5))
    wide[3, 1], wide[4, 2], wide[5, 3] = np.nan, np.inf, -np.inf
    narrow = np.float32(1e-30) * r.standard_normal((200, 5)).astype("float32") ** 9 + r.standard_normal((200, 5)).astype("float32")
    whole = r.integers(-2**63, 2**63 - 1, (50, 3))
    np.savetxt(tmp_path / "wide.csv", wide, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "narrow.txt", narrow, fmt="%.9g")
    np.savetxt(tmp_path / "whole.tsv", whole, delimiter="\t", fmt="%d")
    run(f"""
      local wide = gpu.load(d .. "wide.csv", "float64", "{device}")
      gpu.save(d .. "wide-again.csv", wide)
      gpu.save(d .. "wide.npy", wide)
      gpu.save(d .. "narrow-again.txt", gpu.load(d .. "narrow.txt", "{device}"))
      gpu.save(d .. "whole.npy", gpu.load(d .. "whole.tsv", "int64", "{device}"))
      gpu.save(d .. "whole-again.tsv", gpu.load(d .. "whole.npy"))
    """, tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "wide.npy"), wide)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "wide-again.csv", delimiter=","), wide)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "narrow-again.txt", dtype="float32"), narrow)
    np.testing.assert_array_equal(np.load(tmp_path / "whole.npy"), whole)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "whole-again.tsv", dtype="int64"), whole)


def test_csv_columns(tmp_path):
    (tmp_path / "t.csv").write_text("name,height,weight\nAnn,1.7,60\nBob,1.8,75\n")
    (tmp_path / "odd.csv").write_text("a,b,c,d\n1,2\n3,4\n")
    out = run("""
      local x, names = gpu.load(d .. "t.csv", {columns = {"weight", "height"}, dtype = "float64"})
      print(table.concat(names, "|"), table.concat(x:flatten():totable(), " "))
      print(table.concat(gpu.load(d .. "t.csv", {columns = {-1}}):flatten():totable(), " "))
      print(select("#", gpu.load(d .. "t.csv", {columns = {3}, header = false, skip = 1})))
      for _, columns in ipairs {{"age"}, {4}, {2, "height"}, {}, {true}, "name"} do
        print(select(2, pcall(gpu.load, d .. "t.csv", {columns = columns})))
      end
      print(select(2, pcall(gpu.load, d .. "t.csv", {columns = {"height"}, header = false, skip = 1})))
      print(select(2, pcall(gpu.load, d .. "odd.csv", {columns = {"d"}})))
      print(select(2, pcall(gpu.load, d .. "t.csv")))
    """, tmp_path)
    lines = out.splitlines()
    assert lines[:3] == ["weight|height\t60.0 1.7 75.0 1.8", "60.0 75.0", "1"]
    parts = ["has no column 'age'", "integers from 1 to 3 or from the end with -1, not 4", "column 2 is named twice",
             "got an empty table", "not boolean", "got string", "no header that names 'height'", "has no column 'd'",
             "field 1 is 'Ann', expected a number; the option columns"]
    assert len(lines) == 3 + len(parts)
    for part, line in zip(parts, lines[3:]):
        assert part in line


def test_csv_as_spreadsheets_write_it(tmp_path):
    """Semicolons and decimal commas, as where numbers are written so; bars and tabs; what has commas as well."""
    (tmp_path / "de.csv").write_text('name;size;"a,b"\n"Li, B";1,75;-2\nBo;;1e3\n')
    (tmp_path / "plain.csv").write_text("1,5;2\n3,25;4\n")
    (tmp_path / "bars.csv").write_text("a|b\n1|2\n")
    (tmp_path / "tabs.csv").write_text("1\t2\n3\t4\n")
    (tmp_path / "commas.csv").write_text("a;b,c\n1,2\n")
    lines = run("""
      local x, names = gpu.load(d .. "de.csv", {columns = {"size", "a,b"}, decimal = ","})
      print(table.concat(x:flatten():totable(), " "), names[2])
      print(table.concat(gpu.load(d .. "plain.csv", {decimal = ","}):flatten():totable(), " "))
      print(table.concat(gpu.load(d .. "bars.csv"):flatten():totable(), " "))
      print(table.concat(gpu.load(d .. "tabs.csv"):flatten():totable(), " "))
      print(select(2, gpu.load(d .. "commas.csv"))[1])
      print(select(2, pcall(gpu.load, d .. "de.csv", {columns = {2}})))
      print(select(2, pcall(gpu.load, d .. "commas.csv", {decimal = ",", delimiter = ","})))
      print(select(2, pcall(gpu.load, d .. "de.csv", {decimal = "ab"})))
      print(select(2, pcall(gpu.save, d .. "x.csv", gpu.ones(2), {decimal = ","})))
    """, tmp_path).splitlines()
    assert lines[:5] == ["1.75 -2.0 nan 1000.0\ta,b", "1.5 2.0 3.25 4.0", "1.0 2.0", "1.0 2.0 3.0 4.0", "a;b"]
    assert "line 2, field 2 is '1,75', expected a number; a comma for the point is told by the option decimal" in lines[5]
    assert "option 'decimal': ',' parts the fields of" in lines[6] and "'decimal': expected one character" in lines[7]
    assert "has no option 'decimal'" in lines[8]


def test_csv_of_complex_numbers(tmp_path):
    z = np.array([[1 + 2j, -3.5 - 1e-20j, 1e300 - 1e-300j], [0, complex(np.nan, np.inf), complex(-np.inf, -0.0)]])
    np.savetxt(tmp_path / "z.csv", z, delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "plain.txt", z)
    (tmp_path / "i.csv").write_text("i,j\n1+2i,-2.5e-3j\n( 3 ),NA\n1e+5,2e-1-3e+2J\n".replace("( 3 )", "(3)"))
    (tmp_path / "comma.csv").write_text("1,5+2,5j;2\n")
    (tmp_path / "bad.csv").write_text("1+j\n")
    lines = run("""
      gpu.save(d .. "again.csv", gpu.load(d .. "z.csv", "complex128"))
      gpu.save(d .. "plain.npy", gpu.load(d .. "plain.txt", "complex128"))
      gpu.save(d .. "c64.csv", gpu.load(d .. "again.csv", "complex64"))
      local i, names = gpu.load(d .. "i.csv", "complex128")
      gpu.save(d .. "i.npy", i)
      gpu.save(d .. "comma.npy", gpu.load(d .. "comma.csv", "complex128", {decimal = ","}))
      print(names[1] .. names[2])
      print(select(2, pcall(gpu.load, d .. "z.csv")))
      print(select(2, pcall(gpu.load, d .. "bad.csv", "complex64", {header = false})))
    """, tmp_path).splitlines()
    assert lines[0] == "ij" and "field 1 is '(1+2j)', expected a number; complex64 and complex128" in lines[1]
    assert "field 1 is '1+j'" in lines[2]
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "again.csv", delimiter=",", dtype=complex), z)
    assert (tmp_path / "again.csv").read_text().splitlines()[0] == "(1+2j),(-3.5-1e-20j),(1e+300-1e-300j)"
    np.testing.assert_allclose(np.load(tmp_path / "plain.npy"), z, rtol=1e-15)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "c64.csv", delimiter=",", dtype="complex64"), z.astype("complex64"))
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), [[1 + 2j, -0.0025j], [3, np.nan], [1e5, 0.2 - 300j]])
    np.testing.assert_array_equal(np.load(tmp_path / "comma.npy"), [[1.5 + 2.5j, 2]])


def test_csv_as_numpy_and_pandas_have_it(tmp_path):
    """Comments behind numbers, names in a comment, words for what is missing, a header alone, wrong delimiters."""
    np.savetxt(tmp_path / "named.csv", [[1, 2], [3, 4]], delimiter=",", header="made by hand\nx, y")
    (tmp_path / "behind.csv").write_text('1,2 # one\n"3",4#two\n5,"6" # , 7\n')
    (tmp_path / "behind.txt").write_text("1 2 # one\n3 4# two 5\n")
    (tmp_path / "text.csv").write_text("Sample #1,n # 2\nApt #4,5\n#6\n")
    (tmp_path / "missing.csv").write_text(",a\n0,#N/A\n1,<NA>\n2,None\n3,-nan\n4,n/a\n5,null\n6,#NA\n")
    (tmp_path / "head.csv").write_text("a,b,c\n")
    (tmp_path / "commas.txt").write_text("1,2\n")
    (tmp_path / "bars.txt").write_text("1|2\n")
    lines = run("""
      local show = function(x, names) print(x.shape, table.concat(x:flatten():totable(), " "), names and table.concat(names, "|")) end
      show(gpu.load(d .. "named.csv", {header = true}))
      show(gpu.load(d .. "named.csv"))
      show(gpu.load(d .. "behind.csv"))
      show(gpu.load(d .. "behind.txt"))
      show(gpu.load(d .. "text.csv", {columns = {2}}))
      print(gpu.load(d .. "missing.csv"):isnan():sum(), gpu.load(d .. "missing.csv").shape)
      show(gpu.load(d .. "head.csv"))
      show(gpu.load(d .. "head.csv", {columns = {"c", "a"}}))
      print(select(2, pcall(gpu.load, d .. "commas.txt")))
      print(select(2, pcall(gpu.load, d .. "bars.txt")))
      print(select(2, pcall(gpu.load, d .. "missing.csv", "int32")))
    """, tmp_path).splitlines()
    assert lines[:8] == ["(2, 2)\t1.0 2.0 3.0 4.0\tx|y", "(2, 2)\t1.0 2.0 3.0 4.0\tnil", "(3, 2)\t1.0 2.0 3.0 4.0 5.0 6.0\tnil",
                         "(2, 2)\t1.0 2.0 3.0 4.0\tnil", "(1, 1)\t5.0\tn # 2", "7\t(7, 2)", "(0, 3)\t\ta|b|c", "(0, 2)\t\tc|a"]
    assert "field 1 is '1,2'" in lines[8] and 'one between fields by delimiter = ","' in lines[8]
    assert "the option delimiter tells" in lines[9] and "line 2, field 2 is missing, and int32" in lines[10]


def test_csv_headers_comments_and_missing_values(tmp_path):
    with open(tmp_path / "t.csv", "w", newline="") as f:
        f.write("# a comment\r\n\r\n")
        w = csv.writer(f)
        w.writerow(["time", 'a "b"', "c, d"])
        w.writerow([1, "", "NA"])
        w.writerow([" 2.5", "-1e3", "true"])
    out = run("""
      local x, names = gpu.load(d .. "t.csv")
      print(table.concat(names, "|"), x.dtype, x.shape, x[{2, 2}], x[{2, 3}], x[{1, 2}] ~= x[{1, 2}], x[{1, 3}] ~= x[{1, 3}])
      print(select("#", gpu.load(d .. "t.csv", {header = true, skip = 3, comment = false})))
      gpu.save(d .. "u.csv", x, {header = names})
      gpu.save(d .. "v.csv", gpu.range(3, "uint8"), {delimiter = ";"})
      gpu.save(d .. "empty.csv", gpu.zeros(0, 3))
      print(gpu.load(d .. "empty.csv").shape)
      print(select(2, pcall(gpu.load, d .. "t.csv", "int32")))
      print(select(2, pcall(gpu.load, d .. "t.csv", {header = false})))
      print(select(2, pcall(gpu.save, d .. "w.csv", x, {header = {"a"}})))
      print(select(2, pcall(gpu.save, d .. "w.csv", gpu.zeros(2, 2, 2))))
      print(select(2, pcall(gpu.load, d .. "t.csv", {delimiter = "ab"})))
      local f = io.open(d .. "r.csv", "w")
      f:write("1,2\\n3,4,5\\n")
      f:close()
      print(select(2, pcall(gpu.load, d .. "r.csv")))
      f = io.open(d .. "big.csv", "w")
      f:write("1\\n300\\n")
      f:close()
      print(select(2, pcall(gpu.load, d .. "big.csv", "uint8")))
    """, tmp_path)
    lines = out.splitlines()
    assert lines[0] == 'time|a "b"|c, d\tfloat32\t(2, 3)\t-1000.0\t1.0\ttrue\ttrue'
    assert lines[1] == "2" and lines[2] == "(0, 0)"
    parts = ["line 4, field 2 is missing, and int32", "line 3, field 1 is 'time', expected a number", "1 names, and the array has 3",
             "has 3; reshape", "one character", "line 2: 3 fields, expected 2 as in line 1", "line 2, field 1 is 300, which uint8"]
    for line, part in zip(lines[3:], parts):
        assert part in line
    with open(tmp_path / "u.csv", newline="") as f:
        rows = list(csv.reader(f))
    assert rows[0] == ["time", 'a "b"', "c, d"] and rows[2] == ["2.5", "-1000", "1"]
    assert (tmp_path / "v.csv").read_text() == "1\n2\n3\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_csv_line_breaks_in_quotes(tmp_path, end):
    """As the csv module writes them: in the header, in columns that are left out, at a row's start and at its end."""
    names = [f"a{end}{end}b", "n", f'c"{end}#', f"{end}"]
    rows = [[f"Ann{end}Lee", 1, f"x, y{end}", 2.5], [f"#{end}{end}7,8", "-3", "", 4], [f'"{end}"', 5, "z", "6"]]
    with open(tmp_path / "t.csv", "w", newline="") as f:
        w = csv.writer(f, lineterminator=end)
        w.writerow(names)
        w.writerows(rows)
    with open(tmp_path / "bad.csv", "w", newline="") as f:
        f.write(f'n,m{end}"1{end}",2{end}')
    with open(tmp_path / "open.csv", "w", newline="") as f:
        f.write(f'n,m{end}"{end}{end}",2{end}3,"4{end}5,6{end}')
    with open(tmp_path / "short.csv", "w", newline="") as f:
        f.write(f'n,m{end}"{end}{end}",2{end}3{end}')
    out = run("""
      local x, names = gpu.load(d .. "t.csv", {columns = {4, 2}})
      print(table.concat(x:flatten():totable(), " "), ("%q"):format(names[1]), names[2])
      gpu.save(d .. "u.csv", gpu.array({{1, 2, 3, 4}}), {header = {"a\\n\\nb", "n", 'c"\\n#', "\\r"}})
      local y, again = gpu.load(d .. "u.csv")
      print(y.shape, again[1] == "a\\n\\nb" and again[3] == 'c"\\n#' and again[4] == "\\r")
      print((select(2, pcall(gpu.load, d .. "bad.csv")):gsub("[\\r\\n]", "?")))
      print(select(2, pcall(gpu.load, d .. "open.csv", {columns = {2}})))
      print(select(2, pcall(gpu.load, d .. "short.csv", {columns = {2}})))
    """, tmp_path)
    lines = out.replace("\\\n", "/").split("\n")
    assert lines[0].startswith("2.5 1.0 4.0 -3.0 6.0 5.0\t") and lines[0].endswith("\tn"), lines[0]
    assert lines[1] == "(1, 4)\ttrue"
    assert "line 2, field 1 is '1', expected a number" in lines[2]
    assert "line 5: a quote is not closed" in lines[3]
    assert "line 5: 1 field, expected 2 as in line 2" in lines[4]
    with open(tmp_path / "u.csv", newline="") as f:
        assert list(csv.reader(f)) == [["a\n\nb", "n", 'c"\n#', "\r"], ["1", "2", "3", "4"]]


@pytest.mark.parametrize("device", DEVICES)
def test_json_both_ways(tmp_path, device):
    a = values("float64", (3, 2, 4))
    (tmp_path / "a.json").write_text(json.dumps(a.tolist(), indent=1))
    (tmp_path / "null.json").write_text("[null, 1, -Infinity]")
    (tmp_path / "b.json").write_text("[[true], [false]]")
    (tmp_path / "n.json").write_text(" -12.5 ")
    (tmp_path / "e.json").write_text("[[], []]")
    bad = {"[1, [2]]": "byte 4", "[[1], [2, 3]]": "as long as", '["a"]': "a number", "[1,]": "a number", "[1 2]": "a comma",
           "[1]]": "the end of the file", "": "a number", "[" * 20: "no more than 16", "[[1], []]": "as long as", "{}": "a number",
           "[1": "a comma", "[nan]": "a number", "[inf]": "a number", "[-inf]": "a number", "[-NaN]": "a number", "[True]": "a number"}
    for k, text in enumerate(bad):
        (tmp_path / f"bad{k}.json").write_text(text)
    out = run(f"""
      gpu.save(d .. "a-again.json", gpu.load(d .. "a.json", "float64", "{device}"))
      gpu.save(d .. "null-again.json", gpu.load(d .. "null.json"))
      local b = gpu.load(d .. "b.json")
      print(b.dtype, b.shape, b[{{1, 1}}], gpu.load(d .. "n.json").ndim, gpu.load(d .. "e.json").shape)
      gpu.save(d .. "b-again.json", b)
      gpu.save(d .. "i.json", gpu.array({{-9223372036854775807}}, "int64"))
      print(gpu.load(d .. "i.json", "int64")[1])
      for k = 0, {len(bad) - 1} do print(select(2, pcall(gpu.load, d .. "bad" .. k .. ".json"))) end
    """, tmp_path)
    lines = out.splitlines()
    np.testing.assert_array_equal(json.loads((tmp_path / "a-again.json").read_text()), a)
    assert (tmp_path / "null-again.json").read_text() == "[NaN, 1, -Infinity]\n"
    assert json.loads((tmp_path / "b-again.json").read_text()) == [[True], [False]]
    assert lines[0] == "bool\t(2, 1)\ttrue\t0\t(2, 0)" and lines[1] == "-9223372036854775807"
    for line, part in zip(lines[2:], bad.values(), strict=True):
        assert part in line and ".json" in line


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
