"""Transcripts outlive the agent's clean-up: redacted copies, incremental, forgotten on request."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.model import Filters, Location
from mem_search.model.forgetting import Traces, words_of
from mem_search.text.redaction import Redaction
from mem_search.wiring import Runtime, open_runtime
from runtimes import small

SESSION = "5e551040-0000-4000-8000-000000000001"
OTHER = "5e551040-0000-4000-8000-000000000002"
SECRET = "ghp_" + "Zk3" * 12


def said(number: int, words: str, session: str = SESSION) -> str:
    line = {
        "type": "user" if number % 2 else "assistant",
        "uuid": f"u{number}",
        "sessionId": session,
        "timestamp": f"2026-01-01T00:00:{number % 60:02}Z",
        "cwd": "/gone/harbour",
        "toolUseResult": {"originalFile": "unread " * 100},
        "message": {
            "role": "user" if number % 2 else "assistant",
            "content": [
                {"type": "text", "text": words},
                {"type": "image", "source": {"type": "base64", "data": "QUJD" * 500}},
            ],
        },
    }
    return json.dumps(line) + "\n"


PROGRESS = json.dumps({"type": "progress", "data": "tick " * 50}) + "\n"


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    folder = tmp_path / "projects" / "-gone-harbour"
    folder.mkdir(parents=True)
    first = said(1, f"Mend the tide gauge with {SECRET}") + PROGRESS
    (folder / f"{SESSION}.jsonl").write_text(first + said(2, "The gauge counts every wave now."))
    (folder / f"{OTHER}.jsonl").write_text(said(3, "Deepen the zylophantic basin", OTHER))
    return folder.parent


def of(tmp_path: Path, *, on: bool = True) -> KeptTranscripts:
    return KeptTranscripts(tmp_path / "kept", Redaction(b"k" * 32), on=on)


def unpacked(kept: KeptTranscripts, location: Location) -> dict[str, list[str]]:
    """name → lines of the copies whose transcripts are gone."""
    folder = kept.unpack(location)
    if folder is None:
        return {}
    with folder as name:
        files = Path(name).rglob("*.jsonl")
        return {file.stem: file.read_text().splitlines() for file in files}


def bytes_below(folder: Path) -> bytes:
    """Every byte of the files below, unpacked where they are packed."""
    found = [file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()]
    return b"\n".join(gzip.decompress(each) if each[:2] == b"\x1f\x8b" else each for each in found)


async def test_a_copy_has_what_is_read_without_secrets_and_grows(
    tmp_path: Path, projects: Path
) -> None:
    kept, location = of(tmp_path), Location("claude-code", str(projects))
    await kept.keep(location, changed=True)
    file = projects / "-gone-harbour" / f"{SESSION}.jsonl"
    for number in range(4, 40):
        with file.open("a") as growing:
            growing.write(said(number, f"Wave {number}"))
        await kept.keep(location, changed=True)
    assert unpacked(kept, location) == {}
    lines = file.read_text().splitlines()
    file.unlink()
    ((name, copied),) = unpacked(kept, location).items()
    assert name == SESSION
    assert len(copied) == len(lines) == 39
    assert copied[1] == ""
    assert [json.loads(line)["uuid"] for line in copied if line] == [
        json.loads(line)["uuid"] for line in lines if "uuid" in line
    ]
    content = bytes_below(tmp_path / "kept")
    assert b"[redacted:github-token]" in content
    for absent in (SECRET.encode(), b"QUJD", b"unread", b"tick"):
        assert absent not in content
    assert kept.size()[0] == 2
    assert kept.size()[1] < sum(len(line) for line in lines) / 4


async def test_a_copy_is_whole_after_a_kill_and_a_rewritten_transcript(
    tmp_path: Path, projects: Path
) -> None:
    kept, location = of(tmp_path), Location("claude-code", str(projects))
    file = projects / "-gone-harbour" / f"{SESSION}.jsonl"
    await kept.keep(location, changed=True)
    (copy,) = (tmp_path / "kept").rglob(f"{SESSION}*.gz")
    with copy.open("ab") as cut_off:
        cut_off.write(gzip.compress(b"half a li")[:-4])
    with file.open("a") as growing:
        growing.write(said(4, "And every ebb."))
    await of(tmp_path).keep(location, changed=True)
    whole = file.read_text()
    file.write_text(whole[:200])  # truncated: the copy knows more
    await of(tmp_path).keep(location, changed=True)
    file.unlink()
    assert len(unpacked(kept, location)[SESSION]) == 4
    file.write_text(said(1, "Another session under this name") * 9)
    await of(tmp_path).keep(location, changed=True)
    file.unlink()
    assert len(unpacked(kept, location)[SESSION]) == 9


async def test_a_line_of_odd_types_keeps_no_other_line_from_its_copy(
    tmp_path: Path, projects: Path
) -> None:
    kept, location = of(tmp_path), Location("claude-code", str(projects))
    file = projects / "-gone-harbour" / f"{SESSION}.jsonl"
    with file.open("a") as growing:
        growing.write('{"type": {"a": 1}}\n{"type": []}\n{"type": "user", "sessionId": {}}\n')
        growing.write(said(9, "After the odd ones"))
    await kept.keep(location, changed=True)
    file.unlink()
    assert "After the odd ones" in unpacked(kept, location)[SESSION][-1]


async def test_what_is_forgotten_leaves_every_copy_and_does_not_come_back(
    tmp_path: Path, projects: Path
) -> None:
    kept, location = of(tmp_path), Location("claude-code", str(projects))
    await kept.keep(location, changed=True)
    assert b"zylophantic" in bytes_below(tmp_path / "kept")
    assert await kept.forget((), Traces(frozenset({"zylophantic"}), frozenset())) == 1
    assert b"zylophantic" not in bytes_below(tmp_path / "kept")
    assert b"tide gauge" in bytes_below(tmp_path / "kept")
    assert await kept.forget([SESSION]) == 1
    assert b"tide gauge" not in bytes_below(tmp_path / "kept")
    with (projects / "-gone-harbour" / f"{SESSION}.jsonl").open("a") as growing:
        growing.write(said(4, "More of the tide gauge"))
    await of(tmp_path).keep(location, changed=True)
    assert b"tide gauge" not in bytes_below(tmp_path / "kept")


def claude_code(folder: Path) -> Path:
    """A session with what real lines have around their words."""
    around = {
        "parentUuid": "u0", "isSidechain": False, "userType": "external", "entrypoint": "cli",
        "version": "2.1.5", "gitBranch": "main", "sessionId": SESSION, "cwd": "/gone/harbour",
        "timestamp": "2026-01-01T00:00:31.000Z", "requestId": "req_1", "permissionMode": "plan",
    }  # fmt: skip
    message = {"id": "msg_1", "role": "assistant", "model": "claude-opus-4-5", "type": "message",
               "stop_reason": "tool_use", "usage": {"service_tier": "standard"}}  # fmt: skip
    use = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "caller": {"type": "direct"},
           "input": {"command": "Mend the tide gauge", "type": "dredge"}}  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": False,
              "content": [{"type": "text", "text": "Mended"}]}  # fmt: skip
    lines = [
        {"type": "assistant", "uuid": "u1", "message": {**message, "content": [use]}, **around},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [result]}, **around},
        {"type": "summary", "summary": "Mend the tide gauge", "leafUuid": "u2"},
    ]
    session = folder / "projects" / "-gone-harbour"
    session.mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (session / f"{SESSION}.jsonl").write_text(text)
    return folder / "projects"


async def test_a_damaged_copy_is_removed_by_a_forgetting(tmp_path: Path, projects: Path) -> None:
    kept, location = of(tmp_path), Location("claude-code", str(projects))
    await kept.keep(location, changed=True)
    (copy,) = (tmp_path / "kept").rglob(f"{OTHER}*.gz")
    content = copy.read_bytes()
    copy.write_bytes(content[:12] + b"\0" * (len(content) - 12))
    await kept.forget((), Traces(frozenset({"zylophantic"}), frozenset()))
    assert not copy.exists()


async def test_nothing_is_kept_when_turned_off_or_uploaded(tmp_path: Path, projects: Path) -> None:
    location = Location("claude-code", str(projects))
    await of(tmp_path, on=False).keep(location, changed=True)
    await of(tmp_path).keep(replace(location, upload="a.jsonl"), changed=True)
    await of(tmp_path).keep(replace(location, source="notes"), changed=True)
    assert not (tmp_path / "kept").exists()


async def test_a_disk_that_refuses_is_told_and_stops_nothing(
    tmp_path: Path, projects: Path
) -> None:
    (tmp_path / "kept").write_text("no folder")
    kept = of(tmp_path)
    await kept.keep(Location("claude-code", str(projects)), changed=True)
    assert kept.error.startswith("transcripts are not kept: ")


def gemini(folder: Path) -> Path:
    """Sessions of Gemini CLI in both of its forms, and the directory of their project."""
    chats = folder / "tmp" / "quay" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text("/gone/harbour")
    said = [
        {"id": "m1", "type": "user", "content": [{"text": f"Mend the tide gauge with {SECRET}"}]},
        {"id": "m2", "type": "gemini", "content": "The gauge counts every wave now, as it should.",
         "thoughts": [{"description": "unread"}]},
        {"id": "m3", "type": "user", "content": [{"inlineData": {"data": "QUJD" * 500}}]},
    ]  # fmt: skip
    whole = {"sessionId": SESSION, "messages": said}
    (chats / "session-old.json").write_text(json.dumps(whole, indent=2))
    head = {"sessionId": OTHER, "kind": "main"}
    more = [{**each, "content": "Deepen the zylophantic basin"} for each in said[:1]]
    (chats / "session-new.jsonl").write_text("".join(json.dumps(x) + "\n" for x in (head, *more)))
    return folder / "tmp"


def openclaw(folder: Path) -> Path:
    """A session of OpenClaw."""
    sessions = folder / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    for name, words in ((SESSION, f"Mend the tide gauge with {SECRET}"), (OTHER, "zylophantic")):
        asked = {"role": "user", "content": [{"type": "text", "text": words}]}
        picture = {"role": "user", "content": [{"type": "image", "data": "QUJD" * 500}]}
        answer = {
            "role": "assistant",
            "content": [{"type": "text", "text": "The gauge counts every wave now, as it should."}],
        }
        lines = [
            {"type": "session", "id": name, "cwd": "/gone/harbour"},
            *(
                {"type": "message", "id": f"m{number}", "message": each}
                for number, each in enumerate((asked, picture, answer))
            ),
        ]
        (sessions / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    return folder / "agents"


@pytest.mark.parametrize("source", [gemini, openclaw])
async def test_sessions_that_other_agents_delete_are_kept_read_again_and_forgotten(
    tmp_path: Path, source: Callable[[Path], Path]
) -> None:
    root = source(tmp_path / "person")
    location, home = Location(source.__name__, str(root)), tmp_path / "home"
    async with open_runtime(small(home), background=False) as runtime:
        reader = runtime.ingest.reader
        await reader.read(location)
        before = await stored(runtime)
        assert len(before) > 2
        content = bytes_below(home / "transcripts")
        assert b"[redacted:github-token]" in content
        for absent in (SECRET.encode(), b"QUJD", b"unread"):
            assert absent not in content
        assert reader.kept is not None
        assert reader.kept.size()[0] == 2
        shutil.rmtree(root)
        counts = await reader.read(location, again=True)
        assert (counts.new, counts.changed, counts.failed) == (0, 0, 0)
    anew = tmp_path / "anew"
    anew.mkdir()
    shutil.copytree(home / "transcripts", anew / "transcripts")
    shutil.copy(home / "redaction.key", anew)
    async with open_runtime(small(anew), background=False) as runtime:
        await runtime.ingest.reader.read(location, again=True)
        assert await stored(runtime) == before
        page, _ = await runtime.store.records.page(Filters(), "date_asc", 100, 0)
        assert {record.project for record, _ in page} == {"harbour"}
        numbers = [record.number for record, _ in page if record.session == SESSION]
        await runtime.ingest.forgetting.forget(numbers)
        await runtime.ingest.forgetting.work()
        assert b"tide gauge" not in bytes_below(anew / "transcripts")


async def test_a_document_that_is_being_written_does_not_replace_its_copy(tmp_path: Path) -> None:
    root = gemini(tmp_path)
    kept, location = of(tmp_path), Location("gemini", str(root))
    await kept.keep(location, changed=True)
    (file,) = root.rglob("session-old.json")
    whole = file.read_text()
    file.write_text(whole[:200])
    await kept.keep(location, changed=True)
    assert b"counts every wave" in bytes_below(tmp_path / "kept")
    file.write_text(whole.replace("every wave", "every ebb"))
    await kept.keep(location, changed=True)
    assert b"counts every ebb" in bytes_below(tmp_path / "kept")
    assert b"counts every wave" not in bytes_below(tmp_path / "kept")
    await kept.redact()
    assert b"counts every ebb" in bytes_below(tmp_path / "kept")
    assert await kept.forget([SESSION]) == 1
    assert b"counts every ebb" not in bytes_below(tmp_path / "kept")
    assert b"zylophantic" in bytes_below(tmp_path / "kept")


async def stored(runtime: Runtime) -> list[tuple[str, str, str]]:
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 100, 0)
    return sorted((record.source_id, record.title, record.text) for record, _ in page)


@pytest.mark.parametrize("whole", [False, True])
async def test_reading_again_finds_what_the_agent_has_deleted(
    tmp_path: Path, projects: Path, whole: bool
) -> None:
    location = Location("claude-code", str(projects))
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        reader = runtime.ingest.reader
        await reader.read(location)
        before: Any = await stored(runtime)
        for file in [*projects.rglob("*.jsonl")]:  # noqa: ASYNC240
            if whole or file.stem == SESSION:
                file.unlink()
        counts = await reader.read(location, again=True)
        assert (counts.new, counts.failed) == (0, 0)
        assert await stored(runtime) == before
    anew = tmp_path / "anew"
    anew.mkdir()
    shutil.copytree(tmp_path / "home" / "transcripts", anew / "transcripts")
    shutil.copy(tmp_path / "home" / "redaction.key", anew)
    async with open_runtime(small(anew), background=False) as runtime:
        await runtime.ingest.reader.read(location, again=True)
        assert await stored(runtime) == before
    async with open_runtime(small(tmp_path / "home"), background=False) as runtime:
        numbers = await runtime.store.forgetting.matching(Filters(source="claude-code"), 100)
        await runtime.ingest.forgetting.forget(numbers)
        await runtime.ingest.forgetting.work()
        kept = bytes_below(tmp_path / "home" / "transcripts")
        assert b"tide gauge" not in kept
        assert b"zylophantic" not in kept
        await runtime.ingest.reader.read(location, again=True)
        assert await stored(runtime) == []


SAID = (
    "Mend the tide gauge with redacted github token zylophantic Deepen the zylophantic basin The"
    " gauge counts every wave now, as it should /gone/harbour Mended dredge main"
)


@pytest.mark.parametrize("source", [claude_code, gemini, openclaw])
async def test_words_of_an_agents_format_take_nothing_with_them_and_said_ones_do(
    tmp_path: Path, source: Callable[[Path], Path]
) -> None:
    root = source(tmp_path / "person")
    kept = of(tmp_path)
    await kept.keep(Location(source.__name__.replace("_", "-"), str(root)), changed=True)
    before = bytes_below(tmp_path / "kept")
    of_format = words_of(before.decode()) - words_of(SAID)
    assert of_format > {"type", "user", "id", "content"}
    of_format |= {"sessionid", "tooluse", "message", "content", "assistant"}
    assert await kept.forget((), Traces(frozenset(of_format), frozenset())) == 0
    assert bytes_below(tmp_path / "kept") == before
    given = "dredge" if source is claude_code else "gauge"
    assert await kept.forget((), Traces(frozenset({given}), frozenset())) > 0
    assert given.encode() not in bytes_below(tmp_path / "kept")
