"""The exchange format both ways, and reading files of it."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.errors import SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Link, Location, Record
from mem_search.records.registry import installed_kinds
from mem_search.sources import base, jsonl
from mem_search.sources.jsonl import ExchangeRecord, Jsonl, export_line, parse_line

WORDS = st.text(max_size=30)
TIMES = st.integers(-62_135_596_800_000, 253_402_300_799_999)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
DRAFTS = st.builds(
    Draft,
    kind=st.sampled_from(installed_kinds().names),
    source=st.sampled_from(["jsonl", "git", "claude-mem"]),
    source_id=st.text(min_size=1, max_size=10, alphabet="ab:#1"),
    text=WORDS.map(lambda words: f"{words} end"),
    title=WORDS,
    created_at=TIMES,
    updated_at=TIMES,
    project=WORDS,
    session=WORDS,
    tags=st.lists(WORDS, max_size=3).map(tuple),
    url=WORDS,
    importance=st.none() | st.floats(0, 1),
    metadata=st.fixed_dictionaries({}, optional={"archived": st.booleans(), "extra": JSON}),
    links=st.lists(
        st.builds(Link, st.text("ab:1", min_size=1), st.text("ab", min_size=1)), max_size=3
    ).map(tuple),
)


OF_A_SOURCE = {"earlier", "reading", "former", "place", "project_id"}
"""What a source says of a draft that no record has."""


def stored(draft: Draft) -> Record:
    """What the store keeps of a composed draft, as far as an export is concerned."""
    values: dict[str, Any] = {field.name: getattr(draft, field.name) for field in fields(draft)}
    for name in ("links", *OF_A_SOURCE):
        del values[name]
    return Record(number=1, archived=bool(draft.metadata.get("archived")), **values)


def exported(draft: Draft) -> str:
    draft = installed_kinds().get(draft.kind).compose(draft)
    return export_line(stored(draft), draft.links)


def read(path: Path, cursor: Mapping[str, Any] | None = None) -> list[Batch]:
    return list(Jsonl().read(Location("jsonl", str(path)), cursor or {}))


def drafts_of(batches: list[Batch]) -> list[Draft]:
    return [draft for batch in batches for draft in batch.drafts]


def failures(batches: list[Batch]) -> list[str]:
    return [
        entry.reason for batch in batches for entry in batch.ledger if entry.outcome == "failed"
    ]


def write(path: Path, *items: object) -> Path:
    texts = [item if isinstance(item, str) else json.dumps(item) for item in items]
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


@given(DRAFTS)
def test_export_import_export_is_identical(draft: Draft) -> None:
    first = exported(draft)
    record = parse_line(first.encode())
    assert exported(record.draft(record.source_id)) == first


def test_an_export_says_only_what_is_not_a_default_in_a_fixed_order() -> None:
    record = Record(
        number=5,
        kind="note",
        source="jsonl",
        source_id="n1",
        title="",
        text="Grüße",
        created_at=1_763_401_500_000,
        updated_at=1_763_401_500_250,
        tags=("a",),
        archived=True,
        metadata={"z": 1, "a": 2},
    )
    assert export_line(record, [Link("note:3")]) == (
        '{"kind": "note", "source_id": "n1", "text": "Grüße",'
        ' "created_at": "2025-11-17T17:45:00.000Z", "updated_at": "2025-11-17T17:45:00.250Z",'
        ' "tags": ["a"], "metadata": {"a": 2, "archived": true, "z": 1},'
        ' "links": [{"to": "note:3", "relation": "related"}]}'
    )


def test_a_record_that_came_out_of_the_archive_is_exported_so() -> None:
    draft = Draft("note", "jsonl", "1", "x", created_at=0, updated_at=0)
    record = stored(draft)
    line = export_line(
        Record(**{**{f.name: getattr(record, f.name) for f in fields(record)},
                  "metadata": {"archived": True}}), ()
    )  # fmt: skip
    assert json.loads(line)["metadata"] == {"archived": False}


def test_the_format_has_the_fields_of_a_draft() -> None:
    assert {field.name for field in fields(Draft)} - OF_A_SOURCE == set(ExchangeRecord.model_fields)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2025-11-17T17:45:00Z", 1_763_401_500_000),
        ("2025-11-17t18:45:00.5+01:00", 1_763_401_500_500),
        ("2025-11-17 17:45", 1_763_401_500_000),
        ("2025-11-17", 1_763_337_600_000),
        (1_763_401_500, 1_763_401_500_000),
        (1_763_401_500.25, 1_763_401_500_250),
        (1_763_401_500_000, 1_763_401_500_000),
        (0, 0),
        (None, None),
    ],
)
def test_times_are_read_in_every_usual_spelling(written: object, expected: int | None) -> None:
    line = json.dumps({"kind": "note", "text": "x", "created_at": written})
    assert parse_line(line.encode()).created_at == expected


@pytest.mark.parametrize("written", ["soon", "", True, [], 1e300, 10**17, "2025-13-01"])
def test_what_is_no_time_is_refused(written: object) -> None:
    line = json.dumps({"kind": "note", "text": "x", "updated_at": written})
    with pytest.raises(
        ValueError, match=r"updated_at: .* is not a time; write 2026-01-31T12:00:00Z"
    ):
        parse_line(line.encode())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"kind": "note", "text": ', "not JSON (Expecting value at character 26)"),
        (b"[]", "not a JSON object"),
        (b"\xff{}", "not UTF-8 (invalid start byte at byte 1)"),
        (b'{"kind": "note", "text": "x", "importance": NaN}', "importance: NaN is not JSON"),
        (b'{"text": "x"}', "kind: field required"),
        (b'{"kind": "note"}', "text: field required"),
        (b'{"kind": "note", "text": null}', "text: field required"),
        (b'{"kind": "note", "text": 5}', "text: input should be a string, not a number"),
        (b'{"kind": "note", "text": "x", "tags": "a"}', "tags: input should be a list"),
        (b'{"kind": "note", "text": "x", "links": ["a"]}', "links.0: input should be an object"),
        (
            b'{"kind": "note", "text": "x", "source_id": true}',
            "source_id: input should be a string, not true or",
        ),
        (
            b'{"kind": "note", "text": "x", "importance": 2}',
            "importance: input should be less than or equal to 1",
        ),
        (
            b'{"kind": "note", "text": "x", "links": [{"to": "a", "kind": "b"}]}',
            "links.0.kind: unknown key; choose one of to, relation",
        ),
        (b'{"kind": "note", "text": "x", "metadata": []}', "metadata: input should be an object"),
        (b"[" * 100_000, "nested deeper than 32 levels"),
    ],
)
def test_a_bad_line_says_which_field_is_wrong_and_why(line: bytes, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_line(line)
    assert str(caught.value).startswith(reason)


def test_ids_may_be_numbers() -> None:
    said = {"kind": "note", "text": "x", "source_id": 7, "session": 3, "links": [{"to": 7}]}
    record = parse_line(json.dumps(said).encode())
    assert (record.source_id, record.session, record.links[0].to) == ("7", "3", "7")


def test_the_error_for_an_unknown_key_or_kind_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"^colour: unknown key; choose one of kind, source, "):
        parse_line(b'{"kind": "note", "text": "x", "colour": "red"}')
    with pytest.raises(ValueError, match=r"^kind: input should be 'observation', 'session_s"):
        parse_line(b'{"kind": "thing", "text": "x"}')


def test_halves_of_characters_are_dropped() -> None:
    record = parse_line(
        rb'{"kind": "note", "text": "a\ud83d b", "metadata": {"k\udc00": ["\ud800"]}}'
    )
    assert (record.text, record.metadata) == ("a b", {"k": [""]})
    assert parse_line(rb'{"kind": "note", "text": "\ud83d\ude00"}').text == "😀"


def test_a_bad_line_does_not_stop_the_rest(tmp_path: Path) -> None:
    path = write(
        tmp_path / "in.jsonl",
        {"kind": "note", "text": "one", "source_id": "1"},
        "{oops",
        "",
        {"kind": "note", "text": "two", "source_id": "2", "importance": 7},
        {"kind": "note", "text": "three", "source_id": "3", "source": "git"},
    )
    (batch,) = read(path)
    assert [(draft.source, draft.source_id) for draft in batch.drafts] == [
        ("jsonl", "1"),
        ("git", "3"),
    ]
    assert (batch.item, batch.places) == ("lines 1-5", ("line 1", "line 5"))
    assert batch.ledger == (
        LedgerEntry(
            "line 2",
            "failed",
            "not JSON (Expecting property name enclosed in double quotes at character 2)",
        ),
        LedgerEntry("line 4", "failed", "importance: input should be less than or equal to 1"),
    )
    assert batch.done == batch.total == path.stat().st_size


def test_a_line_without_an_id_gets_one_from_its_content_and_which_one_it_is(
    tmp_path: Path,
) -> None:
    same = {"kind": "note", "text": "same"}
    path = write(tmp_path / "in.jsonl", same, {"text": "same", "title": "", "kind": "note"}, same)
    ids = [draft.source_id for draft in drafts_of(read(path))]
    assert ids[0].startswith("sha256:")
    assert len(ids[0]) == len("sha256:") + 20
    assert ids[1:] == [f"{ids[0]}#2", f"{ids[0]}#3"]
    assert [draft.source_id for draft in drafts_of(read(path))] == ids


@pytest.mark.parametrize("packed", [False, True])
def test_reading_continues_after_the_last_stored_batch(
    tmp_path: Path, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH_SIZE", 3)
    path = write(tmp_path / "in", *({"kind": "note", "text": "same"} for _ in range(8)))
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    batches = read(path)
    everything = drafts_of(batches)
    assert [len(batch.drafts) for batch in batches] == [3, 3, 2]
    assert len({draft.source_id for draft in everything}) == 8
    for position, batch in enumerate(batches, 1):
        cursor = json.loads(json.dumps(batch.cursor))
        assert drafts_of(read(path, cursor)) == everything[3 * position :]
    assert batches[-1].done == batches[-1].total == path.stat().st_size


def test_an_edited_file_is_read_from_its_start_again(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", {"kind": "note", "text": "one", "source_id": "1"})
    cursor = read(path)[-1].cursor
    write(path, {"kind": "note", "text": "ONE", "source_id": "1"})
    assert [draft.text for draft in drafts_of(read(path, cursor))] == ["ONE"]
    write(path, {"kind": "note", "text": "x"})
    (anew,) = read(path, cursor)
    assert [draft.text for draft in anew.drafts] == ["x"]
    assert anew.outdated == ("",)


def test_a_line_that_is_still_being_written_is_taken_up_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"kind": "note", "text": "one"}\n{"kind": "note", "te')
    batches = read(path)
    assert len(drafts_of(batches)) == len(failures(batches)) == 1
    with path.open("a") as file:
        file.write('xt": "two"}')
    (rest,) = read(path, batches[-1].cursor)
    assert [draft.text for draft in rest.drafts] == ["two"]
    assert rest.outdated == tuple(entry.item for entry in batches[-1].ledger) == ("line 2",)


def test_a_line_that_is_too_long_is_left_without_taking_it_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 2**20)
    path = write(
        tmp_path / "in.jsonl",
        {"kind": "note", "text": "x" * 2**21},
        {"kind": "note", "text": "short"},
    )
    batches = read(path)
    assert [draft.text for draft in drafts_of(batches)] == ["short"]
    assert failures(batches) == ["text: the line is longer than 1 MiB, the most for one record"]


def test_nothing_new_yields_nothing(tmp_path: Path) -> None:
    assert read(write(tmp_path / "empty.jsonl")) == []
    path = write(tmp_path / "in.jsonl", {"kind": "note", "text": "one"})
    assert read(path, read(path)[-1].cursor) == []


@pytest.mark.parametrize(
    "content",
    [b"\x1f\x8bnot gzip at all", gzip.compress(b"x" * 999, mtime=0)[:-9]],
    ids=["nonsense", "cut"],
)
def test_a_broken_gzip_file_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"cannot read .*in\.jsonl\.gz"):
        read(path)


def test_of_lines_about_one_record_only_the_last_is_read(tmp_path: Path) -> None:
    def said(text: str, source_id: str, kind: str = "note") -> dict[str, str]:
        return {"kind": kind, "source_id": source_id, "text": text}

    others = [said(f"note {n}", f"n{n}") for n in range(300)]
    path = write(
        tmp_path / "in.jsonl",
        said("first", "a"), said("email", "a", "email"), said("second", "a"),
        *others, said("third", "a"), {"kind": "note", "source_id": "a"},
    )  # fmt: skip
    found = read(path)
    texts = [draft.text for draft in drafts_of(found) if draft.source_id == "a"]
    assert texts == ["email", "third"]
    left = [entry for batch in found for entry in batch.ledger if entry.outcome == "left"]
    why = "line 304 has the same source_id; the last such line counts"
    assert left == [LedgerEntry("line 1", "left", why), LedgerEntry("line 3", "left", why)]
    assert read(path) == found


def test_a_line_that_cannot_be_used_does_not_replace_an_earlier_one(tmp_path: Path) -> None:
    whole = {"kind": "note", "source_id": "a", "text": "whole"}
    for broken in ({"text": "  "}, {"metadata": {"folder": 5}}, {"importance": 7}):
        path = write(tmp_path / "in.jsonl", whole, {**whole, **broken})
        texts = [draft.text for draft in drafts_of(read(path))]
        assert texts[0] == "whole", broken  # the other one is refused where it is stored


def test_a_commit_of_an_older_export_is_the_same_commit() -> None:
    sha = "4a1ff1a74d212357958be51be6b15edfc2f30cb3"
    old = {"kind": "observation", "source": "git", "source_id": f"{sha[:12]}:{sha}", "text": "x"}
    record = parse_line(json.dumps(old).encode())
    assert record.draft(record.source_id).source_id == sha
    other = parse_line(json.dumps({**old, "source": "jsonl"}).encode())
    assert other.draft(other.source_id).source_id == old["source_id"]


def test_lines_before_the_damage_are_read_and_the_ledger_says_where_it_begins(
    tmp_path: Path,
) -> None:
    whole = b"".join(b'{"kind": "note", "text": "%x"}\n' % n**9 for n in range(3000))
    path = tmp_path / "in.jsonl.gz"
    packed = gzip.compress(whole, mtime=0)
    path.write_bytes(packed[: len(packed) // 2])
    found: list[Batch] = []
    with pytest.raises(SourceError, match=r"ended before .*; the \d+ lines before are read"):
        found.extend(Jsonl().read(Location("jsonl", str(path)), {}))
    count = len(drafts_of(found))
    assert 0 < count < 3000
    (entry,) = [entry for batch in found for entry in batch.ledger]
    assert (entry.item, entry.outcome) == (f"line {count + 1}", "failed")
    path.write_bytes(packed)
    rest = read(path, found[-1].cursor)
    assert count + len(drafts_of(rest)) == 3000
    assert rest[0].outdated == (entry.item,)


def test_a_folder_or_a_missing_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is a folder, not a file"):
        read(tmp_path)
    with pytest.raises(SourceError, match="No such file"):
        read(tmp_path / "none.jsonl")
