"""A notebook run by nbclient: a display of the first cell goes on changing while later cells run, and its last state is saved."""

import nbformat
from nbclient import NotebookClient

v4 = nbformat.v4
notebook = v4.new_notebook(
    cells=[v4.new_code_cell(code) for code in ("chart x\nkeep", "print between", "revive x while another cell ran", "value 7")],
    metadata={"kernelspec": {"name": "tiny", "display_name": "tiny", "language": "tiny"}},
)
NotebookClient(notebook, timeout=60).execute()
first, second, third, last = (cell.outputs for cell in notebook.cells)
assert [o.output_type for o in first] == ["display_data"], first
assert first[0].data["text/plain"] == "while another cell ran", first
assert [o.output_type for o in second] == ["stream"] and second[0].text == "between\n", second
assert third == [], third
assert last[0].data["text/plain"] == "7" and last[0].execution_count == 4, last
nbformat.validate(notebook)

failing = v4.new_notebook(cells=[v4.new_code_cell("fail on purpose"), v4.new_code_cell("print unreached")], metadata=notebook.metadata)
try:
    NotebookClient(failing, timeout=60).execute()
except Exception as e:  # noqa: BLE001, it's CellExecutionError
    assert "Oops" in str(e), e
else:
    raise AssertionError("a failing cell passed")
assert failing.cells[1].outputs == []
print("ok")
