"""One bad item is one line of the ledger that names its field; its neighbours are stored."""

from __future__ import annotations

import asyncio
import json
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import drafts
from growth import check_growth
from mem_search.ingest.crash_mark import CrashMark
from mem_search.ingest.prepare import prepare
from mem_search.ingest.writer import IngestWriter
from mem_search.jobs.reader import LocationReader
from mem_search.model import Draft, Location
from mem_search.model.ingest import PreparedDraft
from mem_search.records.registry import installed_kinds
from mem_search.sources.jsonl import ExchangeRecord
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.store import SqliteStore

NINES = "9" * 5000
ODD_NUMBERS = ("1e400", "-1e400", NINES, f"-{NINES}", "9" * 400, "NaN", "1e308", "-0.0")
ODD_STRINGS = (
    r'"\ud800"',
    r'"\u0000"',
    r'"a\udfffb"',
    r'"\u202e"',
    '""',
    '" "',
    '"' + "x" * 9999 + '"',
)
KNOWN = ("author", "authors", "branch", "folder", "type", "facts", "from", "to", "date", "archived")


def values() -> st.SearchStrategy[str]:
    """JSON as it is written, also such as no serializer writes."""
    leaves = st.one_of(
        st.sampled_from((*ODD_NUMBERS, *ODD_STRINGS)),
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(string.printable, max_size=9))
        .map(json.dumps),
    )  # fmt: skip
    lists = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda each: f"[{','.join(each)}]"),
            st.tuples(st.sampled_from(('"a"', '"name"', r'"\ud800"', '""')), inner)
            .map(lambda pair: f"{{{pair[0]}:{pair[1]}}}"),
        ),
        max_leaves=4,
    )  # fmt: skip
    deep = st.tuples(st.sampled_from((30, 33, 150, 950, 20_000)), st.sampled_from(("[]", "{}")))
    return st.one_of(lists, deep.map(_nested))


def _nested(shape: tuple[int, str]) -> str:
    depth, signs = shape
    opening = "[" if signs == "[]" else '{"a":'
    return opening * depth + "1" + signs[1] * depth


FIELDS = st.one_of(
    st.sampled_from(sorted(ExchangeRecord.model_fields)),
    st.sampled_from(KNOWN).map(lambda name: f"metadata.{name}"),
)


def line_with(kind: str, field: str, value: str) -> str:
    given = {"kind": f'"{kind}"', "text": '"some words"', "source_id": '"odd"'}
    if field.startswith("metadata."):
        given["metadata"] = f'{{"{field.removeprefix("metadata.")}":{value}}}'
    else:
        given[field] = value
    return "{" + ",".join(f'"{name}":{item}' for name, item in given.items()) + "}"


