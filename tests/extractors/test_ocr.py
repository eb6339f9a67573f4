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
    assert read == ocr.Recognised("Total:\nThanks Ada", 0.9, "rapidocr", "Chinese, English")


def test_a_picture_without_text_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    install_rapidocr(monkeypatch, [])
    assert ocr.recognise(PAGE) == ocr.Recognised("", 0.0, "rapidocr", "Chinese, English")


def test_too_little_memory_for_a_tensor_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    install_rapidocr(monkeypatch, RuntimeError("std::bad_alloc"))
    with pytest.raises(MemoryError):
        ocr.recognise(PAGE)


def test_tesseract_reads_words_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tesseract(tmp_path, monkeypatch)
    assert ocr.recognise(PAGE) == ocr.Recognised(
        "The lamp burns.\nSoftly.", 0.8, "tesseract", "eng, deu"
    )


def test_scanned_pages_are_recognised_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_tesseract(tmp_path, monkeypatch)
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(2))
    found = extract(path, path.name)
    assert found.text == "The lamp burns.\nSoftly.\fThe lamp burns.\nSoftly."
    assert found.metadata == {
        "pages": 2, "ocr": "tesseract", "ocr_languages": "eng, deu", "ocr_pages": 2,
        "ocr_confidence": 0.8,
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
        "pictures without text: 1 of its 1 page;"
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


def tiff(pages: int) -> bytes:
    """A TIFF with so many directories of one entry each, and no picture that is one."""
    data = b"II*\0" + (8).to_bytes(4, "little")
    for number in range(pages):
        following = len(data) + 18 if number < pages - 1 else 0
        data += b"\1\0" + b"\0" * 12 + following.to_bytes(4, "little")
    return data


def test_each_page_of_a_tiff_is_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_tesseract(tmp_path, monkeypatch)
    path = tmp_path / "fax.tiff"
    path.write_bytes(tiff(3))
    found = extract(path, path.name)
    first, second, third = found.text.split("\f")
    assert (first, second[-6:], third[-6:]) == ("The lamp burns.\nSoftly.", "Page 1", "Page 2")
    assert (found.metadata["pages"], found.metadata["ocr_pages"], found.unread) == (3, 3, ())
    monkeypatch.setattr("mem_search.extractors.image._MAX_PAGES", 2)
    assert extract(path, path.name).unread == ("page 3 is not read (at most 2 are)",)
    monkeypatch.setattr("mem_search.extractors.image._SECONDS", 0)
    assert (extract(path, path.name).rest, extract(path, path.name, 1).rest) == (1, 0)


def test_the_pages_of_a_tiff_wait_for_ocr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_nothing(tmp_path, monkeypatch)
    path = tmp_path / "fax.tiff"
    path.write_bytes(tiff(3))
    found = extract(path, path.name)
    assert (found.text, found.lacks, found.rest) == ("", "ocr", 0)
    assert found.note == f"it is a picture (image/tiff) of 3 pages; {ocr.ADVICE}"
    path.write_bytes(tiff(2)[:-4] + (8).to_bytes(4, "little"))  # its chain comes back to its start
    assert extract(path, path.name).metadata["pages"] == 2


def test_a_scan_with_a_stamp_is_one_and_a_page_with_a_photograph_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_tesseract(tmp_path, monkeypatch)
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(1, text="Scanned with an app", width=200))
    found = extract(path, path.name)
    assert found.text == "Scanned with an app\n\nThe lamp burns.\nSoftly."
    path.write_bytes(scanned(1, text="Scanned with an app", width=90))
    assert extract(path, path.name).text == "Scanned with an app"


class TooMuch(Extraction):
    """A reader of which pictures take too much, on the second page."""

    def _asked(
        self, path: Path, name: str, page: int, links: bool, *, pictures: bool = True
    ) -> Extracted | Refused:
        if pictures and page == 1:
            return Refused("it needs more than 480 MB of memory to read", gave_up=True)
        ocr.look_into_pictures(pictures)
        try:
            return extract(path, name, page)
        finally:
            ocr.look_into_pictures(True)


def test_what_takes_too_much_with_its_picture_loses_only_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_tesseract(tmp_path, monkeypatch)
    monkeypatch.setattr("mem_search.extractors.pdf._SECONDS", 0)
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(3))
    found = TooMuch().read(path, path.name)
    assert isinstance(found, Extracted)
    assert found.text == "The lamp burns.\nSoftly.\f\fThe lamp burns.\nSoftly."
    assert found.unread == (
        "page 2 is a picture and not read: it needs more than 480 MB of memory to read",
    )
    assert found.lacks == ""


def test_a_page_in_which_nothing_is_recognised_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_rapidocr(monkeypatch, [])
    path = tmp_path / "scan.pdf"
    path.write_bytes(scanned(2, texts={0: "The fog horn of the north pier"}))
    found = extract(path, path.name)
    assert (found.text, found.unread) == (
        "The fog horn of the north pier\f", ("page 2 is without text, as far as OCR sees",),
    )  # fmt: skip
