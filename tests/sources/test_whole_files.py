"""Whole files: arrays larger than memory, archives, what cannot be read, and going on."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import base, whole_files
from mem_search.sources.whole_files import WholeFile, WholeFiles, array_items, opened

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Lines(WholeFiles):
    """One record a line; "?" is a record that is left, "!" is damage."""

    name = "lines"

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".lines"

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        for number, line in enumerate(file.path.read_text().splitlines(), 1):
            if line == "!":
                raise ValueError("the rest is damaged")
            if line == "?":
                yield LedgerEntry(f"{file.name}:{number}", "left", "no words")
            else:
                yield Draft("note", "lines", line, line)


@given(st.lists(JSON, max_size=6), st.integers(1, 9), st.sampled_from((None, 1)))
def test_an_array_in_pieces_is_the_array(items: list[object], piece: int, indent: int) -> None:
    original, whole_files._PIECE = whole_files._PIECE, piece
    try:
        read = list(array_items(io.StringIO(json.dumps(items, indent=indent))))
    finally:
        whole_files._PIECE = original
    assert read == items


@pytest.mark.parametrize(
    ("data", "reason"),
    [("{}", "not a JSON array"), ("", "not a JSON array"), ('[{"a": 1}', "cut off")],
)
def test_what_is_no_whole_array_says_so(data: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(array_items(io.StringIO(data)))


def test_a_long_reading_goes_on_where_it_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH_SIZE", 2)
    (tmp_path / "a.lines").write_text("one\ntwo\n?\nthree\nfour\n")
    (tmp_path / "b.lines").write_text("five\n!\n")
    (tmp_path / "c.txt").write_text("six\n")
    location = Location("lines", str(tmp_path))
    batches = list(Lines().read(location, {}))
    assert len(batches) > 2
    for position, batch in enumerate(batches, 1):
        cursor = json.loads(json.dumps(batch.cursor))
        again = [d.text for b in Lines().read(location, cursor) for d in b.drafts]
        assert again == [d.text for b in batches[position:] for d in b.drafts]
    said = {e.item: (e.outcome, e.reason, e.records) for b in batches for e in b.ledger}
    assert said == {
        "a.lines": ("taken", "", 4),
        "a.lines:3": ("left", "no words", 0),
        "b.lines": ("failed", "it cannot be read: the rest is damaged", 0),
    }
    (tmp_path / "a.lines").write_text("seven\n")
    (batch,) = Lines().read(location, batches[-1].cursor)
    assert [draft.text for draft in batch.drafts] == ["seven"]


def test_a_member_that_is_too_large_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "MAX_MEMBER_BYTES", 10)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.json", "0" * 100)
    with (
        opened(tmp_path / "a.zip") as export,
        pytest.raises(ValueError, match="unpacks to"),
        export.text(next(export.members())),
    ):
        pass
