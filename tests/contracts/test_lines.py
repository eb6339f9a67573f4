"""The contract of every source that reads lines: where a line ends, what it says of a bad one."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import agent_sessions
import editor_sessions
import source_samples
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import built_in, by_name
from mem_search.sources.agent_work.transcripts import SessionFiles
from mem_search.sources.growing import Growing
from mem_search.sources.whole_files import MAX_NAMED_LINES
from shared_sessions import LINES, PARENT, WRITERS, Made, Writer, aider

SAID = "Light the lamp, please"
SOURCES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "claude-code": (source_samples.claude_code, "Fix the lamp in the harbour, please"),
    "codex": (agent_sessions.codex, SAID),
    "gemini": (agent_sessions.gemini, SAID),
    "cursor": (agent_sessions.cursor_transcript, SAID),
    "copilot": (agent_sessions.copilot, SAID),
    "qwen": (agent_sessions.qwen, SAID),
    "pi": (agent_sessions.pi, SAID),
    "openclaw": (agent_sessions.openclaw, SAID),
    "droid": (editor_sessions.droid, SAID),
    "jsonl": (source_samples.jsonl, "x"),
}
TEXTS = {
    "mail": (source_samples.mbox, "Lengthen the pier by ten metres."),
    "files": (source_samples.files, "The lamp burns again."),
    "url-archive": (source_samples.pages, "The lamp burns."),
}
"""Sources of texts: their lines are no items, and a text may have any of these signs."""

NO_END = {
    "line separator": "\u2028", "paragraph separator": "\u2029", "next line": "\u0085",
    "vertical tab": "\x0b", "form feed": "\x0c", "file": "\x1c", "group": "\x1d", "record": "\x1e",
    "carriage return": "\r",
}  # fmt: skip
"""What ``str.splitlines`` takes for the end of a line, and a file of lines does not."""

BROKEN = (b'{"type": "user", "cut', b"[1, 2]", b'"words"', b'{"a": "\xff\xfe"}', b"\0\0\0\0", b"{")
CUT = b'{"type": "being writ'


def _file(root: Path) -> Path:
    return root if root.is_file() else min(each for each in root.rglob("*") if each.is_file())


def _read(name: str, root: Path) -> tuple[list[str], list[LedgerEntry]]:
    batches = list(by_name(name).read(Location(name, str(root)), {}))
    texts = [draft.text for batch in batches for draft in batch.drafts]
    return texts, [entry for batch in batches for entry in batch.ledger]


def test_every_source_of_lines_is_tried() -> None:
    transcripts = [each for each in built_in() if isinstance(each, SessionFiles)]
    suffixes = {each.name: each.file_format.suffixes for each in transcripts if each.file_format}
    of_lines = {name for name, ends in suffixes.items() if ".jsonl" in ends}
    assert of_lines <= SOURCES.keys(), "add the sample of the new source to SOURCES"


@pytest.mark.parametrize("sign", NO_END.values(), ids=NO_END)
@pytest.mark.parametrize("name", SOURCES)
def test_only_a_line_feed_ends_a_line(name: str, sign: str, tmp_path: Path) -> None:
    make, words = SOURCES[name]
    root = make(tmp_path)
    file = _file(root)
    before, _ = _read(name, root)
    written = json.dumps(f"{words} (first{sign}second half) now", ensure_ascii=False)[1:-1]
    lines = [
        json.dumps(json.loads(line), ensure_ascii=False)
        for line in file.read_text("utf-8").split("\n")[:-1]
    ]
    told = [line.replace(f'"{words}"', f'"{written}"').replace(f"\\n{words}\\n", f"\\n{written}\\n")
            for line in lines]  # fmt: skip
    assert told != lines
    file.write_text("".join(f"{line}\n" for line in told), "utf-8", newline="")
    texts, ledger = _read(name, root)
    assert len(texts) == len(before)
    assert any("(first" in text and "second half) now" in text for text in texts)
    assert [entry for entry in ledger if entry.outcome == "failed"] == []


@pytest.mark.parametrize("sign", NO_END.values(), ids=NO_END)
@pytest.mark.parametrize(
    "name", [name for name in TEXTS if name in ("mail", "files", "url-archive")]
)
def test_a_text_with_other_signs_stays_whole(name: str, sign: str, tmp_path: Path) -> None:
    make, words = TEXTS[name]
    root = make(tmp_path)
    for file in [root] if root.is_file() else [each for each in root.rglob("*") if each.is_file()]:
        text = file.read_text("utf-8").replace(words, f"{words} first{sign}second")
        file.write_text(text, "utf-8", newline="")
    texts, _ = _read(name, root)
    found = [text for text in texts if "first" in text]
    assert found
    assert all("second" in text for text in found)


@pytest.mark.parametrize("name", SOURCES)
def test_a_broken_line_is_named_with_its_number_and_the_others_are_read(
    name: str, tmp_path: Path
) -> None:
    root = SOURCES[name][0](tmp_path)
    file = _file(root)
    before, _ = _read(name, root)
    first, *others = file.read_bytes().split(b"\n")[:-1]
    file.write_bytes(b"\n".join([first, *BROKEN, *others, CUT]))
    texts, ledger = _read(name, root)
    assert texts == before
    numbers = range(2, 2 + len(BROKEN))
    place = "line {}" if name == "jsonl" else f"{file.relative_to(root)}:{{}}"
    by_item = {entry.item: entry for entry in ledger}
    for number in numbers:
        entry = by_item[place.format(number)]
        assert entry.outcome == "failed"
        assert entry.reason
    last = len(others) + len(BROKEN) + 2
    said = [f"{entry.item} {entry.reason}" for entry in ledger]
    assert any(f"line {last}" in each for each in said), "the line that is cut off is named"
    failed = [entry.item for entry in ledger if entry.outcome == "failed"]
    assert len(failed) == len(BROKEN) + (name == "jsonl")


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "jsonl"])
def test_lines_of_a_form_that_is_not_known_are_never_taken(name: str, tmp_path: Path) -> None:
    root = SOURCES[name][0](tmp_path)
    file = _file(root)
    message = {"role": "bard", "content": "Lo"}
    line = {"type": "utterance", "uuid": "u", "role": "bard", "message": message}
    file.write_text("".join(f"{json.dumps(line)}\n" for _ in range(MAX_NAMED_LINES + 5)))
    texts, ledger = _read(name, root)
    assert texts == []
    assert ledger
    assert {entry.outcome for entry in ledger} <= {"failed", "left"}
    named = [entry for entry in ledger if entry.outcome == "failed"]
    assert any("utterance" in entry.reason or "bard" in entry.reason for entry in named)
    assert any(entry.item.endswith(":1") for entry in named)


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "jsonl"])
def test_a_file_in_which_each_line_is_broken_is_not_taken(name: str, tmp_path: Path) -> None:
    root = SOURCES[name][0](tmp_path)
    _file(root).write_bytes(b"{broken\n" * 3)
    texts, ledger = _read(name, root)
    assert texts == []
    assert "failed" in {entry.outcome for entry in ledger}
    assert "taken" not in {entry.outcome for entry in ledger}


SAYS = "Lamp {0} burns; I decided to use oil {0} instead of gas."
LONG = Made(PARENT, [(f"Is lamp {n} lit", SAYS.format(n)) for n in range(8)])


def _cursor_text(root: Path, made: Made, count: int | None) -> Path:
    place = root / "projects" / "gone-harbour" / "agent-transcripts"
    place.mkdir(parents=True)
    said = [f"{each.role}:\n{each.words}\n" for each in made.messages(count)]
    (place / f"{made.id}.txt").write_text("\n".join(said))
    (place.parent / ".workspace-trusted").write_text('{"workspacePath": "/gone/harbour"}')
    return root / "projects"


def _aider(root: Path, made: Made, count: int | None) -> Path:
    for day in (1, 2, 3, 4):
        aider(root, replace(made, day=day), count)
    return root / "harbour"


GROWING: dict[str, Writer] = {
    **{form: WRITERS[form] for form in LINES if form != "claude-code"},
    "cursor text": _cursor_text,
    "aider": _aider,
}
"""Forms to which a program appends; Claude Code's has tests of its own."""


