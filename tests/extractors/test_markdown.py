"""Markdown notes: what of the front matter becomes metadata, and what is a tag."""

from __future__ import annotations

from pathlib import Path

from mem_search.extractors import extract
from mem_search.model.documents import Extracted


def read(tmp_path: Path, text: str) -> Extracted:
    path = tmp_path / "note.md"
    path.write_text(text, "utf-8")
    return extract(path, path.name)


def test_front_matter_becomes_metadata_of_its_types(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "---\ntitle: Lisbon\nstatus: draft\nrating: 4.5\nDue Date: 2024-05-01\ndone: false\n"
        "people: [Ana, Rui]\nauthor: [A. Reis, B]\naliases: White City, LX\nplatform: 7\n"
        "nested: {a: 1}\nempty:\npath: /elsewhere\n---\nText\n",
    )
    assert found.title == "Lisbon"
    assert found.metadata == {
        "status": "draft",
        "rating": 4.5,
        "due_date": "2024-05-01",
        "done": False,
        "people": ["Ana", "Rui"],
        "author": "A. Reis, B",
        "aliases": ["White City", "LX"],
        "platform": "7",
    }


def test_an_alias_may_have_spaces(tmp_path: Path) -> None:
    assert read(tmp_path, "---\nalias: White City\n---\nx").metadata == {"aliases": ["White City"]}
    assert read(tmp_path, "---\naliases:\n  - White City\n  - 7\n---\nx").metadata == {
        "aliases": ["White City", "7"]
    }


def test_tags_are_those_of_the_front_matter_and_of_the_text(tmp_path: Path) -> None:
    text = (
        "---\ntags: [sea, '#salt']\n---\n#travel/2024 (#maybe) [top](#top) a#b `x`\n\n"
        "```\n#code\n```\n`a #span b`\n\n- ~~~\n  #nested\n  ~~~\n"
    )
    assert read(tmp_path, text).tags == ("sea", "salt", "travel/2024", "maybe")


def test_numbers_that_are_none_or_too_large_are_left_out(tmp_path: Path) -> None:
    text = f"---\na: .nan\nb: .inf\nc: {'9' * 400}\nd: 3\n---\nx"
    assert read(tmp_path, text).metadata == {"d": 3}
