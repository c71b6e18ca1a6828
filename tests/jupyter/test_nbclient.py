"""The tutorials, executed cell by cell as nbconvert does it, and by papermill."""
import contextlib
import glob
import os

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 240  # seconds for a cell
TUTORIALS = sorted(glob.glob(os.path.join(HERE, "..", "..", "tutorials", "*.ipynb")))


def run(notebook, **more):
    NotebookClient(notebook, kernel_name="lunarray", timeout=TIMEOUT, **more).execute()
    return notebook


def code(*sources):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])


def test_there_are_tutorials():
    assert TUTORIALS


@pytest.mark.parametrize("path", TUTORIALS, ids=os.path.basename)
def test_tutorial(path):
    notebook = run(nbformat.read(path, 4))
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        assert cell.execution_count
        failed = any(o.output_type == "error" for o in cell.outputs)
        assert failed == ("raises-exception" in cell.metadata.get("tags", [])), cell.source
    assert any(o.output_type in ("execute_result", "display_data", "stream") for c in notebook.cells for o in c.get("outputs", []))


@pytest.mark.parametrize("path", TUTORIALS, ids=os.path.basename)
def test_tutorial_by_papermill(path, tmp_path):
    """It runs all cells, and at the end takes one that was to fail for a failure."""
    papermill = pytest.importorskip("papermill")
    tagged = [c.source for c in nbformat.read(path, 4).cells if "raises-exception" in c.metadata.get("tags", [])]
    out = str(tmp_path / "out.ipynb")
    with pytest.raises(papermill.PapermillExecutionError) if tagged else contextlib.nullcontext():
        papermill.execute_notebook(path, out, kernel_name="lunarray", progress_bar=False, execution_timeout=TIMEOUT)
    cells = [c for c in nbformat.read(out, 4).cells if c.cell_type == "code" and "papermill-error-cell-tag" not in c.metadata.get("tags", [])]
    assert [c.source for c in cells if any(o.output_type == "error" for o in c.outputs)] == tagged
    assert [c.execution_count for c in cells if c.source.strip()] == list(range(1, sum(bool(c.source.strip()) for c in cells) + 1))


def test_outputs_are_complete():
    notebook = run(code("for i = 1, 5000 do print(i) end", "io.stdout:write('x')", "local a = 41", "a + 1"))
    assert "".join(o.text for o in notebook.cells[0].outputs) == "".join(f"{i}\n" for i in range(1, 5001))
    assert any(o.get("text") == "x" for o in notebook.cells[1].outputs)
    assert notebook.cells[2].outputs == []
    assert notebook.cells[3].outputs[0].data["text/plain"] == "42"


def test_it_stops_at_the_first_error():
    notebook = code("ran = 1", "error('stop here')", "ran = 2")
    with pytest.raises(CellExecutionError, match="stop here"):
        run(notebook)
    assert notebook.cells[1].outputs[0].output_type == "error"
    assert notebook.cells[2].execution_count is None


def test_a_cell_that_takes_too_long_is_interrupted():
    notebook = code("while true do end", "return 'after'")
    client = NotebookClient(notebook, kernel_name="lunarray", interrupt_on_timeout=True, allow_errors=True,
                            timeout_func=lambda cell: 1 if "while" in cell.source else TIMEOUT)
    client.execute()
    assert notebook.cells[0].outputs[-1].ename == "Interrupted"
    assert "after" in notebook.cells[1].outputs[0].data["text/plain"]
