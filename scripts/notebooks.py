"""Run the notebooks of ``examples/notebooks``, and keep what they show: ``make notebooks``.

Each is run from top to bottom by Jupyter's own kernel, in an empty folder. What is kept tells nothing of the machine:
no times, no paths, no lines of progress. Pictures are kept in few colours, so that they are small.
"""

from __future__ import annotations

import base64
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"
COLOURS = 64  # of a picture
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def run_notebook(path: Path) -> None:
    """Run a notebook, and write it with its outputs in place of the old ones."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        name = KERNEL["name"]
        NotebookClient(
            notebook, timeout=None, kernel_name=name, record_timing=False, resources=where
        ).execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [tidy for output in cell.outputs if (tidy := tidied(output)) is not None]
    nbformat.validate(notebook)
    nbformat.write(notebook, path)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def tidied(output: dict[str, Any]) -> dict[str, Any] | None:
    r"""Return an output with a small picture; None if it is progress, which says how busy the machine was.

    >>> tidied({"output_type": "stream", "name": "stderr", "text": "psdvec: map: done in 4.2 s\n"})
    """
    if output["output_type"] == "stream" and output["name"] == "stderr":
        others = re.sub(r"^psdvec: .*\n", "", output["text"], flags=re.MULTILINE)
        if others:
            raise SystemExit(f"a notebook is kept without warnings, and this is one: {others}")
        return None
    picture = output.get("data", {}).get("image/png")
    if picture:
        output["data"]["image/png"] = base64.b64encode(smaller(base64.b64decode(picture))).decode() + "\n"
    return output


def smaller(picture: bytes) -> bytes:
    """Return a PNG in few colours."""
    from PIL import Image

    found = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(found, "PNG", optimize=True)
    return found.getvalue()


def main() -> None:
    """Run the notebooks that are named, or all."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if path.stem in (sys.argv[1:] or [path.stem]):
            run_notebook(path)


if __name__ == "__main__":
    main()