class Intake:
    """A store that takes files in, as a job does."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "in.jsonl"
        self.loop = asyncio.new_event_loop()
        self.store = self.loop.run_until_complete(SqliteStore.open(folder / "store.db"))
        writer = IngestWriter(self.store.ingest, lambda: None)
        self.reader = LocationReader(self.store.ingest, writer, CrashMark(folder / "reading.json"))
        self.number = 0

    def take(self, *lines: str) -> tuple[int, dict[str, str]]:
        """How many records were stored or known, and item → reason of those that failed."""
        self.number += 1
        self.file.write_text("\n".join(lines) + "\n")
        return self.loop.run_until_complete(self._take())

    async def _take(self) -> tuple[int, dict[str, str]]:
        location = Location("jsonl", str(self.file))
        counts = await self.reader.read(location, again=True, follow=False)
        entries = await self.store.ingest.ledger("jsonl", "", 99, 0)
        failed = {entry.item: entry.reason for entry in entries if entry.outcome == "failed"}
        assert counts.failed == len(failed)
        return counts.new + counts.changed + counts.unchanged, failed


@pytest.fixture(scope="module")
def intake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Intake]:
    opened = Intake(tmp_path_factory.mktemp("intake"))
    yield opened
    opened.loop.run_until_complete(opened.store.close())
    opened.loop.close()


BEFORE, AFTER = (
    json.dumps({"kind": "note", "source_id": name, "text": name}) for name in ("before", "after")
)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(installed_kinds().names), field=FIELDS, value=values())
def test_any_value_in_any_field_is_stored_or_is_one_line_that_names_the_field(
    intake: Intake, kind: str, field: str, value: str
) -> None:
    stored, failed = intake.take(BEFORE, line_with(kind, field, value), AFTER)
    assert stored + len(failed) == 3
    assert set(failed) <= {"line 2"}
    for reason in failed.values():
        # Text without a sign can be stored in no field, so that is what is missing.
        assert reason.startswith((field, "text:")), reason
        assert len(reason) < 300


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("title", '["a"]', "title: input should be a string, not a list"),
        ("metadata.folder", '["a"]', "metadata.folder of this note: input should be a string, not"),
        ("metadata.n", NINES, "metadata.n: a number of 5000 digits; at most 300 are possible"),
        ("metadata.n", "1e400", "metadata.n: the number 1e400 is too big or too long"),
        ("created_at", NINES, "created_at: a number of 5000 digits"),
        ("metadata.n", _nested((40, "[]")), "metadata.n: nested deeper than 32 levels"),
        ("links", _nested((9000, "{}")), "links.a: nested deeper than 32 levels"),
        ("metadata.n", _nested((950, "{}")), "metadata.n: nested deeper than 32 levels"),
    ],
)
def test_the_line_says_field_and_limit(intake: Intake, field: str, value: str, reason: str) -> None:
    stored, failed = intake.take(BEFORE, line_with("note", field, value), AFTER)
    assert stored == 2
    assert reason in failed["line 2"]


NAMES = (
    ("source", 256), ("source_id", 4096), ("project", 256), ("session", 1024), ("url", 8192),
    ("tags", 256), ("links", 8192), ("metadata", 256), ("metadata.author", 4096),
    ("metadata.folder", 4096),
)  # fmt: skip


def named(field: str, name: str) -> str:
    """A line with ``name`` as, or in, ``field``."""
    values: dict[str, Any] = {
        "tags": ["x", name],
        "links": [{"to": name}],
        "metadata": {"reply": {name: 1}},
    }
    return line_with("note", field, json.dumps(values.get(field, name)))


@pytest.mark.parametrize(("field", "most"), NAMES)
def test_a_name_that_is_too_long_is_refused_by_line_field_and_limit(
    intake: Intake, field: str, most: int
) -> None:
    assert intake.take(BEFORE, named(field, "x" * most), AFTER) == (3, {})
    stored, failed = intake.take(BEFORE, named(field, "x" * (most + 1)), AFTER)
    assert (stored, list(failed)) == (2, ["line 2"])
    reason = failed["line 2"]
    assert reason.startswith(field)
    assert f"{most + 1:,} characters; at most {most:,} are possible" in reason


@pytest.mark.parametrize(
    ("field", "most"),
    [("tags", 1_000), ("metadata", 1_000), ("links", 10_000), ("metadata.files_read", 10_000)],
)
def test_a_field_with_too_many_values_is_refused_by_line_field_and_limit(
    intake: Intake, field: str, most: int
) -> None:
    def line(count: int) -> str:
        names = [f"n{number}" for number in range(count)]
        values: dict[str, Any] = {
            "metadata": dict.fromkeys(names, 1),
            "links": [{"to": name} for name in names],
        }
        return line_with("observation", field, json.dumps(values.get(field, names)))

    assert intake.take(BEFORE, line(most), AFTER) == (3, {})
    stored, failed = intake.take(BEFORE, line(most + 1), AFTER)
    assert (stored, list(failed)) == (2, ["line 2"])
    assert f"{field} has {most + 1:,} values; at most {most:,} are possible" in failed["line 2"]


def test_a_title_that_is_too_long_moves_into_the_text() -> None:
    """It is indexed with each passage, so its cost would be that of title times text."""
    given = prepare(drafts.draft("a", "the text", title="word " * 500)).draft
    assert (len(given.title), given.title[-1]) == (1000, "…")
    assert given.text == "word " * 499 + "word\n\nthe text"
    assert prepare(given).draft == given


def test_a_list_of_authors_becomes_authors() -> None:
    given = Draft(
        "note", "test", "a", text="x", metadata={"author": ["Ada", "Bob"], "authors": "Bob"}
    )
    item = prepare(given)
    assert item.draft.metadata == {"authors": ["Bob", "Ada"]}
    assert [value for name, value in item.facets if name == "author"] == ["Bob", "Ada"]
    assert prepare(item.draft).draft.metadata == item.draft.metadata


async def test_storing_a_long_text_takes_time_in_proportion(store: SqliteStore) -> None:
    """Every passage used to be cut by SQLite, which reads the whole text for each."""

    prepared: dict[str, list[PreparedDraft]] = {}

    def text_of(length: int) -> str:
        text = "\n".join(f"Line {n} of the long text is here." for n in range(length // 32))
        # The second one takes the passages of the first out.
        changed = (text, f"{text} changed")
        prepared[text] = [prepare(drafts.draft("long", each)) for each in changed]
        return text

    def timed(connection: Any) -> None:
        def stored(text: str) -> None:
            for each in prepared[text]:
                RecordWriter(connection).store([each])

        check_growth("store", stored, text_of, (10_000, 100_000, 1_000_000), 30, 0.1)

    await store.database.write(timed)
