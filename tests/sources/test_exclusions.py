"""``.memsearchignore`` counts for every source that reads a folder of a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from mem_search import sources
from mem_search.errors import SourceError
from mem_search.model import Location
from mem_search.sources.claude_code.files import transcripts
from mem_search.sources.exclusions import Exclusions

LETTER = "From: ada@x\nSubject: Oil\nMessage-ID: <{0}@x>\n\nOil.\n"
MARKS = '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><A HREF="https://{0}.example">A</A></DL>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Mail, bookmarks and notes, each of them once in a folder that is left out."""
    for name in ("open", "private", "open/drafts"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.eml").write_text(LETTER.format(name))
        (tmp_path / name / "marks.html").write_text(MARKS.format(name.replace("/", "-")))
        (tmp_path / name / "note.md").write_text(f"In {name}.")
    (tmp_path / ".memsearchignore").write_text("private/\n")
    (tmp_path / "open" / ".memsearchignore").write_text("drafts/*\n!drafts/note.md\n")
    return tmp_path


def taken(source: str, folder: Path) -> tuple[set[str], dict[str, str]]:
    """The paths of the records, and what the ledger says is left."""
    batches = [*sources.by_name(source).read(Location(source, str(folder)), {})]
    places = {place for batch in batches for place in batch.places}
    return places, {e.item: e.reason for batch in batches for e in batch.ledger if e.reason}


def test_each_source_leaves_out_what_a_person_excludes(folder: Path) -> None:
    places, left = taken("mail", folder)
    assert places == {"open/a.eml"}
    assert left["private"] == "it is excluded by .memsearchignore"
    assert left["open/drafts/a.eml"] == "it is excluded by open/.memsearchignore"
    assert taken("bookmarks", folder)[0] == {"open/marks.html"}
    assert taken("files", folder)[0] == {"open/note.md", "open/drafts/note.md"}


def test_only_what_is_not_excluded_says_which_sources_read_a_folder(folder: Path) -> None:
    assert sources.names_at(folder) == ["files", "bookmarks", "mail"]
    (folder / ".memsearchignore").write_text("*.eml\n")
    assert sources.names_at(folder) == ["files", "bookmarks"]


def test_transcripts_are_left_out_too(tmp_path: Path) -> None:
    for name in ("shop", "diary"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "s.jsonl").write_text("{}\n")
    (tmp_path / ".memsearchignore").write_text("diary/\n")
    found = transcripts(tmp_path)
    assert [*found.files] == ["shop/s.jsonl"]
    assert found.left == {"diary": "it is excluded by .memsearchignore"}


def test_an_ignore_file_that_cannot_be_read_lets_nothing_in(folder: Path) -> None:
    for pattern in ("!", "[z-a]"):
        (folder / ".memsearchignore").write_text(f"{pattern}\n")
        for source in ("mail", "bookmarks"):
            with pytest.raises(SourceError, match="memsearchignore"):
                taken(source, folder)
        with pytest.raises(SourceError, match="memsearchignore"):
            transcripts(folder)
        assert taken("files", folder)[0] == set()
        assert sources.names_at(folder) == ["files"]


@pytest.mark.parametrize(
    ("item", "by"),
    [
        ("node_modules/", "the built-in exclusions"),
        ("src/__pycache__/", "the built-in exclusions"),
        ("~$letter.docx", "the built-in exclusions"),
        ("letter.md~", "the built-in exclusions"),
        ("node_modules", ""),
        ("src/letter.md", ""),
    ],
)
def test_some_things_are_always_left_out(tmp_path: Path, item: str, by: str) -> None:
    said = Exclusions(tmp_path).why(item)
    assert said == (f"it is excluded by {by}" if by else "")
    (tmp_path / ".memsearchignore").write_text("x\n!node_modules/\n")
    if "node_modules" in item:
        assert Exclusions(tmp_path).why(item) == ""