def _written(name: str, root: Path) -> tuple[Path, Path, bytes]:
    """What is read, and in it the file that grows, with its content."""
    root = GROWING[name](root, LONG, None)
    files = [each for each in root.rglob("*") if each.suffix in (".jsonl", ".txt", ".md")]
    (file,) = files
    content = file.read_bytes()
    if name == "codex":  # what an event says of the next ones is remembered as well
        content += content.splitlines(keepends=True)[-1]
    return root, file, content


def _grown(name: str, root: Path, cursor: dict[str, Any]) -> tuple[list[Draft], dict[str, Any]]:
    source = name.partition(" ")[0]
    batches = list(by_name(source).read(Location(source, str(root)), cursor))
    drafts = [draft for batch in batches for draft in batch.drafts]
    return drafts, json.loads(json.dumps(batches[-1].cursor)) if batches else cursor


def _told(draft: Draft) -> tuple[Any, ...]:
    return draft.kind, draft.session, draft.title, draft.text, draft.created_at, draft.metadata


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GROWING)
def test_a_file_that_grows_gives_what_reading_it_whole_gives(
    name: str, seed: int, tmp_path: Path
) -> None:
    root, file, content = _written(name, tmp_path)
    file.write_bytes(content)
    expected = {draft.source_id: draft for draft in _grown(name, root, {})[0]}
    cuts = [*sorted(Random(seed).sample(range(1, len(content)), 12)), len(content)]
    file.write_bytes(b"")
    found: dict[str, Draft] = {}
    cursor: dict[str, Any] = {}
    for before, cut in pairwise([0, *cuts]):
        with file.open("ab") as growing:
            growing.write(content[before:cut])
        drafts, cursor = _grown(name, root, cursor)
        found |= {draft.source_id: draft for draft in drafts}
    assert len(expected) > len(LONG.turns)
    assert {key: _told(found[key]) for key in expected} == {
        key: _told(draft) for key, draft in expected.items()
    }


