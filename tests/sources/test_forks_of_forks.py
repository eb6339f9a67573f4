"""Sessions as programs leave them when more than one thing happens at once: forks of forks that
arrive in any order, a clock that goes backwards, a byte order mark."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from mem_search.model import Batch, Draft, Filters, Location, Record
from mem_search.model.records import Reading
from mem_search.sources import by_name
from mem_search.sources.pi import Pi
from mem_search.wiring import open_runtime
from runtimes import small

IDS = [f"019a0000-000{day}-7000-8000-{day:012}" for day in (1, 3, 5)]
CWD = "/gone/harbour"
ASKED = [
    ("How does the tide gate open", "It compares the inner and the outer level each minute."),
    ("Plant a quince", "The quince register lists every tree by its row and its year."),
    ("Write the chronicle", "I decided to use Markdown instead of LaTeX for the chronicle."),
]
"""What happens in each session; each one begins with all that came before."""


def pi(number: int) -> tuple[str, list[dict[str, Any]]]:
    of = "2026-01-0{}T00-00-00-000Z_{}.jsonl"
    above = {"parentSession": "/x/" + of.format(number, IDS[number - 1])} if number else {}
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": IDS[number], "cwd": CWD, **above,
         "timestamp": f"2026-01-0{number + 1}T00:00:00.000Z"}
    ]  # fmt: skip
    for n, turn in enumerate(ASKED[: number + 1]):
        for role, words in zip(("user", "assistant"), turn, strict=True):
            at = f"2026-01-0{n + 1}T09:00:0{len(role) % 9}.000Z"
            content = [{"type": "text", "text": words}]
            lines.append({"type": "message", "id": f"{n}{len(role)}000000", "timestamp": at,
                          "message": {"role": role, "content": content}})  # fmt: skip
    return of.format(number + 1, IDS[number]), lines


def codex(number: int, *, metas: bool = True, forked: bool = True) -> tuple[str, list[Any]]:
    """As before turns had ids: what is copied has the time of the fork. The file may have the
    statements of its parents, or name its parent, or both.
    """
    began = f"2026-01-0{number + 1}T00:00:00.000Z"
    lines: list[dict[str, Any]] = []
    for n in range(number, -1 if metas else number - 1, -1):
        of = {"id": IDS[n], "cwd": CWD, "source": "cli"}
        of |= {"forked_from_id": IDS[n - 1]} if forked and n == number and n else {}
        lines.append({"type": "session_meta", "timestamp": began, "payload": of})
    for n, turn in enumerate(ASKED[: number + 1]):
        for role, words in zip(("user", "assistant"), turn, strict=True):
            at = began if n < number else f"2026-01-0{n + 1}T09:00:0{len(role) % 9}.000Z"
            content = [{"type": "input_text", "text": words}]
            item = {"type": "message", "role": role, "content": content}
            lines.append({"type": "response_item", "timestamp": at, "payload": item})
    name = f"rollout-2026-01-0{number + 1}T00-00-00-{IDS[number]}.jsonl"
    return f"sessions/2026/01/0{number + 1}/{name}", lines


PROGRAMS: Mapping[str, Callable[[int], tuple[str, list[dict[str, Any]]]]] = {
    "pi": pi,
    "codex": codex,
    "codex statements": partial(codex, forked=False),
    "codex names": partial(codex, metas=False),
}


def write_more(path: Path, lines: list[dict[str, Any]]) -> None:
    with path.open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)


def write(path: Path, lines: list[dict[str, Any]], begin: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(begin + "".join(f"{json.dumps(line)}\n" for line in lines))


async def read(home: Path, root: Path, source: str, *order: int) -> list[Record]:
    """What is stored after the sessions came one after the other, each with a reading."""
    async with open_runtime(small(home), background=False) as runtime:
        for number in order:
            if number >= 0:
                place, lines = PROGRAMS[source](number)
                write(root / place, lines)
            await runtime.ingest.reader.read(Location(source.partition(" ")[0], str(root)))
        page, _ = await runtime.store.records.page(Filters(), "date_asc", 200, 0)
        return [record for record, _ in page]


def told(records: list[Record]) -> list[tuple[Any, ...]]:
    return sorted(
        (
            each.kind, each.source_id, each.session, each.text, each.created_at, each.updated_at,
            str(sorted((k, v) for k, v in each.metadata.items() if k != "reading")),
        )
        for each in records
    )  # fmt: skip


@pytest.mark.parametrize("source", PROGRAMS)
async def test_a_fork_of_a_fork_has_nothing_twice(source: str, tmp_path: Path) -> None:
    expected = await read(tmp_path / "home", tmp_path / "files", source, 0, 1, 2)
    prompts = {each.text: each.session for each in expected if each.kind == "user_prompt"}
    asked = {turn[0]: session for turn, session in zip(ASKED, IDS, strict=True)}
    assert prompts == asked
    assert len([each for each in expected if each.kind == "user_prompt"]) == len(ASKED)


@pytest.mark.parametrize("source", PROGRAMS)
async def test_parents_may_come_after_the_forks_of_their_forks(source: str, tmp_path: Path) -> None:
    expected = await read(tmp_path / "once", tmp_path / "all", source, 0, 1, 2)
    for number, order in enumerate(permutations(range(len(IDS)))):
        found = await read(tmp_path / f"home{number}", tmp_path / f"{number}", source, *order)
        assert told(found) == told(expected), order


async def test_what_a_missing_parent_copied_is_that_of_its_own_parent(tmp_path: Path) -> None:
    for order in ((0, 2), (2, 0)):
        found = await read(tmp_path / f"home{order}", tmp_path / f"{order}", "codex", *order)
        asked = [each.text for each in found if each.kind == "user_prompt"]
        assert sorted(asked) == sorted(words for words, _ in ASKED), order


@pytest.mark.parametrize("source", PROGRAMS)
async def test_a_store_of_older_rules_has_each_thing_once_when_it_is_read_again(
    source: str, tmp_path: Path
) -> None:
    """The older rules read each fork before its parent, and kept what they made of it then."""
    reader, root = by_name(source.partition(" ")[0]), tmp_path / "files"
    location = Location(reader.name, str(root))
    expected = await read(tmp_path / "once", root, source, 0, 1, 2)
    [*_, now] = reader.read(location, {})
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        for number in (2, 1, 0):
            place, lines = PROGRAMS[source](number)
            write(tmp_path / f"{number}" / place, lines)
            for batch in reader.read(Location(reader.name, str(tmp_path / f"{number}")), {}):
                drafts = [
                    replace(each, former=(), reading=replace(each.reading, rules=7, turns=()))
                    for each in batch.drafts
                    if each.reading
                ]
                cursor = {**now.cursor, "version": 7}
                await runtime.ingest.writer.take(
                    location, Batch(drafts=tuple(drafts), cursor=cursor)
                )
        before, _ = await runtime.store.records.page(Filters(), "date_asc", 200, 0)
        asked = [record.text for record, _ in before if record.kind == "user_prompt"]
        assert len(asked) > len(ASKED), "the older rules kept some twice"
        await runtime.ingest.reader.read(location)  # as the first start does
        after, _ = await runtime.store.records.page(Filters(), "date_asc", 200, 0)
        assert told([record for record, _ in after]) == told(expected)
        rows = await runtime.store.ingest.ledger(reader.name, "", 99, 0)
        assert any(row.reason.startswith("it is one record with") for row in rows)


@pytest.mark.parametrize("source", ["pi", "codex", "codex names"])
async def test_a_fork_whose_parent_is_gone_is_read_from_where_it_was_left(
    source: str, tmp_path: Path
) -> None:
    reader, root = by_name(source.partition(" ")[0]), tmp_path / "files"
    location = Location(reader.name, str(root))
    place, lines = PROGRAMS[source](1)
    write(root / place, lines[:-1])
    [*_, first] = reader.read(location, {})
    write_more(root / place, lines[-1:])
    [*_, second] = reader.read(location, first.cursor)
    given = {draft.source_id for draft in second.drafts}
    assert given, "the line that came"
    assert not any(IDS[0] in each for each in given), "what was copied was not read again"
    parent, above = PROGRAMS[source](0)
    write(root / parent, above)
    [*_, third] = reader.read(location, second.cursor)
    assert {draft.session for draft in third.drafts} == {IDS[0], IDS[1]}
    assert len(set(third.places)) == 2, "the fork is read again with its parent"


def test_a_fork_whose_parent_is_not_found_is_not_read_again_and_again(tmp_path: Path) -> None:
    """The parent lies in the same location, where the reader does not look for it."""
    place, lines = pi(0)
    write(tmp_path / "files" / "elsewhere" / place, lines)
    place, lines = pi(1)
    write(tmp_path / "files" / "here" / place, lines)
    location = Location("pi", str(tmp_path / "files"))
    batches = list(Pi().read(location, {}))
    assert list(Pi().read(location, batches[-1].cursor or {})) == []


def message(uuid: int, at: str, role: str, words: str) -> dict[str, Any]:
    return {
        "type": role, "uuid": f"{uuid:08}-0000-4000-8000-000000000000", "sessionId": IDS[0],
        "timestamp": at, "cwd": CWD, "message": {"role": role, "content": words},
    }  # fmt: skip


async def claude_code(tmp_path: Path, lines: list[dict[str, Any]], begin: str = "") -> list[Record]:
    write(tmp_path / "files" / "-gone" / f"{IDS[0]}.jsonl", lines, begin)
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        await runtime.ingest.reader.read(Location("claude-code", str(tmp_path / "files")))
        page, _ = await runtime.store.records.page(Filters(), "date_asc", 200, 0)
        return [record for record, _ in page]


async def test_what_was_said_after_the_clock_went_backwards_is_the_sessions_own(
    tmp_path: Path,
) -> None:
    found = await claude_code(
        tmp_path,
        [
            {"type": "mode", "mode": "normal", "sessionId": IDS[0],
             "timestamp": "2026-01-01T12:00:00.000Z"},
            message(1, "2026-01-01T12:00:01.000Z", "user", ASKED[0][0]),
            message(2, "2026-01-01T12:00:09.000Z", "assistant", ASKED[0][1]),
            message(3, "2026-01-01T09:00:01.000Z", "user", ASKED[2][0]),
            message(4, "2026-01-01T09:00:09.000Z", "assistant", ASKED[2][1]),
        ],
    )  # fmt: skip
    [summary] = [each for each in found if each.kind == "session_summary"]
    assert ASKED[2][1] in summary.text
    assert not any(dict(each.metadata).get("reading", {}).get("copy") for each in found)


async def test_a_transcript_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    lines = [message(1, "2026-01-01T12:00:01.000Z", "user", ASKED[0][0])]
    found = await claude_code(tmp_path, lines, "\ufeff")
    assert ASKED[0][0] in {each.text for each in found}


async def test_a_session_that_goes_on_in_a_second_file_is_no_shorter_copy(tmp_path: Path) -> None:
    """Claude Code resumes a session under its id in the folder of another directory."""
    lines = [
        message(n, f"2026-01-01T12:00:0{n}.000Z", "user" if n % 2 else "assistant", words)
        for n, words in enumerate([words for turn in ASKED for words in turn], 1)
    ]
    root, location = tmp_path / "files", Location("claude-code", str(tmp_path / "files"))
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        for folder, part in (("-gone", lines[:4]), ("-other", lines[4:])):
            write(root / folder / f"{IDS[0]}.jsonl", part)
            await runtime.ingest.reader.read(location)
        told = await runtime.store.ingest.ledger("", "-other", 9, 0)
        assert [(each.outcome, each.records) for each in told] == [("taken", 4)]


def draft(source_id: str, *former: str) -> Draft:
    """A copy of one event, by the id that its source gives it, and by those of before."""
    reading = Reading(7, 1, "c", is_copy=True)
    return Draft("user_prompt", "pi", source_id, f"Plant {source_id}", session=source_id[0],
                 created_at=1, reading=reading, former=former)  # fmt: skip


@pytest.mark.parametrize(
    ("batches", "ids"),
    [
        ([[draft("b/1"), draft("a/1", "b/1")]], ["a/1"]),
        ([[draft("a/1"), draft("b/1"), draft("c/1")],
          [draft("a/1", "b/1"), draft("b/1", "c/1")]], ["a/1", "b/1"]),
        ([[draft("b/1")], [draft("a/1", "b/1"), draft("b/1")]], ["a/1", "b/1"]),
        ([[draft("a/1"), draft("b/1")], [draft("b/1"), draft("a/1", "b/1")]], ["a/1"]),
    ],
    ids=["offered twice", "passed on", "renamed and new", "offered and one"],
)  # fmt: skip
async def test_an_id_that_a_record_gave_up_is_free_in_the_same_batch(
    batches: list[list[Draft]], ids: list[str], tmp_path: Path
) -> None:
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        for drafts in batches:
            await runtime.ingest.writer.take(Location("pi", "/there"), Batch(drafts=tuple(drafts)))
        page, _ = await runtime.store.records.page(Filters(), "date_asc", 200, 0)
        assert sorted(record.source_id for record, _ in page) == ids
