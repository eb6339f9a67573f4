"""One event is one record, in whatever order, how often and from which files it is read.

Any order of files, databases and copies gives what the fullest give at once.
"""

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shared_sessions
from mem_search.features.capture.service import GRACE_SECONDS
from mem_search.model import Batch, Filters, Location, Record
from mem_search.model.projects import folder_name
from mem_search.sources import built_in
from mem_search.sources.agent_work.session_stores import SessionStores
from mem_search.sources.agent_work.transcripts import SessionFiles
from mem_search.wiring import Runtime, open_runtime
from runtimes import small
from shared_sessions import (
    CWD,
    FORK,
    FORKS,
    LINES,
    NEW,
    OWN_IDS,
    PARENT,
    TURNS,
    WRITERS,
    Made,
    sessions_of,
)


def write(form: str, root: Path, made: Made, count: int | None = None) -> Location:
    return Location(*shared_sessions.write(form, root, made, count))


def test_every_source_of_transcripts_is_tried() -> None:
    transcripts = {
        each.name
        for each in built_in()
        if isinstance(each, SessionFiles | SessionStores) or each.name == "claude-code"
    }
    tried = {form.partition(" ")[0] for form in WRITERS}
    assert tried == transcripts, "add a writer of the new source to shared_sessions.WRITERS"


async def stored(runtime: Runtime) -> dict[str, Record]:
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 200, 0)
    return {record.source_id: record for record, _ in page}


def told(records: Iterable[Record]) -> dict[str, tuple[Any, ...]]:
    """What people see of records: all but numbers, and how much a reading knew."""
    return {
        each.source_id: (
            each.kind, each.session, each.title, each.text, each.created_at, each.updated_at,
            folder_name(each.project),
            {k: v for k, v in each.metadata.items() if k not in ("reading", "cwd")},
        )
        for each in records
    }  # fmt: skip


async def all_read(runtime: Runtime, name: str, root: Path) -> dict[str, Record]:
    for made in sessions_of(name).values():
        location = write(name, root, made)
    await runtime.ingest.reader.read(location)
    return await stored(runtime)


@pytest.mark.parametrize("told_first", [True, False])
async def test_what_hooks_tell_of_a_session_is_one_with_its_transcript(
    told_first: bool, tmp_path: Path
) -> None:
    """The hooks tell of it before its transcript is there, or after an older one was read."""
    sessions = sessions_of("claude-code")
    async with open_runtime(small(tmp_path / "once"), background=False) as runtime:
        expected = await all_read(runtime, "claude-code", tmp_path / "all")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        root = tmp_path / "true"
        if not told_first:
            location = write("claude-code", root, sessions["parent"], 3)
            await runtime.ingest.reader.read(location)
        await told_by_hooks(runtime, sessions["parent"])
        assert len({each.session for each in (await stored(runtime)).values()}) == 1
        for made in sessions.values():
            location = write("claude-code", root, made)
        await runtime.ingest.reader.read(location)
        assert told((await stored(runtime)).values()) == told(expected.values())
        await told_by_hooks(runtime, sessions["parent"])
        assert told((await stored(runtime)).values()) == told(expected.values())


async def told_by_hooks(runtime: Runtime, made: Made) -> None:
    """Hooks on a machine without the transcript: what they say becomes records."""
    hooks = runtime.ingest.hooks
    hooks.folder.mkdir(parents=True, exist_ok=True)
    for n, _, asked, said, at, then in made:
        prompt = {"hook_event_name": "UserPromptSubmit", "prompt": asked}
        stop = {"hook_event_name": "Stop", "last_assistant_message": said}
        for what, event, when in ((1, prompt, at), (2, stop, then)):
            file = hooks.folder / f"{n}{what}.json"
            file.write_text(json.dumps({**event, "session_id": made.id, "cwd": CWD}))
            written = datetime.fromisoformat(when).timestamp()
            os.utime(file, (written, written))
    await hooks.drain(time.time() + GRACE_SECONDS + 1)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["copy", "backup", "moved", "again", "true", "rest", "apart"]),
        st.integers(0, 2),
        st.integers(1, 9),
    ),
    min_size=4,
    max_size=8,
)


