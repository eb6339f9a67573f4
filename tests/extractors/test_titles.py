"""Titles, authors and dates that programs write are none."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mem_search.extractors import extract
from mem_search.extractors.checking import said_title, titled
from mem_search.model.ingest import Extracted
from office_files import docx, paragraph

NONE = """(anonymous)|untitled|Untitled-1|PowerPoint Presentation|PowerPoint-Präsentation|
Présentation PowerPoint|Presentación de PowerPoint|Apresentação do PowerPoint|
Презентация PowerPoint|PowerPoint プレゼンテーション|PowerPoint 演示文稿|openpyxl|
Document1|Document (2)|
Dokument1|Slide 1|Folie 1|Diapositive 1|Unbenanntes Dokument|Sans titre|Sin título|Sem título|
Senza titolo|Bez tytułu|Без названия|無題|无标题|제목 없음|Naamloos|Book1|Mappe1|Classeur1|Libro1|
Microsoft Word - x.doc|Microsoft PowerPoint - Talk.ppt|Microsoft Word - Document1|report.docx|
C:\\Users\\me\\a.tex|file:///tmp/a.html|TeX output 2003.01.01:1200|about:blank|---|
0b7d3f2a9c8e4d5f6a7b|unspecified|Microsoft Word|  |New Page 1|Scan 0001"""

SAID = """Annual report 2021|1984|Slide rules of the world|Document management in practice|
Book of tides|
Untitled symphonies and their names|Presentation skills for pilots|Word games|ER 2024/7|R|
Microsoft Word for beginners|The PowerPoint problem and what to do"""


@pytest.mark.parametrize("title", [each.strip("\n") for each in NONE.split("|")])
def test_a_title_of_a_program_is_none(title: str) -> None:
    assert said_title(title) == ""


@pytest.mark.parametrize("title", [each.strip("\n") for each in SAID.split("|")])
def test_a_title_of_a_person_is_one(title: str) -> None:
    assert said_title(title) == title


def test_what_was_printed_has_its_own_title() -> None:
    assert said_title("Microsoft Word - Annual report") == "Annual report"


@pytest.mark.parametrize(
    ("text", "reader", "title", "wanted"),
    [
        ("# Tides\n\nThe ebb.", "pdf", "untitled", "Tides"),
        ("17\n\nThe ebb runs.\nMore.", "pdf", "untitled", "The ebb runs."),
        ("The ebb runs.", "pdf", "", ""),
        ("# Tides\n\nThe ebb.", "docx", "", "Tides"),
        ("Harbour\nOne", "pptx", "PowerPoint Presentation", "Harbour"),
        ("Harbour\nOne", "pptx", "", "Harbour"),
        ("# Sheet7\n1", "xlsx", "Book1", ""),
        ("# Attached: a.txt\n\nIt is red.", "pdf", "untitled", "It is red."),
        ("# include <a.h>", "text", "", ""),
        ("letters " * 60, "pdf", "untitled", f"{'letters ' * 14}letters"),
    ],
)
def test_else_it_is_the_heading_or_the_first_line(
    text: str, reader: str, title: str, wanted: str
) -> None:
    assert titled(Extracted(text, title=title), reader).title.rstrip() == wanted.rstrip()


def test_programs_are_no_authors() -> None:
    for author, wanted in (
        ("python-docx", None), ("(anonymous)", None), ("Microsoft Office User", None),
        ("Ada Quay, user", "Ada Quay"), ("Ada Quay", "Ada Quay"),
    ):  # fmt: skip
        found = titled(Extracted("x", metadata={"author": author}), "pdf")
        assert found.metadata.get("author") == wanted


def core(**said: str) -> dict[str, str]:
    """What a document says of itself."""
    told = "".join(f"<d:{name}>{value}</d:{name}>" for name, value in said.items())
    return {"docProps/core.xml": f"<d:p xmlns:d='d'>{told}</d:p>"}


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ({"created": "2013-12-23T23:15:00Z", "modified": "2013-12-23T23:15:00Z"}, None),
        ({"created": "2006-09-16T00:00:00Z", "modified": "2021-04-05T10:00:00Z"}, "2021-04-05"),
        ({"created": "1601-01-01T00:00:00Z"}, None),
        ({"created": "2019-03-08T09:30:00Z", "modified": "2021-04-05T10:00:00Z"}, "2019-03-08"),
    ],
)
def test_the_day_of_an_empty_template_is_no_date_of_what_was_written_into_it(
    tmp_path: Path, said: dict[str, str], day: str | None
) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(docx(paragraph("Berth Godwit"), parts=core(**said)))
    found = extract(path, "a.docx").created_at
    assert (found and datetime.fromtimestamp(found / 1000, UTC).date().isoformat()) == day
