"""The contract of every reader of a file format, each on tiny files made here."""

import base64
import io
import json
import plistlib
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from mem_search.extractors import BUILT_IN, SUFFIXES, extract, readers
from mem_search.extractors.refusal import OLE, Unreadable
from ocr_programs import install_tesseract


def archive(members: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in members.items():
            file.writestr(name, text)
    return data.getvalue()


_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def pdf() -> bytes:
    stream = "BT /F1 12 Tf 20 20 Td (The lamp burns.) Tj ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 50]/Contents 4 0 R"
        "/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
    ]
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(f"{len(body):010} 00000 n \n")
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = "xref\n0 5\n0000000000 65535 f \n" + "".join(places)
    return f"{body}{table}trailer\n<</Root 1 0 R/Size 5>>\nstartxref\n{len(body)}\n%%EOF".encode()


def docx() -> bytes:
    return archive(
        {"word/document.xml": "<w:document xmlns:w='w'><w:p><w:t>The lamp burns.</w:t></w:p>"
         "</w:document>"}
    )  # fmt: skip


def pptx() -> bytes:
    return archive(
        {
            "ppt/presentation.xml": f"<p xmlns:r='{_OFFICE}'><sldId id='256' r:id='r1'/></p>",
            "ppt/_rels/presentation.xml.rels": f"<r xmlns='{_RELS}'><Relationship Id='r1'"
            " Type='x/slide' Target='slides/slide1.xml'/></r>",
            "ppt/slides/slide1.xml": "<a xmlns:a='a'><a:p><a:t>The lamp burns.</a:t></a:p></a>",
        }
    )


def xlsx() -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return archive(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": f"<Relationships xmlns='{_RELS}'><Relationship Id='r1'"
            f" Type='{_OFFICE}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
            "xl/workbook.xml": f"<workbook xmlns='{main}' xmlns:r='{_OFFICE}'><sheets><sheet"
            " name='Harbour' sheetId='1' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{_RELS}'><Relationship Id='r1'"
            f" Type='{_OFFICE}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>",
            "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{main}'><sheetData><row r='1'>"
            "<c r='A1' t='inlineStr'><is><t>The lamp burns.</t></is></c></row></sheetData>"
            "</worksheet>",
        }
    )


_XLS = (
    'c-p&gUhu)fjZzO8(10BSGsD0CoD6J8VvIn{3F8Pb0OkMx2QgtZ2N3@s1w#sOasVTejg?_H?-'
    '_Pb9D?HeAp;Y`29|?Bl7Zn75XUeSF!<%?r7F-7IDy@e$Ov+SEs$hnm;)5yV~_;9N(f9QgGpg9xgM-'
    '?514cSi}Zp?TcFwpj8P2d?ftYYps6^5NeL{+#{e>SJ6O*xu!tdpD8mU*Dz2Zv2vN(*;8>KIm@_yf<XCtZmM{S0%{'
    '?_QwJ0&?0fPuI0+%p+{jb2l@CBAr4=9X^(^s640Vw_hRh%7*_+%y)28ITP{|Vp(-'
    'patwaDW*k!_MH5Sd^4sTJ(oO3S8=fFh2uBNJgqcPGW9>LQ-i_Ua=k*s5}PeUjdZ-'
    '%L`7|JU}u9s0+jv1gCBRU<v(a<;P3DNdflpV37uJnGG>t733I({|t>F9YD=|a2W`x1=gVrCY!*fN`u)_U{VB_CV{'
    'kCfGCvV)(lqD0+v+++G7j`m+jS&*cw1~>+8TBa;=Z;HG%AP?hmU()?K$>$e;wQX;OgtL9m%Yhf#-'
    'd)=UuCX%C|rp{2lGFe!;qB5*JXK;8ZyT7B^|{AJ(*GX)`a9Fq{kHjq+aiGcuI45MHajDk@x3P!;w7zLwX6bx4YYT'
    '1LDz@UBysQu3h?L)9b$94V!@xRewl3@#i81jLz1lTckWyk~4MGTcBr5`Z{Rz{dvj6~{zjTeGIIMDVYhHQo;usgCz'
    'PQSoDAS1GWh}I}Ty(~nk{r^aDCyng~09?Plng'
)  # fmt: skip
"""A workbook of Excel 97 with one cell, packed."""


def odt() -> bytes:
    return archive(
        {"content.xml": "<o xmlns:text='t'><text:p>The lamp <text:span>burns</text:span>."
         "</text:p></o>"}
    )  # fmt: skip


def epub(page: str = "<html><body><p>The lamp burns.</p></body></html>") -> bytes:
    return archive(
        {
            "META-INF/container.xml": "<c><rootfile full-path='book/main.opf'/></c>",
            "book/main.opf": "<p><item id='a' href='one.xhtml' media-type='application/xhtml+xml'"
            "/><itemref idref='a'/></p>",
            "book/one.xhtml": page,
        }
    )