@pytest.mark.parametrize("name", WRITERS)
async def test_any_order_of_files_gives_what_the_fullest_give(name: str, tmp_path: Path) -> None:
    examples: list[list[tuple[str, int, int]]] = []

    @settings(max_examples=6, derandomize=True, database=None,
              suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
    @given(ACTIONS)
    def collect(actions: list[tuple[str, int, int]]) -> None:
        examples.append(actions)

    collect()
    sessions = [*sessions_of(name).values()]
    async with open_runtime(small(tmp_path / "once"), background=False) as runtime:
        expected = await all_read(runtime, name, tmp_path / "all")
        both = await read_beside(runtime, name, tmp_path / "apart", 0)
    events = [each for each in expected.values() if each.kind != "session_summary"]
    assert len({each.text for each in events}) == len(events), "an event is one record"
    shared = [each for each in events if each.metadata.get("sessions")]
    assert {each.session for each in shared} <= {PARENT}
    assert any(FORK in each.metadata["sessions"] for each in shared) or name not in FORKS
    for number, actions in enumerate(examples):
        async with AsyncExitStack() as stack:
            home = small(tmp_path / f"home{number}")
            runtime = await stack.enter_async_context(open_runtime(home, background=False))
            before: set[str] = set()
            is_apart = False
            for step, (action, session, lines) in enumerate(actions):
                root = tmp_path / f"files{number}" / ("true" if action == "true" else f"{step}")
                made = sessions[session % len(sessions)]
                if action == "rest" and name in OWN_IDS:
                    made = replace(made, since=min(1, len(made.turns) - 1))
                true = tmp_path / f"files{number}" / "true"
                match action:
                    case "apart":
                        is_apart = True
                        await read_beside(runtime, name, true.with_name("apart"), lines)
                        continue
                    case "moved" | "rest":
                        location = write(name, root, made)
                    case "again":
                        location = write(name, true, made)
                    case "true" if not root.exists():
                        location = write(name, root, made, lines)
                    case "true":
                        location = write(name, root, made)
                    case _:
                        location = write(name, root, made, lines)
                await runtime.ingest.reader.read(location)
                now = await stored(runtime)
                assert before <= now.keys(), (actions, step)
                before = {*now}
            true = tmp_path / f"files{number}" / "true"
            for made in sessions:
                location = write(name, true, made)
            await runtime.ingest.reader.read(location)
            if is_apart:
                found = await read_beside(runtime, name, true.with_name("apart"), 0)
                assert of_copies(found) == of_copies(both), actions
                continue
            assert told((await stored(runtime)).values()) == told(expected.values()), actions


async def read_beside(runtime: Runtime, name: str, root: Path, count: int) -> dict[str, Record]:
    """What is stored after a copy that went on differently was read, up to a message, or all."""
    made = replace(ELSEWHERE, apart=9) if name in SAME_IDS else ELSEWHERE
    await runtime.ingest.reader.read(write(name, root, made, count or None))
    return await stored(runtime)


def of_copies(records: Mapping[str, Record]) -> list[tuple[Any, ...]]:
    """What copies told, in whatever order they were read."""
    return sorted(
        (each.kind, each.session, each.title, each.text, each.created_at)
        for each in records.values()
        if each.kind != "session_summary"
    )


BESIDE = ("Paint the lamp", "The lamp is green now, and its test is in tests/lamp.py.")
PARTS = (Made(PARENT, TURNS[:2]), Made(PARENT, TURNS, since=1),
         Made(PARENT, [TURNS[0], ("", ""), ("", ""), BESIDE]))  # fmt: skip
"""Files of one session: how it began, how it went on elsewhere, and a copy that went on, too."""


@pytest.mark.parametrize("name", OWN_IDS)
async def test_the_summary_of_a_session_in_several_files_says_what_all_do(
    name: str, tmp_path: Path
) -> None:
    found: list[dict[str, tuple[Any, ...]]] = []
    for number, order in enumerate(permutations(range(len(PARTS)))):
        async with open_runtime(small(tmp_path / f"{number}"), background=False) as runtime:
            for part in order:
                location = write(name, tmp_path / "files" / f"{part}", PARTS[part])
                await runtime.ingest.reader.read(location)
            found.append(told((await stored(runtime)).values()))
            [summary] = [each for each in found[-1].values() if each[0] == "session_summary"]
            fields = summary[-1]
            assert fields["request"] == TURNS[0][0]
            assert fields["completed"].split("\n\n") == [said for _, said in [*TURNS, BESIDE]]
            assert {asked for asked, _ in [*TURNS, BESIDE]} <= {e[3] for e in found[-1].values()}
            location = write(name, tmp_path / "files" / "all", Made(PARENT, [*TURNS, BESIDE]))
            await runtime.ingest.reader.read(location)
            found.append(told((await stored(runtime)).values()))
    assert found[0::2] == [found[0]] * len(found[0::2])
    assert found[1::2] == [found[1]] * len(found[1::2])
    async with open_runtime(small(tmp_path / "once"), background=False) as runtime:
        await runtime.ingest.reader.read(location)
        assert found[1] == told((await stored(runtime)).values())


MEND = ("Mend the sluice", "I decided to use rivets instead of bolts.")
OTHERWISE = (TURNS[1][0], "The pressure sensor is right, and the other one is dirty.")
"""The same prompt at the same place, with another answer."""
ELSEWHERE = Made(PARENT, [TURNS[0], OTHERWISE, MEND, BESIDE, NEW[0]], apart=1)
SAME_IDS = ("copilot", "gemini", "gemini document")
"""Forms whose copies are tried with other messages that have the same ids."""
DIVERGED = (Made(PARENT, TURNS), ELSEWHERE, Made(PARENT, TURNS[:1]))


@pytest.mark.parametrize("name", WRITERS)
async def test_copies_of_a_session_that_went_on_differently_lose_nothing(
    name: str, tmp_path: Path
) -> None:
    """Two machines, or a backup that was continued: in every order both continuations are there,
    each once, and no reading takes one away.
    """
    copies = [replace(each, apart=9) if name in SAME_IDS else each for each in DIVERGED]
    wanted = {words for made in copies for turn in made.turns for words in turn}
    found = []
    for number, order in enumerate(permutations(range(len(copies)))):
        async with open_runtime(small(tmp_path / f"{number}"), background=False) as runtime:
            before: dict[str, int] = {}
            for part in (*order, order[0]):
                location = write(name, tmp_path / "files" / f"{part}", copies[part])
                await runtime.ingest.reader.read(location)
                now = {each.source_id: each.number for each in (await stored(runtime)).values()}
                assert before.items() <= now.items(), (order, part)
                before = now
            records = [*(await stored(runtime)).values()]
        said = [each.text for each in records if each.kind != "session_summary"]
        assert all(any(words in text for text in said) for words in wanted), order
        twice = [each.text for each in records if each.kind == "user_prompt"]
        twice = [text for text in {*twice} for _ in range(twice.count(text) - 1)]
        assert twice in ([], [OTHERWISE[0]]), "with ids of their own these are two"
        assert len({*said}) == len(said) - len(twice), "each thing is there once"
        decided = {each.title for each in records if each.metadata.get("type") == "decision"}
        assert len(decided) == 2, decided
        found.append(of_copies({each.source_id: each for each in records}))
    assert found == [found[0]] * len(found)


SAME = [("Say when it is dry", f"The paint of the railing {when}.")
        for when in ("dries by noon", "never dries in winter")]  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
async def test_one_prompt_with_two_answers_in_two_copies_keeps_both(
    name: str, tmp_path: Path
) -> None:
    """The last turns of the copies differ by their answers alone, and then one of them grows."""
    copies = [Made(PARENT, [TURNS[0], each], apart=9) for each in SAME]
    more = Made(PARENT, [TURNS[0], SAME[1], BESIDE], apart=9)
    for order in ((0, 1, 2, 0), (2, 0, 1, 0)):
        async with open_runtime(small(tmp_path / f"{order}"), background=False) as runtime:
            for part in order:
                root = tmp_path / f"files{order}" / ("first" if part == 0 else "grows")
                if part == 1 and order[0] == 2:  # a backup of it
                    root = root.with_name("backup")
                await runtime.ingest.reader.read(write(name, root, [*copies, more][part]))
            found = [*(await stored(runtime)).values()]
        texts = [each.text for each in found if each.kind != "session_summary"]
        for _, said in (TURNS[0], *SAME, BESIDE):
            assert len([text for text in texts if said in text]) == 1, (order, said)
        [summary] = [each.text for each in found if each.kind == "session_summary"]
        # Antigravity's agent is still at work: nothing says that its last words are the end.
        assert SAME[1][1].rstrip(".") in summary or name == "antigravity", order


def _cut(root: Path, share: float) -> dict[Path, bytes]:
    """Files as they are while they are written; what the whole ones have."""
    whole = {
        path: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
        and path.suffix not in (".db", ".sqlite3", ".vscdb")
        and (b"Paint" in path.read_bytes() or b"lamp" in path.read_bytes())
    }
    for path, content in whole.items():
        path.write_bytes(content[: round(len(content) * share)])
    return whole


@pytest.mark.parametrize("name", WRITERS)
async def test_what_is_read_while_it_is_written_is_what_the_whole_gives(
    name: str, tmp_path: Path
) -> None:
    """A file ends in the middle of a line, a character or an answer; then it has the rest."""
    three = "\n".join(["Paint the lämp,", "then the railing", "and the buoy"])
    made = Made(PARENT, [*TURNS, (three, BESIDE[1])])
    async with open_runtime(small(tmp_path / "once"), background=False) as runtime:
        await runtime.ingest.reader.read(write(name, tmp_path / "all", made))
        expected = told((await stored(runtime)).values())
    for share in (0.2, 0.55, 0.8, 0.93, 0.999):
        root = tmp_path / f"{share}"
        said = [*made.turns[:-1], (three, BESIDE[1][: round(60 * share)])]
        half = made if name in (*LINES, *UNSTAMPED) else replace(made, turns=said)
        async with open_runtime(small(tmp_path / f"home{share}"), background=False) as runtime:
            location = write(name, root, half)
            cut = _cut(root, share)
            await runtime.ingest.reader.read(location)
            before = {each.source_id: each.number for each in (await stored(runtime)).values()}
            for path, content in cut.items():
                path.write_bytes(content)
            if half is not made:
                location = write(name, root, made)
            await runtime.ingest.reader.read(location)
            records = await stored(runtime)
            assert told(records.values()) == expected, share
            now = {each.source_id: each.number for each in records.values()}
            assert before.items() <= now.items(), share


_HASH = re.compile(r"(?<=\w)-[0-9a-f]{8}(?=/(?:work|decision)|$)")
UNSTAMPED = ("opencode", "opencode 2", "crush", "goose", "zed", "kiro")
"""Forms whose writer here gives a message that grows no other time."""


@pytest.mark.parametrize("name", WRITERS)
async def test_places_of_older_rules_become_the_events_that_are_there(
    name: str, tmp_path: Path
) -> None:
    """Before version 8 an id was a place alone: SESSION/12, SESSION/12/work."""
    location = write(name, tmp_path / "files", Made(PARENT, [*TURNS, BESIDE]))
    async with open_runtime(small(tmp_path / "once"), background=False) as runtime:
        await runtime.ingest.reader.read(location)
        expected = told((await stored(runtime)).values())
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        reader = next(each for each in built_in() if each.name == location.source)
        for batch in reader.read(location, {}):
            drafts = [
                replace(each, source_id=_HASH.sub("", each.source_id), former=(),
                        reading=each.reading and replace(each.reading, rules=7, turns=()))
                for each in batch.drafts
            ]  # fmt: skip
            old = Batch(drafts=tuple(drafts), cursor={**batch.cursor, "version": 7})
            await runtime.ingest.writer.take(location, old)
        before = {each.number for each in (await stored(runtime)).values()}
        await runtime.ingest.reader.read(location)  # as the first start does
        records = await stored(runtime)
        assert told(records.values()) == expected
        assert {each.number for each in records.values()} == before


@pytest.mark.parametrize("name", LINES)
async def test_an_empty_file_of_a_session_is_left_and_no_fault(name: str, tmp_path: Path) -> None:
    location = write(name, tmp_path / "files", Made(PARENT, TURNS), 0)
    (file,) = (tmp_path / "files").rglob("*.jsonl")
    file.write_bytes(b"")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        await runtime.ingest.reader.read(location)
        [row] = await runtime.store.ingest.ledger("", "", 9, 0)
        assert row.outcome == "left", row
        write(name, tmp_path / "files", Made(PARENT, TURNS))
        await runtime.ingest.reader.read(location)
        assert TURNS[0][0] in {each.text for each in (await stored(runtime)).values()}


@pytest.mark.parametrize("richer", ["cursor", "cursor-editor"])
async def test_a_transcript_of_cursor_and_the_database_of_its_session_are_one(
    richer: str, tmp_path: Path
) -> None:
    """The transcript is there first, and is stored; then the database has the session as well."""
    made, home = Made(PARENT, TURNS), tmp_path / "person"
    place = home / (".cursor" if richer == "cursor" else ".config")
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        read = runtime.ingest.reader.read
        location = write("cursor transcript", home / ".cursor", made, 2)
        await read(location)
        before = await stored(runtime)
        assert [each.kind for each in before.values()].count("user_prompt") == 1
        database = write(richer, place, made)
        await read(database)
        write("cursor transcript", home / ".cursor", made)
        await read(location)
        found = [each for each in (await stored(runtime)).values() if each.session == PARENT]
        asked = [each.text for each in found if each.kind == "user_prompt"]
        assert sorted(asked) == sorted(words for words, _ in TURNS)
        assert {each.source for each in found} == {richer}
        assert [each.kind for each in found].count("session_summary") == 1
        rows = await runtime.store.ingest.ledger("cursor", "agent-transcripts", 9, 0)
        reasons = {row.outcome: row.reason for row in rows}
        assert "which says more" in reasons["left"], rows


async def test_a_transcript_of_cursor_that_the_editor_does_not_have_is_read(tmp_path: Path) -> None:
    made, home = Made(PARENT, TURNS), tmp_path / "person"
    database = write("cursor-editor", home / ".config", Made(FORK, NEW))
    write("cursor-editor", home / ".config", made, 0)  # a chat without its messages
    location = write("cursor transcript", home / ".cursor", made)
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        await runtime.ingest.reader.read(database)
        await runtime.ingest.reader.read(location)
        found = (await stored(runtime)).values()
        assert [each.kind for each in found if each.session == PARENT].count("user_prompt") == 3
