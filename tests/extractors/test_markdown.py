"""Markdown notes: what of the front matter becomes metadata, and what is a tag."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mem_search.extractors import extract
from mem_search.model.ingest import Extracted
from mem_search.text.dates import iso


def read(tmp_path: Path, text: str, name: str = "note.md") -> Extracted:
    path = tmp_path / name
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


@pytest.mark.parametrize(
    ("name", "front", "day"),
    [
        ("2025-11-12.md", "", "2025-11-12"),
        ("2025-11-12 Bicycle.md", "", "2025-11-12"),
        ("2025-11-12.md", "date: 2025-11-10", "2025-11-10"),
        ("2025-11-123.md", "", None),
        ("2025-13-12.md", "", None),
        ("Bicycle 2025-11-12.md", "", None),
    ],
)
def test_a_daily_note_is_of_the_day_of_its_name(
    tmp_path: Path, name: str, front: str, day: str | None
) -> None:
    found = read(tmp_path, f"---\n{front}\n---\nText\n", name)
    assert (found.created_at and iso(found.created_at)[:10]) == day


def test_a_day_without_a_zone_is_a_day_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        for written, at in (
            ("2025-04-02", "2025-04-02T04:00:00.000Z"),
            ("2025-04-02 10:30", "2025-04-02T14:30:00.000Z"),
            ("2025-04-02T10:30:00+02:00", "2025-04-02T08:30:00.000Z"),
        ):
            found = read(tmp_path, f'---\ndate: "{written}"\n---\nText\n')
            assert iso(found.created_at or 0) == at
    finally:
        monkeypatch.undo()
        time.tzset()