def png() -> bytes:
    """One white pixel."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))]
    chunks += [(b"IDAT", zlib.compress(b"\0\xff")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def mobi() -> bytes:
    """A book of one record, packed by PalmDoc, which also has letters as they are."""
    text = b"<html><body><p>The lamp burns.</p></body></html>"
    packed = text.replace(b" b", bytes((ord("b") ^ 0x80 | 0x80,)))
    title = b"Lamps"
    first = struct.pack(">HHLHHHH", 2, 0, len(text), 1, 4096, 0, 0) + b"MOBI"
    first += struct.pack(">LLL", 232, 2, 65001)
    first = first.ljust(84, b"\0") + struct.pack(">LL", 248, len(title))
    first = first.ljust(248, b"\0") + title
    head = b"Lamps".ljust(60, b"\0") + b"BOOKMOBI" + bytes(8) + struct.pack(">H", 2)
    start = len(head) + 16 + 2
    head += struct.pack(">LLLL", start, 0, start + len(first), 2) + b"\0\0"
    return head + first + packed


def old_office() -> bytes:
    return OLE + bytes(1024) + "WordDocument".encode("utf-16-le") + bytes(512)


def parquet() -> bytes:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    data = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.table({"what": ["The lamp burns."], "price": [3]}), data
    )
    return data.getvalue()


_SHEET_2003 = (
    "<?xml version='1.0'?><?mso-application progid='Excel.Sheet'?><Workbook"
    " xmlns='urn:schemas-microsoft-com:office:spreadsheet'"
    " xmlns:ss='urn:schemas-microsoft-com:office:spreadsheet'><Worksheet ss:Name='Pier'><Table>"
    "<Row><Cell><Data ss:Type='String'>The lamp burns.</Data></Cell><Cell ss:Index='3'>"
    "<Data ss:Type='Number'>12</Data></Cell></Row></Table></Worksheet></Workbook>"
)
_NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Lamps\n", "The lamp burns."]},
        {"cell_type": "code", "source": "print(oil)", "outputs": [
            {"output_type": "stream", "text": ["12 litres\n"]},
            {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}},
        ]},
    ],
    "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip

FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "pdf": ("lamp.pdf", pdf),
    "docx": ("lamp.docx", docx),
    "pptx": ("lamp.pptx", pptx),
    "xlsx": ("lamp.xlsx", xlsx),
    "sheet": ("lamp.xls", lambda: zlib.decompress(base64.b85decode(_XLS))),
    "opendocument": ("lamp.odt", odt),
    "epub": ("lamp.epub", epub),
    "rtf": ("lamp.rtf", lambda: rb"{\rtf1\ansi The lamp burns.}"),
    "html": ("lamp.html", lambda: b"<html><body><p>The lamp burns.</p></body></html>"),
    "mhtml": (
        "lamp.mhtml",
        lambda: (
            b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\n"
            b"Content-Type: text/html\r\n\r\n<html><body><p>The lamp burns.</p></body></html>\r\n"
            b"--b--\r\n"
        ),
    ),
    "webarchive": (
        "lamp.webarchive",
        lambda: plistlib.dumps(
            {
                "WebMainResource": {
                    "WebResourceData": b"<html><body><p>The lamp burns.</p></body></html>",
                    "WebResourceMIMEType": "text/html",
                    "WebResourceTextEncodingName": "UTF-8",
                    "WebResourceURL": "https://lamps.example/a",
                }
            },
            fmt=plistlib.FMT_BINARY,
        ),
    ),
    "markdown": ("lamp.md", lambda: b"---\ntags: [sea]\n---\n# Lamp\n\nThe lamp burns. #night\n"),
    "image": ("lamp.png", png),
    "oldoffice": ("lamp.doc", old_office),
    "iwork": (
        "lamp.pages",
        lambda: archive({"Index/Document.iwa": "x", "QuickLook/Preview.pdf": pdf().decode()}),
    ),
    "mobi": ("lamp.mobi", mobi),
    "parquet": ("lamp.parquet", parquet),
    "officexml": ("lamp.xls", _SHEET_2003.encode),
    "notebook": ("lamp.ipynb", lambda: json.dumps(_NOTEBOOK).encode()),
    "subtitles": (
        "lamp.srt",
        lambda: b"1\n00:00:01,000 --> 00:00:02,500\n<i>The lamp burns.</i>\n",
    ),
    "table": ("lamp.csv", lambda: b"What,Price\nThe lamp burns.,3\n"),
    "json": ("lamp.json", lambda: b'{"say": "The lamp burns. \\u0421"}'),
    "text": ("lamp.txt", lambda: b"The lamp burns."),
}


@pytest.fixture(autouse=True)
def tesseract(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that reads every whole picture in the same way."""
    programs = tmp_path_factory.mktemp("bin")
    install_tesseract(programs, monkeypatch)
    antiword = programs / "antiword"
    antiword.write_text("#!/bin/sh\necho The lamp burns.\n")
    antiword.chmod(0o755)


