"""A collection of files, each with words in a place of its own: none may be lost in silence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mem_search.extractors import checking, extract, held
from mem_search.model.ingest import Extracted
from ocr_programs import install_nothing
from office_files import (
    cells,
    chart,
    core,
    diagram,
    docx,
    form,
    inline,
    opendocument,
    packed,
    paragraph,
    pdf,
    pptx,
    slide,
    stream,
    word_part,
    xlsx,
)

_DIAGRAM = (("d", "diagramData", "diagrams/data1.xml"),)
_THREAD = (
    ("c", "comments", "../comments1.xml"),
    ("t", "threadedComment", "../threadedComments/threadedComment1.xml"),
)
_NOTE = (
    "<comments><commentList><comment ref='B7'><text><r><t>{}</t></r></text></comment>"
    "</commentList></comments>"
)
_LAMP = docx(paragraph("The lamp burns."))
_BOX = (
    "<w:p><w:r><w:txbxContent><w:p><w:r><w:t>Box redpoll</w:t></w:r></w:p></w:txbxContent></w:r>"
    "</w:p>"
)
_PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40
_REPLY = "<t><threadedComment ref='B7'><text>Reply gull</text></threadedComment></t>"
_HEAD = (
    "<s xmlns:style='s' xmlns:text='text'><style:header><text:p>Head curlew</text:p>"
    "</style:header></s>"
)
_CELL = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"

WORD = {
    "paragraph": (docx(paragraph("The lamp burns.")), "The lamp burns."),
    "words in runs": (
        docx("<w:p><w:r><w:t>Salt</w:t></w:r><w:r><w:t>marsh</w:t></w:r></w:p>"),
        "Saltmarsh",
    ),
    "hyphen that does not break": (
        docx("<w:p><w:t>AB</w:t><w:noBreakHyphen/><w:t>5521</w:t></w:p>"),
        "AB-5521",
    ),
    "tab and break": (
        docx("<w:p><w:t>a1</w:t><w:tab/><w:t>b2</w:t><w:br/><w:t>c3</w:t></w:p>"),
        "a1\tb2\nc3",
    ),
    "table": (
        docx(f"<w:tbl><w:tr><w:tc>{paragraph('Berth tern')}</w:tc></w:tr></w:tbl>"),
        "Berth tern",
    ),
    "text box": (docx(_BOX), "Box redpoll"),
    "text box twice": (
        docx(
            f"<mc:AlternateContent><mc:Choice>{_BOX}</mc:Choice><mc:Fallback>{_BOX}</mc:Fallback>"
            "</mc:AlternateContent>"
        ),
        "Box redpoll",
    ),
    "content control": (
        docx(f"<w:sdt><w:sdtContent>{paragraph('Chosen knot')}</w:sdtContent></w:sdt>"),
        "Chosen knot",
    ),
    "inserted": (
        docx("<w:p><w:ins><w:r><w:t>Inserted skua</w:t></w:r></w:ins></w:p>"),
        "Inserted skua",
    ),
    "link": (
        docx("<w:p><w:hyperlink><w:r><w:t>Linked plover</w:t></w:r></w:hyperlink></w:p>"),
        "Linked plover",
    ),
    "footnote": (docx(parts={"word/footnotes.xml": word_part("Foot ptarmigan")}), "Foot ptarmigan"),
    "endnote": (docx(parts={"word/endnotes.xml": word_part("End dotterel")}), "End dotterel"),
    "comment": (docx(parts={"word/comments.xml": word_part("Remark bunting")}), "Remark bunting"),
    "header": (docx(parts={"word/header2.xml": word_part("Header whimbrel")}), "Header whimbrel"),
    "footer": (docx(parts={"word/footer1.xml": word_part("Footer curlew")}), "Footer curlew"),
    "diagram": (
        docx(parts={"word/diagrams/data1.xml": diagram("Step osprey")}, of=_DIAGRAM),
        "Step osprey",
    ),
    "chart": (
        docx(parts={"word/charts/chart1.xml": chart()}, of=(("c", "chart", "charts/chart1.xml"),)),
        "Share: E: 25.6%; W: 74.4%",
    ),
    "page in a part": (
        docx(
            parts={"word/afchunk.htm": "<html><body><p>Chunk avocet</p></body></html>"},
            of=(("h", "aFChunk", "afchunk.htm"),),
        ),
        "Chunk avocet",
    ),
    "PDF inside": (
        docx(
            paragraph("See below."),
            parts={"word/embeddings/lamp.pdf": pdf()},
            of=(("f", "package", "embeddings/lamp.pdf"),),
        ),
        "# Attached: lamp.pdf\n\nThe lamp burns.",
    ),
    "file inside": (
        docx(
            paragraph("See below."),
            parts={"word/embeddings/lamp.docx": _LAMP},
            of=(("f", "package", "embeddings/lamp.docx"),),
        ),
        "# Attached: lamp.docx\n\nThe lamp burns.",
    ),
}

SLIDES = {
    "slide": (pptx(slide("The lamp burns.")), "The lamp burns."),
    "second slide": (pptx(slide("One"), slide("Two terns")), "One\fTwo terns"),
    "notes": (
        pptx(
            parts={"ppt/notesSlides/notesSlide1.xml": slide("Note sanderling")},
            of=(("n", "notesSlide", "../notesSlides/notesSlide1.xml"),),
        ),
        "Note sanderling",
    ),
    "old comments": (
        pptx(
            parts={
                "ppt/comments/comment1.xml": "<p:l xmlns:p='p'><p:cm>"
                "<p:text>Old knot</p:text></p:cm></p:l>"
            },
            of=(("c", "comments", "../comments/comment1.xml"),),
        ),
        "Old knot",
    ),
    "new comments": (
        pptx(
            parts={
                "ppt/comments/modernComment_1.xml": "<l xmlns:a='a'><cm><txBody><a:p><a:t>New"
                " knot</a:t></a:p></txBody></cm></l>"
            },
            of=(("c", "comments", "../comments/modernComment_1.xml"),),
        ),
        "New knot",
    ),
    "chart": (
        pptx(
            parts={"ppt/charts/chart1.xml": chart()}, of=(("c", "chart", "../charts/chart1.xml"),)
        ),
        "Catch of gulls\nShare: E: 25.6%; W: 74.4%",
    ),
    "diagram": (
        pptx(
            parts={"ppt/diagrams/data1.xml": diagram("Step osprey")},
            of=(("d", "diagramData", "../diagrams/data1.xml"),),
        ),
        "Step osprey",
    ),
    "file inside": (
        pptx(
            parts={"ppt/embeddings/x.docx": _LAMP}, of=(("f", "package", "../embeddings/x.docx"),)
        ),
        "The lamp burns.",
    ),
}

SHEETS = {
    "text in its cell": (xlsx(inline("Ebb tide")), "# Tides\nEbb tide"),
    "shared text": (
        xlsx(
            "<row><c r='A1' t='s'><v>0</v></c></row>",
            texts="<si><r><t>Salt</t></r><r><t>marsh</t></r></si>",
        ),
        "Saltmarsh",
    ),
    "without readings": (
        xlsx(
            "<row><c r='A1' t='s'><v>0</v></c></row>",
            texts="<si><t>東京</t><rPh><t>トウキョウ</t></rPh></si>",
        ),
        "# Tides\n東京",
    ),
    "percent": (xlsx(cells("0.0375", style=0), codes=("0.00%",)), "3.75%"),
    "currency": (xlsx(cells("1234.5", style=0), codes=("#,##0.00\\ [$€-407]",)), "1,234.50 €"),
    "date": (xlsx(cells("45365", style=0), codes=("dd.mm.yyyy",)), "14.03.2024"),
    "date of 1904": (
        xlsx(cells("43903", style=0), codes=("yyyy-mm-dd",), is_1904=True),
        "2024-03-14",
    ),
    "yes and error": (
        xlsx("<row><c r='A1' t='b'><v>1</v></c><c r='B1' t='e'><v>#N/A</v></c></row>"),
        "TRUE | #N/A",
    ),
    "formula with its value": (xlsx("<row><c r='A1'><f>1+1</f><v>2</v></c></row>"), "# Tides\n2"),
    "gap": (xlsx("<row><c r='A1'><v>1</v></c><c r='C1'><v>3</v></c></row>"), "1 |  | 3"),
    "hidden sheet": (xlsx(inline("Hidden tern"), state="hidden"), "Hidden tern"),
    "comment": (
        xlsx(inline("Ebb"), parts={"xl/comments1.xml": _NOTE.format("Saltmarsh")}, of=_THREAD),
        "Comment on B7: Saltmarsh",
    ),
    "comment with replies": (
        xlsx(
            inline("Ebb"),
            of=_THREAD,
            parts={
                "xl/comments1.xml": _NOTE.format("[Threaded comment] Reply gull"),
                "xl/threadedComments/threadedComment1.xml": _REPLY,
            },
        ),
        "Comment on B7: Reply gull",
    ),
    "text box": (
        xlsx(
            inline("Ebb"),
            parts={"xl/drawings/drawing1.xml": diagram("Box redpoll")},
            of=(("d", "drawing", "../drawings/drawing1.xml"),),
        ),
        "Box redpoll",
    ),
    "head of its pages": (
        xlsx(
            inline("Ebb"),
            after="<headerFooter><oddHeader>&amp;LHead curlew&amp;R&amp;P"
            "</oddHeader></headerFooter>",
        ),
        "Head curlew",
    ),
}

OPEN = {
    "a.odt": (
        opendocument("text", "<text:h text:outline-level='2'>Tides</text:h><text:p>Ebb</text:p>"),
        "## Tides\n\nEbb",
    ),
    "note.odt": (
        opendocument(
            "text", "<text:p>Ebb<text:note><text:p>Foot knot</text:p></text:note></text:p>"
        ),
        "Foot knot",
    ),
    "number of a note.odt": (
        opendocument(
            "text",
            "<text:p>The harbour<text:note><text:note-citation>1</text:note-citation>"
            "<text:note-body><text:p>Of oak.</text:p></text:note-body></text:note> froze</text:p>",
        ),
        "The harbour froze\n\nOf oak.",
    ),
    "comment.odt": (
        opendocument(
            "text",
            "<text:p>Ebb<office:annotation><text:p>Remark tern</text:p>"
            "</office:annotation></text:p>",
        ),
        "Remark tern",
    ),
    "head.odt": (
        opendocument(
            "text",
            "<text:p>Ebb</text:p>",
            {"styles.xml": _HEAD},
        ),
        "Head curlew",
    ),
    "chart.odt": (
        opendocument(
            "text",
            "<text:p>Ebb</text:p>",
            {"Object 1/content.xml": "<o xmlns:text='text'><text:p>Axis dunlin</text:p></o>"},
        ),
        "Axis dunlin",
    ),
    "a.odp": (
        opendocument(
            "presentation",
            "<draw:page><text:p>One</text:p></draw:page>"
            "<draw:page><text:p>Two</text:p></draw:page>",
        ),
        "One\fTwo",
    ),
    "a.ods": (
        opendocument(
            "spreadsheet",
            "<table:table table:name='Tides'><table:table-row>"
            + _CELL.format(" office:value='0.0375'", "3.75%")
            + _CELL.format(" table:number-columns-repeated='2'", "x")
            + "</table:table-row></table:table>",
        ),
        "# Tides\n3.75% | x | x",
    ),
    "comment.ods": (
        opendocument(
            "spreadsheet",
            "<table:table table:name='Tides'><table:table-row>"
            "<table:table-cell><office:annotation><text:p>Remark tern</text:p>"
            "</office:annotation><text:p>4</text:p>"
            "</table:table-cell></table:table-row></table:table>",
        ),
        "4\nComment: Remark tern",
    ),
}

_FILE = "<</Type/Filespec/F(annex.txt)/UF(annex.txt)/EF<</F 7 0 R>>>>"
_XFA = "<template><draw><value><text>Caption pipit</text></value></draw></template>"
_DATA = "<datasets><boat>Sloop Bonxie</boat></datasets>"

PDFS = {
    "note": (
        pdf(
            "<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents(Remark tern)>>",
            page="/Annots[6 0 R]",
        ),
        "Remark tern",
    ),
    "typed field": (form("/FT/Tx/T(boat)/V(Sloop Bonxie)", text="Boat:"), "Boat: Sloop Bonxie"),
    "field with a name for people": (
        form("/FT/Tx/T(f1)/TU(Your boat)/V(Bonxie)"),
        "Your boat: Bonxie",
    ),
    "field without a label": (form("/FT/Tx/T(form.boat)/V(Bonxie)", text=""), "boat: Bonxie"),
    "box that is ticked": (
        form("/FT/Btn/T(w)/V/Yes/AS/Yes/AP<</N<</Yes 4 0 R/Off 4 0 R>>>>", text="Winter storage"),
        "Winter storage: yes",
    ),
    "box that is not": (
        form("/FT/Btn/T(w)/V/Off/AS/Off/AP<</N<</Yes 4 0 R/Off 4 0 R>>>>", text="Winter storage"),
        "Winter storage: no",
    ),
    "choice": (
        form("/FT/Ch/Ff 131072/T(c)/V(Ochre)/Opt[(Teal)(Ochre)]", text="Colour"),
        "Colour: Ochre",
    ),
    "attachment": (
        pdf(
            _FILE,
            stream("The dinghy Avocet"),
            catalog="/Names<</EmbeddedFiles<</Names[(a) 6 0 R]>>>>",
        ),
        "# Attached: annex.txt\n\nThe dinghy Avocet",
    ),
    "pinned attachment": (
        pdf(
            "<</Type/Annot/Subtype/FileAttachment/Rect[0 0 9 9]/FS 8 0 R>>",
            stream("The dinghy Avocet"),
            _FILE,
            page="/Annots[6 0 R]",
        ),
        "The dinghy Avocet",
    ),
    "XFA form": (
        pdf(
            stream(_XFA),
            stream(_DATA),
            text="Please wait...",
            catalog="/AcroForm<</Fields[]/XFA[(template)6 0 R(datasets)7 0 R]>>",
        ),
        "Caption pipit\nboat: Sloop Bonxie",
    ),
}

_RTF = r"{{\rtf1\ansi\ansicpg1252\deff0{{\fonttbl{{\f0\fswiss Arial;}}}}\f0 B\'fcro.{}\par}}"
RTFS = {
    "text": ("", "Büro."),
    "footnote": (r"{\footnote Foot ptarmigan}", "Foot ptarmigan"),
    "header": (r"{\header Head whimbrel}", "Head whimbrel"),
    "first footer": (r"{\footerf Foot curlew}", "Foot curlew"),
    "comment": (r"{\*\annotation Remark bunting}", "Remark bunting"),
    "box": (r"{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt \pard Box redpoll\par}}}", "Box redpoll"),
}


def _files() -> Iterator[tuple[str, bytes, str]]:
    for suffix, made in (("docx", WORD), ("pptx", SLIDES), ("xlsx", SHEETS), ("pdf", PDFS)):
        for name, (data, said) in made.items():
            yield f"{name}.{suffix}", data, said
    for name, (data, said) in OPEN.items():
        yield name, data, said
    for name, (piece, said) in RTFS.items():
        yield f"{name}.rtf", _RTF.format(piece).encode(), said


FILES = {name: (data, said) for name, data, said in _files()}


def read(folder: Path, name: str, data: bytes) -> Extracted:
    path = folder / name
    path.write_bytes(data)
    return extract(path, name)


@pytest.fixture(autouse=True)
def without_ocr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_nothing(tmp_path, monkeypatch)


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_says_is_in_its_text(name: str, tmp_path: Path) -> None:
    data, said = FILES[name]
    found = read(tmp_path, name, data)
    assert said in found.text
    assert found.text.count(said) == 1
    assert found.unread == ()


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(".pdf")])
def test_the_second_count_sees_every_word_of_it(name: str, tmp_path: Path) -> None:
    data, said = FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    lost = " ".join(checking.missing("", held(path, name))).lower()
    is_elsewhere = name in ("page in a part.docx", "head.odt", "head of its pages.xlsx")
    last = said.split()[-1].strip(".%").lower()
    if not (is_elsewhere or " inside" in name) and last.isalpha() and last.isascii():
        assert last in lost or "…" in lost


def test_a_word_that_no_reader_reads_is_named(tmp_path: Path) -> None:
    gone = "<w:p><w:r><w:delText>gone</w:delText></w:r></w:p>"
    odd = f"{paragraph('Ebb')}{gone}<w:t>Stray pochard</w:t>"
    found = read(tmp_path, "odd.docx", docx(odd))
    assert found.unread == ("word/document.xml has 2 words missing in the text: stray pochard",)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (
            "formula.xlsx",
            xlsx("<row><c r='B4'><f>SUM(B1:B3)</f></c></row>"),
            "1 formula without a value in the file (Tides!B4): open it in a spreadsheet program",
        ),
        (
            "zip.docx",
            docx(paragraph("Ebb"), parts={"word/embeddings/a.zip": packed({"x": "y"})},
                 of=(("f", "package", "embeddings/a.zip"),)),
            "a.zip inside it was not read: it is a ZIP archive",
        ),
        (
            "picture.pptx",
            pptx(slide(""), slide("Two"), parts={"ppt/media/a.png": _PNG},
                 of=(("i", "image", "../media/a.png"),)),
            "slide 1: a.png inside it was not read: it is a picture (image/png); to read it, run: ",
        ),
        (
            "large.docx",
            docx(paragraph("Tide " * 40), parts={"word/media/a.png": b"\0" * 100_001},
                 of=(("i", "image", "media/a.png"),)),
            "1 large picture in it is not read",
        ),
        (
            "menu.html",
            b"<html><body><nav><a href='/a'>Regatta archive</a></nav><article><h1>Tides</h1>"
            + b"<p>The ebb runs for six hours. </p>" * 30 + b"</article></body></html>",
            "the page, outside of its main text, has 2 words missing in the text: regatta",
        ),
        (
            "book.epub",
            packed({
                "META-INF/container.xml": "<c><rootfile full-path='a.opf'/></c>",
                "a.opf": "<p><item id='a' href='1.xhtml' media-type='application/xhtml+xml'/>"
                "<itemref idref='a'/></p>",
                "1.xhtml": "<html><body><p>Ebb.</p></body></html>",
                "2.xhtml": "<html><body><p>Appendix pochard</p></body></html>",
            }),
            "2.xhtml has 2 words missing in the text: appendix pochard",
        ),
    ],
)  # fmt: skip
def test_what_is_not_read_is_said(name: str, data: bytes, said: str, tmp_path: Path) -> None:
    found = read(tmp_path, name, data)
    assert found.text.strip()
    assert any(each.startswith(said) for each in found.unread), found.unread


def test_a_formula_without_a_value_is_shown_as_it_is_written(tmp_path: Path) -> None:
    data = xlsx("<row><c r='A1'><f>SUM(B1:B3)</f></c></row>")
    assert read(tmp_path, "a.xlsx", data).text == "# Tides\n=SUM(B1:B3)"


def test_files_in_files_end_somewhere(tmp_path: Path) -> None:
    data = _LAMP
    for depth in range(4):
        data = docx(paragraph(f"Level {depth}"), parts={"word/embeddings/in.docx": data},
                    of=(("f", "package", "embeddings/in.docx"),))  # fmt: skip
    found = read(tmp_path, "a.docx", data)
    assert ("Level 3" in found.text, "Level 1" in found.text, "lamp" in found.text) == (
        True, True, False,
    )  # fmt: skip
    assert "it is in a file in a file" in found.unread[0]


def test_numbers_of_pages_are_those_of_sheets_and_slides(tmp_path: Path) -> None:
    assert read(tmp_path, "a.odp", OPEN["a.odp"][0]).metadata["pages"] == 2
    assert read(tmp_path, "a.ods", OPEN["a.ods"][0]).metadata["pages"] == 1


def test_a_title_of_a_program_gives_way_to_the_heading(tmp_path: Path) -> None:
    heading = "<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:t>Mooring plan</w:t></w:p>"
    for title, author in (("Microsoft Word - x.doc", "python-docx"), ("Document1", "Ada Quay")):
        made = docx(heading, parts={"docProps/core.xml": core(title, author)})
        found = read(tmp_path, "a.docx", made)
        assert found.title == "Mooring plan"
        assert found.metadata == ({"author": author} if author == "Ada Quay" else {})
