"""Formats of one record a file that are neither Office nor PDF."""

import json
from pathlib import Path

import pytest

from mem_search.extractors import extract, identify, table
from mem_search.extractors.refusal import OLE, Unreadable
from mem_search.model.ingest import Extracted

WORD = OLE + bytes(1024) + "WordDocument".encode("utf-16-le") + bytes(512)


def read(folder: Path, name: str, data: bytes) -> Extracted:
    path = folder / name
    path.write_bytes(data)
    return extract(path, name)


def test_cells_of_a_notebook_and_how_many_pictures_it_has(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "Measured."]},
        {"cell_type": "code", "source": "plot()", "outputs": [
            {"output_type": "display_data",
             "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}},
            {"output_type": "error", "ename": "ValueError", "evalue": "no tide"},
        ]},
    ]  # fmt: skip
    book = {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}
    found = read(tmp_path, "a.ipynb", json.dumps(book).encode())
    assert found.title == "Tides"
    assert found.text.startswith("# Tides\nMeasured.\n\n```python\nplot()\n```")
    assert "ValueError: no tide" in found.text
    assert "iVBOR" not in found.text
    assert found.unread == ("1 picture among the outputs not read",)


def test_subtitles_have_their_words_and_now_and_then_the_time(tmp_path: Path) -> None:
    cues = (
        "WEBVTT\n\nNOTE not said\n\n00:01.000 --> 00:03.000 align:start\n<v Ada>The lamp\n\n"
        "00:03.000 --> 00:04.000\nThe lamp\nburns &amp; <i>shines</i>.\n\n"
        "x\n01:05:00.000 --> 01:05:02.000\nThe end.\n"
    )
    found = read(tmp_path, "a.vtt", cues.encode())
    assert found.text == (
        "## 00:00:01\n\nAda: The lamp The lamp burns & shines.\n\n## 01:05:00\n\nThe end."
    )


def test_times_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    cues = "1\n00:00:01,000 --> 00:00:02,000\nLamp\n\n2\n0:0:3 --> 0:0:4\nPier\n"
    found = read(tmp_path, "a.srt", cues.encode())
    assert "Lamp" in found.text
    assert found.unread == ("1 of 2 cues have times that cannot be read",)


def test_rows_beyond_the_limit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_ROWS", 3)
    found = read(tmp_path, "a.csv", b"What\nlamp\npier\nquay\noil\n")
    assert found.text == "What\nlamp\npier"
    assert found.unread == ("2 of 5 rows were not read: the first 3 are",)


@pytest.mark.parametrize("text", ["Date\tText\n2023-01-02\tPier fee Sanderling\n",
                                  "Datum;Text\n02.01.2023;Pier fee Sanderling\n"])  # fmt: skip
def test_a_bank_calls_a_table_of_text_a_workbook(text: str, tmp_path: Path) -> None:
    assert "Pier fee Sanderling" in read(tmp_path, "statement.xls", text.encode("utf-16")).text
    assert "Pier fee Sanderling" in read(tmp_path, "statement.xls", text.encode()).text


def test_an_error_page_that_calls_itself_a_workbook_is_none(tmp_path: Path) -> None:
    with pytest.raises(Unreadable):
        read(tmp_path, "a.xls", b"Service unavailable\ntry later\n")


def test_flat_documents_of_libreoffice_are_read(tmp_path: Path) -> None:
    data = (
        b"<?xml version='1.0'?><office:document xmlns:office='urn:oasis:names:tc:opendocument:"
        b"xmlns:office:1.0' xmlns:text='t'><office:body><text:h>Lamp</text:h><text:p>It "
        b"<text:span>burns"
        b"</text:span><text:line-break/>on</text:p></office:body></office:document>"
    )
    assert read(tmp_path, "a.fodt", data).text == "Lamp\n\nIt burns\non"


def test_word_documents_of_2003_are_read(tmp_path: Path) -> None:
    data = (
        b"<?xml version='1.0'?><w:wordDocument xmlns:w='http://schemas.microsoft.com/office/word/"
        b"2003/wordml'><w:body><w:p><w:r><w:t>The lamp </w:t></w:r><w:r><w:t>burns.</w:t></w:r>"
        b"</w:p>"
        b"</w:body></w:wordDocument>"
    )
    assert read(tmp_path, "a.doc", data).text == "The lamp burns."


