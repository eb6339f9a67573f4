"""Text in pictures and scanned pages: with rapidocr, with tesseract, and with neither."""

from pathlib import Path

import numpy as np
import pytest

from mem_search.extractors import extract, ocr
from mem_search.extractors.extraction import Extraction
from mem_search.extractors.refusal import Refused
from mem_search.install_command import install_command
from mem_search.model.ingest import Extracted
from ocr_programs import install_nothing, install_rapidocr, install_tesseract
from scanned_pages import scanned

PAGE = np.full((20, 40, 3), 255, dtype=np.uint8)


@pytest.fixture(autouse=True)
def forget_the_recogniser():
    yield
    ocr._recogniser.cache_clear()


def box(left: int, top: int, height: int = 10) -> list[tuple[int, int]]:
    right, bottom = left + 30, top + height
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def test_pieces_on_one_height_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(box(0, 0), "Total:", 0.9), (box(0, 40), "Thanks", 0.8), (box(50, 42), "Ada", 1.0)]
    install_rapidocr(monkeypatch, found)
    read = ocr.recognise(PAGE)
    assert read == ocr.Recognised("Total:\nThanks Ada", 0.9, "rapidocr")


def test_a_picture_without_text_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    install_rapidocr(monkeypatch, [])
    assert ocr.recognise(PAGE) == ocr.Recognised("", 0.0, "rapidocr")


def test_too_little_memory_for_a_tensor_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    install_rapidocr(monkeypatch, RuntimeError("std::bad_alloc"))
    with pytest.raises(MemoryError):
        ocr.recognise(PAGE)


def test_tesseract_reads_words_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tesseract(tmp_path, monkeypatch)
    assert ocr.recognise(PAGE) == ocr.Recognised("The lamp burns.\nSoftly.", 0.8, "tesseract")


def test_scanned_pages_are_recognised_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_tesseract(tmp_path, monkeypatch)
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(2))
    found = extract(path, path.name)
    assert found.text == "The lamp burns.\nSoftly.\fThe lamp burns.\nSoftly."
    assert found.metadata == {
        "pages": 2, "ocr": "tesseract", "ocr_pages": 2, "ocr_confidence": 0.8,
    }  # fmt: skip
    path.write_bytes(scanned(1, text="A page with a photograph"))
    assert extract(path, path.name).text == "A page with a photograph"


def test_a_long_scan_takes_several_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tesseract(tmp_path, monkeypatch)
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(3))
    monkeypatch.setattr("mem_search.extractors.pdf._SECONDS", 0)
    asked: list[int] = []

    class InThisProcess(Extraction):
        def _asked(self, path: Path, name: str, page: int, links: bool) -> Extracted | Refused:
            asked.append(page)
            return extract(path, name, page)

    found = InThisProcess().read(path, path.name)
    assert isinstance(found, Extracted)
    assert asked == [0, 1, 2]
    assert found.text == "\f".join(["The lamp burns.\nSoftly."] * 3)
    assert not found.unread
    assert (found.rest, found.metadata["pages"], found.metadata["ocr_pages"]) == (0, 3, 3)


def test_without_ocr_a_scan_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_nothing(tmp_path, monkeypatch)
    assert not ocr.available()
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(1))
    found = extract(path, path.name)
    assert (found.text, found.lacks) == ("", "ocr")
    assert found.note == (
        "1 of its 1 page(s) are pictures without text;"
        f" to read it, run: {install_command('mem-search[ocr]')} (or install tesseract)"
    )


def test_pages_that_are_not_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tesseract(tmp_path, monkeypatch)
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(3))
    monkeypatch.setattr("mem_search.extractors.pdf._MAX_SCANS", 2)
    assert extract(path, path.name).unread == ("page 3 is a picture and not read (at most 2 are)",)
    monkeypatch.setattr("mem_search.extractors.pdf._SECONDS", 0)

    class Failing(Extraction):
        def _asked(self, path: Path, name: str, page: int, links: bool) -> Extracted | Refused:
            return Refused("it is too much") if page else extract(path, name)

    found = Failing().read(path, path.name)
    assert isinstance(found, Extracted)
    assert found.text == "The lamp burns.\nSoftly."
    assert found.unread == ("pages 2 and 3 are not read: it is too much",)
