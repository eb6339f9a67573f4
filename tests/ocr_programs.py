"""Programs and packages that recognise text, for tests: small, real, and the same every time."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from mem_search.extractors import ocr

_TESSERACT = """#!{python}
import sys
picture = sys.argv[1]
if picture == "--list-langs":
    print("List of available languages (3):\\ndeu\\neng\\nosd")
    sys.exit()
page = next((each[-1] for each in sys.argv if each.startswith("tessedit_page_number=")), "0")
data = sys.stdin.buffer.read() if picture == "stdin" else open(picture, "rb").read()
if not (data.startswith((b"P6 ", b"II*\\0")) or data.endswith(b"IEND\\xaeB`\\x82")):
    sys.exit("image file is truncated")
rows = [["level", "page", "block", "par", "line", "word", "x", "y", "w", "h", "conf", "text"],
        ["4", "1", "1", "1", "1", "0", "0", "0", "9", "9", "-1", ""]]
rows += [["5", "1", "1", "1", line, "1", "0", "0", "9", "9", conf, text] for line, conf, text in (
    ("1", "90", "The"), ("1", "80", "lamp"), ("1", "70", "burns."), ("2", "80", "Softly."))]
if page != "0":
    rows.append(["5", "1", "1", "1", "3", "1", "0", "0", "9", "9", "80", "Page " + page])
print("\\n".join("\\t".join(row) for row in rows))
"""


def install_tesseract(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a tesseract on the path that reads two lines in every whole picture; no rapidocr."""
    program = folder / "tesseract"
    program.write_text(_TESSERACT.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    _without_rapidocr(monkeypatch)


def install_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the program nor the package is there."""
    monkeypatch.setenv("PATH", str(folder))
    _without_rapidocr(monkeypatch)


def install_rapidocr(monkeypatch: pytest.MonkeyPatch, found: Any) -> None:
    """A package whose engine finds ``found``, or raises it, in every picture."""

    class RapidOCR:
        def __init__(self, params: dict[str, Any]) -> None:
            assert params["Global.max_side_len"] == ocr.SIDE

        def __call__(self, pixels: Any) -> Any:
            assert pixels.shape[2] == 3
            if isinstance(found, Exception):
                raise found
            boxes, texts, scores = zip(*found, strict=True) if found else (None, None, None)
            return SimpleNamespace(boxes=boxes, txts=texts, scores=scores)

    module = ModuleType("rapidocr")
    module.RapidOCR = RapidOCR  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rapidocr", module)
    monkeypatch.setattr(ocr, "find_spec", lambda _: object())
    ocr._recogniser.cache_clear()


def _without_rapidocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_spec", lambda _: None)
    ocr._recogniser.cache_clear()
