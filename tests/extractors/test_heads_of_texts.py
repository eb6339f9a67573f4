"""What Org, AsciiDoc and TOML say of a text in its first lines: title, author, date and tags."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from mem_search.extractors.markdown import Markdown
from mem_search.extractors.text import Text
from mem_search.model.ingest import Extracted


def read(folder: Path, name: str, text: str) -> Extracted:
    (folder / name).write_text(text, "utf-8")
    reader = Markdown() if name.endswith(".md") else Text()
    return reader.extract(folder / name, name)


def at(day: str) -> int:
    return round(datetime.fromisoformat(day).timestamp() * 1000)


TOML = '+++\ntitle = "Lamp oil"\ndate = {}\nauthor = "Ada"\ntags = ["sea", "oil"]\n+++\nIt burns.\n'


@pytest.mark.parametrize(
    ("name", "text", "day"),
    [
        ("a.md", TOML.format("2024-05-01"), "2024-05-01"),
        ("a.md", TOML.format("2024-05-01T10:30:00+02:00"), "2024-05-01T10:30:00+02:00"),
        ("a.md", TOML.format('"2024-05-01"'), "2024-05-01"),
        ("a.org", "#+TITLE: Lamp oil\n#+date: <2024-05-01 Wed 10:30>\n#+Author: Ada\n"
                  "#+FILETAGS: :sea:oil:\n\n* One\n#+title: Other\n", "2024-05-01 10:30"),
        ("a.org", ":PROPERTIES:\n:ID: 1\n:END:\n#+title:  Lamp oil\n#+date: [2024-05-01 mié.]\n"
                  "#+author: Ada\n#+filetags: :sea:oil:\n", "2024-05-01"),
        ("a.adoc", "= Lamp oil\n:author: Ada\n:revdate: 2024-05-01\n:keywords: sea, oil\n:toc:\n\n"
                   "= No title\n:author: Bob\n", "2024-05-01"),
        ("a.adoc", "// of the pier\n:keywords: sea, oil\n= Lamp oil\nAda <ada@example.org>\n"
                   "v1.0, 2024-05-01: first\n\nText\n", "2024-05-01"),
        ("A.ASCIIDOC", "\n= Lamp oil\nAda\n:date: 2024-05-01\n:keywords: sea,oil\n", "2024-05-01"),
    ],
)  # fmt: skip
def test_title_author_day_and_tags_are_those_of_the_record(
    tmp_path: Path, name: str, text: str, day: str
) -> None:
    found = read(tmp_path, name, text)
    assert found.title == "Lamp oil"
    assert found.created_at == at(day)
    assert found.metadata["author"] == "Ada"
    assert found.tags == ("sea", "oil")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "+++\nthis is no TOML\n+++\nText"),
        ("a.org", "* Heading\n#+title: Inside\n#+date: 2024-05-01"),
        ("a.org", "#+title:\n#+date: soon"),
        ("a.adoc", "A text.\n= Lamp oil\n:author: Ada"),
        ("a.adoc", ":author: Ada"),
        ("a.adoc", "== Lamp oil\nIt burns."),
        ("a.txt", "= Lamp oil\n#+title: Lamp oil"),
    ],
)
def test_a_text_that_says_nothing_of_itself_is_text_alone(
    tmp_path: Path, name: str, text: str
) -> None:
    found = read(tmp_path, name, text)
    assert (found.text, found.title, found.created_at, found.tags) == (text, "", None, ())
    assert dict(found.metadata) == {}


def test_a_head_stays_part_of_the_text(tmp_path: Path) -> None:
    assert "Lamp oil" in read(tmp_path, "a.org", "#+title: Lamp oil\n\nIt burns.").text


def test_a_sentence_below_the_title_is_no_author(tmp_path: Path) -> None:
    assert dict(read(tmp_path, "a.adoc", "= Lamp oil\nIt burns.").metadata) == {}