def read(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return extract(path, name).text


WHOLE_IN_HALVES = (
    "html", "markdown", "text", "pdf", "table", "json", "oldoffice", "subtitles", "rtf",
)  # fmt: skip


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
class TestExtractor:
    def test_reads_its_format(self, reader, tmp_path: Path) -> None:
        name, make = FILES[reader.name]
        assert "The lamp burns." in read(tmp_path, name, make())

    def test_knows_its_format_by_content_whatever_the_name(self, reader, tmp_path: Path) -> None:
        _, make = FILES[reader.name]
        if reader.name not in ("markdown", "opendocument", "sheet", "subtitles"):
            assert "The lamp burns." in read(tmp_path, "lamp.dat", make())

    def test_says_that_half_a_file_is_damaged(self, reader, tmp_path: Path) -> None:
        name, make = FILES[reader.name]
        if reader.name in WHOLE_IN_HALVES:
            return  # half a text is a text, PDFium repairs, antiword is not ours, RTF says it
        with pytest.raises(Unreadable, match=r"damaged|cut off"):
            read(tmp_path, name, make()[: len(make()) // 2])

    def test_its_endings_are_known_for_uploads(self, reader) -> None:
        assert reader.name in BUILT_IN
        assert set(reader.suffixes) <= set(SUFFIXES)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"", "it is empty"),
        ("a.pdf", b"Not found", "its name says that it is a PDF, but it is text; name it as"),
        ("a.docx", archive({"word/document.xml": "0" * 5_000_000}), "ZIP bomb"),
        ("a.docx", archive({"word/document.xml": "<a/>", "../../x": ""}), "leaves the archive"),
        ("a.webarchive", plistlib.dumps({"WebMainResource": 1}), "it is damaged"),
        (
            "a.webarchive",
            plistlib.dumps(
                {"WebMainResource": {"WebResourceData": b"", "WebResourceMIMEType": "a/b"}}
            ),
            "it is not a saved web page, but a/b",
        ),
        ("a.bin", bytes(range(256)) * 4, "it is of a binary kind that no reader reads; to add"),
    ],
)
def test_a_file_that_cannot_be_read_has_a_reason(
    name: str, data: bytes, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(Unreadable, match=reason):
        read(tmp_path, name, data)


def test_an_entity_that_grows_is_not_resolved(tmp_path: Path) -> None:
    bomb = (
        "<!DOCTYPE a [<!ENTITY b '"
        + "x" * 9000
        + "'>]><a xmlns:w='w'><w:p><w:t>&b;</w:t></w:p></a>"
    )
    assert "xxx" not in read(tmp_path, "a.docx", archive({"word/document.xml": bomb}))


@pytest.mark.parametrize("form", [plistlib.FMT_XML, plistlib.FMT_BINARY])
def test_a_page_that_safari_saved_knows_where_it_is_from(form, tmp_path: Path) -> None:
    path = tmp_path / "saved.webarchive"
    page = {
        "WebResourceData": "<html><body><p>Les bougies brûlent.</p></body></html>".encode("cp1252"),
        "WebResourceMIMEType": "text/html",
        "WebResourceTextEncodingName": "windows-1252",
        "WebResourceURL": "https://lamps.example/a",
    }
    path.write_bytes(plistlib.dumps({"WebMainResource": page}, fmt=form))
    found = extract(path, path.name)
    assert (found.text, found.url, found.kind) == (
        "Les bougies brûlent.", "https://lamps.example/a", "website",
    )  # fmt: skip


@pytest.mark.parametrize("form", ["html", "epub"])
def test_headings_of_pages_and_books_are_written_as_in_markdown(form, tmp_path: Path) -> None:
    page = (
        "<html><body><article><h1>Lamps</h1><h2 class='a'><a href='#p'>Prices</a></h2>"
        f"<h3><img></h3><p>{'The oil is dear. ' * 50}</p></article></body></html>"
    )
    data = page.encode() if form == "html" else epub(page)
    lines = read(tmp_path, f"a.{form}", data).splitlines()
    assert lines[:2] == ["# Lamps", "## Prices"]
    assert lines[2].startswith("The oil is dear.")


def test_front_matter_and_tags_of_a_note(tmp_path: Path) -> None:
    path = tmp_path / "lamp.md"
    path.write_text("---\ntitle: The lamp\ndate: 2024-03-01\ntags: [sea]\n---\nIt burns. #night\n")
    found = extract(path, path.name)
    assert (found.title, found.tags, found.created_at) == (
        "The lamp", ("sea", "night"), 1709251200000,
    )  # fmt: skip
    assert found.text == "It burns. #night"
