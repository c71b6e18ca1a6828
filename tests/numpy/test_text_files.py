"""CSV and JSON, written by lunarray and read by NumPy and the standard library, and the other way round."""
import csv
import json

import numpy as np
import pytest

from files import DEVICES, run, values


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