@pytest.mark.parametrize("name", GROWING)
def test_one_more_line_costs_no_second_reading_of_those_before(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, file, content = _written(name, tmp_path)
    end = content.rstrip(b"\n").rfind(b"\n") + 1
    file.write_bytes(content[:end])
    _, cursor = _grown(name, root, {})
    begun: list[int] = []
    monkeypatch.setattr(Growing, "remember", _noting(begun, Growing.remember))
    with file.open("ab") as growing:
        growing.write(content[end:])
    _grown(name, root, cursor)
    assert begun[0] > len(content) // 2


def test_a_message_of_gemini_that_is_written_again_has_the_session_read_whole(
    tmp_path: Path,
) -> None:
    """Its last message is written again as it goes on; an older one seldom, or taken back."""
    root, file, content = _written("gemini", tmp_path)
    cursor = _grown("gemini", root, {})[1]
    first = json.loads(content.split(b"\n")[3])
    changes: list[tuple[dict[str, Any], str]] = [
        ({**first, "content": "The lamp is out of oil."}, "out of oil"),
        ({"$set": {"directories": ["/gone/pier"]}}, "/gone/pier"),
        ({"$rewindTo": json.loads(content.split(b"\n")[4])["id"]}, ""),
    ]
    for change, words in changes:
        with file.open("a") as growing:
            growing.write(f"{json.dumps(change)}\n")
        drafts, cursor = _grown("gemini", root, cursor)
        whole = _grown("gemini", root, {})[0]
        assert {each.source_id: _told(each) for each in drafts} == {
            each.source_id: _told(each) for each in whole
        }
        told = " ".join(f"{each.text} {each.metadata.get('cwd')}" for each in drafts)
        assert words in told
    assert [each.kind for each in drafts].count("user_prompt") == 1


@pytest.mark.parametrize("form", ["cursor transcript", "cursor text"])
def test_a_transcript_of_cursor_that_tells_late_where_it_works_is_read_whole(
    form: str, tmp_path: Path
) -> None:
    root, file, content = _written(form, tmp_path)
    (file.parent / ".workspace-trusted").unlink(missing_ok=True)
    (file.parent.parent / ".workspace-trusted").unlink(missing_ok=True)
    if form == "cursor text":
        told = b"assistant:\n[Tool call] Shell\n  command: make\n  working_directory: /gone/pier\n"
        file.write_bytes(content)
    else:
        *lines, told = content.splitlines(keepends=True)
        part = {"command": "make", "working_directory": "/gone/harbour"}
        without = json.dumps(part).encode(), b'{"command": "make"}'
        file.write_bytes(b"".join(lines).replace(*without))
        told = told.replace(b"harbour", b"pier")
    drafts, cursor = _grown(form, root, {})
    assert {each.metadata.get("cwd") for each in drafts if each.kind == "user_prompt"} == {""}
    with file.open("ab") as growing:
        growing.write(told)
    drafts, _ = _grown(form, root, cursor)
    asked = {each.source_id: each for each in drafts if each.kind == "user_prompt"}
    assert len(asked) == len(LONG.turns)
    assert {each.metadata["cwd"] for each in asked.values()} == {"/gone/pier"}


def test_a_change_of_an_older_request_of_a_chat_has_the_chat_read_whole(tmp_path: Path) -> None:
    root, file, _ = _written("copilot-chat", tmp_path)
    cursor = _grown("copilot-chat", root, {})[1]
    path = ["requests", 0, "response"]
    for change in (
        {"kind": 1, "k": path, "v": [{"value": "The lamp is out of oil."}]},
        {"kind": 1, "k": ["requests", 0], "v": {"requestId": "q", "message": {"text": "Oil?"}}},
        {"kind": 2, "k": ["requests"], "i": 2, "v": []},
        {"kind": 0, "v": {"sessionId": LONG.id, "version": 3, "requests": []}},
    ):
        with file.open("a") as growing:
            growing.write(f"{json.dumps(change)}\n")
        drafts, cursor = _grown("copilot-chat", root, cursor)
        whole = _grown("copilot-chat", root, {})[0]
        assert {each.source_id: _told(each) for each in drafts} == {
            each.source_id: _told(each) for each in whole
        }


def test_a_file_that_could_not_be_read_on_is_read_whole_when_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, file, content = _written("qwen", tmp_path)
    end = content.rstrip(b"\n").rfind(b"\n") + 1
    file.write_bytes(content[:end])
    _, cursor = _grown("qwen", root, {})
    with monkeypatch.context() as broken:
        broken.setattr(Growing, "remember", _failing)
        with file.open("ab") as growing:
            growing.write(content[end:-9])
        _, cursor = _grown("qwen", root, cursor)
    with file.open("ab") as growing:
        growing.write(content[-9:])
    drafts, _ = _grown("qwen", root, cursor)
    assert [each.kind for each in drafts].count("user_prompt") == len(LONG.turns)


def _failing(*_: Any) -> Any:
    raise RecursionError


def _noting(begun: list[int], remember: Any) -> Any:
    def noted(place: Growing, *given: Any) -> Any:
        begun.append(place.offset)
        return remember(place, *given)

    return noted