def test_a_page_that_calls_itself_a_word_document_is_read(tmp_path: Path) -> None:
    data = (
        b"Date: Mon, 1 Jan 2024 10:00:00 +0000\nMIME-Version: 1.0\nContent-Type: multipart/related;"
        b' boundary="=x"\n\n--=x\nContent-Type: text/html; charset="utf-8"\n'
        b"Content-Transfer-Encoding: quoted-printable\n\n"
        b"<html><body>the pump Gargan=65y</body></html>"
        b"\n--=x--\n"
    )
    found = read(tmp_path, "export.doc", data)
    assert found.text == "the pump Garganey"


def test_escapes_of_letters_in_json_are_letters(tmp_path: Path) -> None:
    data = r'{"a": "\u0421\u0430\u0434", "b": "\ud83d\ude00 \\u0421 \u0022 \n \ud83d"}'
    found = read(tmp_path, "a.json", data.encode())
    assert found.text == r'{"a": "Сад", "b": "😀 \\u0421 \u0022 \n \ud83d"}'


def test_an_old_word_document_names_the_program_that_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unreadable, match="LibreOffice or antiword; then: mem-search sync --again"):
        read(tmp_path, "a.doc", WORD)


def test_an_old_word_document_is_converted_by_libreoffice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import zipfile

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("word/document.xml", "<w:document xmlns:w='w'><w:p><w:t>The lamp"
                         "</w:t></w:p></w:document>")  # fmt: skip
    (tmp_path / "made.docx").write_bytes(made.getvalue())
    program = tmp_path / "soffice"
    program.write_text(
        '#!/bin/sh\nfor each; do last=$each; done\n[ "$5" = docx ] || exit 1\n'
        f'cp {tmp_path}/made.docx "$(dirname "$last")/document.docx"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert read(tmp_path, "a.doc", WORD).text == "The lamp"


def test_pages_without_a_preview_says_how_to_export_it(tmp_path: Path) -> None:
    import io
    import zipfile

    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("Index/Document.iwa", "x")
        archive.writestr("preview.jpg", "x")
    with pytest.raises(Unreadable, match="open it in Pages and export it as PDF"):
        read(tmp_path, "a.pages", data.getvalue())


def test_a_protected_book_is_refused(tmp_path: Path) -> None:
    head = b"Book".ljust(60, b"\0") + b"BOOKMOBI" + bytes(8) + b"\0\2"
    first = b"\0\2\0\0\0\0\0\4\0\1\x10\0\0\2\0\0"
    start = len(head) + 18
    head += start.to_bytes(4, "big") + bytes(4) + (start + 16).to_bytes(4, "big") + bytes(6)
    with pytest.raises(Unreadable, match="DRM"):
        read(tmp_path, "a.azw3", head + first + b"text")


def test_parquet_without_its_package_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(Unreadable, match=r"mem-search\[parquet\]"):
        read(tmp_path, "a.parquet", b"PAR1xxxxPAR1")


def test_properties_of_logseq_and_notion_are_fields(tmp_path: Path) -> None:
    page = read(tmp_path, "2024_05_01.md", b"tags:: sea, [[lamp]]\nauthor:: Ada\n\n- It burns\n")
    assert (page.tags, page.metadata["author"], page.text) == (("sea", "lamp"), "Ada", "- It burns")
    assert page.created_at is not None
    name = f"Pier {'a1' * 16}.md"
    data = b"# Pier\n\nCreated: January 5, 2024 10:00 AM\nTags: sea, oak\n\nIt is of oak.\n"
    notion = read(tmp_path, name, data)
    assert (notion.title, notion.tags) == ("Pier", ("sea", "oak"))
    assert notion.text == "# Pier\n\n\nIt is of oak."


def test_other_texts_stay_with_their_readers(tmp_path: Path) -> None:
    for name, data, reader in (("a.log", b"lamp", "text"), ("a.md", b"lamp", "markdown"),
                               ("a.eml", b"MIME-Version: 1.0\nContent-Type: multipart/related; "
                                b"boundary=x\n\n--x\n", "text")):  # fmt: skip
        (tmp_path / name).write_bytes(data)
        assert identify(tmp_path / name, name).name == reader
