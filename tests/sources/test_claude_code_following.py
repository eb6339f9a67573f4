"""How the claude-code source follows growing, broken and vanishing transcripts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.sources import base
from mem_search.sources.claude_code import ClaudeCode

Steps = list[tuple[str, str]]


def transcript(steps: Steps, session: str = "s1") -> bytes:
    """Lines for (what, text) steps: ask, say, read, run, fail, compact, hook, break."""
    lines: list[str] = []
    for number, (what, text) in enumerate(steps):
        common = {
            "uuid": f"u{number}",
            "sessionId": session,
            "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z",
            "cwd": "/gone/harbour",
        }
        call = f"t{number}"
        lines += [
            value if isinstance(value, str) else json.dumps({**common, **value})
            for value in _values(what, text, call)
        ]
    return "".join(line + "\n" for line in lines).encode()


def _values(what: str, text: str, call: str) -> Iterator[dict[str, Any] | str]:
    match what:
        case "ask":
            yield {"type": "user", "message": {"content": text}}
        case "say":
            content = [{"type": "text", "text": text}]
            yield {"type": "assistant", "message": {"id": call, "content": content}}
        case "read" | "run" | "fail":
            tool, given_ = (
                ("Read", {"file_path": f"/gone/harbour/{text}"})
                if what == "read"
                else ("Bash", {"command": text})
            )
            use = {"type": "tool_use", "id": call, "name": tool, "input": given_}
            yield {"type": "assistant", "message": {"id": call, "content": [use]}}
            result = {"type": "tool_result", "tool_use_id": call, "content": f"Exit code 1\n{text}"}
            answer = [{**result, "is_error": what == "fail"}]
            yield {"type": "user", "message": {"content": answer}}
        case "compact":
            yield {"type": "user", "isCompactSummary": True, "message": {"content": text}}
        case "hook":
            yield {"type": "progress", "data": text}
        case _:
            yield "{broken"


def look(root: Path, cursor: Mapping[str, Any]) -> list[Batch]:
    return list(ClaudeCode().read(Location("claude-code", str(root)), cursor))


class Follower:
    """Stores drafts and cursor as the product does, the cursor as JSON.

    ``ledger`` is what the last look said, ``said`` what the ledger says after all looks.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cursor: dict[str, Any] = {}
        self.drafts: dict[str, Draft] = {}
        self.ledger: list[LedgerEntry] = []
        self.said: dict[str, LedgerEntry] = {}

    def look(self, batches: int | None = None) -> Follower:
        """Look once, abandoning the read after some batches if asked."""
        self.ledger = []
        location = Location("claude-code", str(self.root))
        for number, batch in enumerate(ClaudeCode().read(location, self.cursor)):
            if number == batches:
                break
            self.drafts.update({draft.source_id: draft for draft in batch.drafts})
            self.cursor = json.loads(json.dumps(batch.cursor))
            self.ledger += batch.ledger
            for item in batch.outdated:
                for name in [name for name in self.said if f"{name}:".startswith(f"{item}:")]:
                    del self.said[name]
            self.said.update({entry.item: entry for entry in batch.ledger})
        return self


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "say", "read", "run", "fail", "compact", "hook", "break"]),
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=3000)
        | st.sampled_from(["the tide is high today", "chart.py", "Fix the gauge in the harbour"]),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, cuts=st.lists(st.floats(0, 1), max_size=3), size=st.integers(1, 5))
def test_reading_a_file_while_it_grows_gives_what_reading_it_whole_gives(
    steps: Steps, cuts: list[float], size: int
) -> None:
    data = transcript(steps)
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as grown:
        (Path(whole) / "s1.jsonl").write_bytes(data)
        expected = Follower(Path(whole)).look()
        path = Path(grown) / "s1.jsonl"
        path.touch()
        follower = Follower(Path(grown))
        at = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(base, "BATCH_SIZE", size)
            for cut in sorted(int(share * len(data)) for share in cuts):
                with path.open("ab") as file:
                    file.write(data[at:cut])
                at = cut
                follower.look(batches=1)  # as if killed after the first batch
            with path.open("ab") as file:
                file.write(data[at:])
            follower.look()
        assert follower.drafts == expected.drafts
        assert follower.said == expected.said


def test_an_abandoned_read_still_yields_the_open_drafts_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH_SIZE", 1)
    steps = [("ask", "Chart the reefs"), ("hook", "x")]
    (tmp_path / "s1.jsonl").write_bytes(transcript(steps))
    follower = Follower(tmp_path).look(batches=1)
    assert set(follower.drafts) == {"s1/u0"}
    assert set(follower.look().drafts) == {"s1/u0", "s1/summary"}


def test_nothing_is_said_while_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").write_bytes(transcript([("ask", "Chart the reefs"), ("break", "")]))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "s1.jsonl")
    follower = Follower(tmp_path).look()
    assert follower.ledger
    assert look(tmp_path, follower.cursor) == []


def test_a_grown_session_is_stored_again_under_the_same_ids(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    steps = [("ask", "Chart the reefs"), ("say", "There are seven reefs near the harbour.")]
    path.write_bytes(transcript(steps))
    follower = Follower(tmp_path).look()
    steps.append(("say", "And one more that nobody knew of."))
    path.write_bytes(transcript(steps))
    (batch,) = look(tmp_path, follower.cursor)
    assert [draft.source_id for draft in batch.drafts] == ["s1/u0/work", "s1/summary"]
    assert all("nobody knew" in draft.text for draft in batch.drafts)


def test_a_line_without_its_end_waits_for_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    data = transcript([("ask", "Chart the reefs"), ("ask", "And the shoals")])
    path.write_bytes(data[:-20])
    follower = Follower(tmp_path).look()
    waiting = "line 2 is incomplete; it is read once it is complete"
    assert follower.said == {"s1.jsonl": LedgerEntry("s1.jsonl", "taken", waiting, 2)}
    assert "s1/u1" not in follower.drafts
    path.write_bytes(data)
    assert follower.look().drafts["s1/u1"].text == "And the shoals"
    assert follower.said == {"s1.jsonl": LedgerEntry("s1.jsonl", "taken", "", 3)}


def test_the_ledger_has_the_sum_of_all_readings(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    steps = [("ask", "Chart the reefs"), ("read", "reefs.csv"), ("ask", "/clear"), ("break", "")]
    commands = transcript([("ask", "<command-name>/clear</command-name>")] * 2)
    path.write_bytes(transcript(steps) + commands)
    follower = Follower(tmp_path).look()
    with path.open("ab") as file:
        file.write(commands + transcript([("ask", "And the shoals")]).replace(b"u0", b"u9"))
    follower.look()
    told = follower.said["s1.jsonl"]
    assert told == Follower(tmp_path).look().said["s1.jsonl"]
    assert told.records == len(follower.drafts)
    assert "line that cannot be decoded ×1" in told.reason
    assert "slash command ×4" in told.reason


CONVERSATION = [
    ("ask", "Chart the reefs"),
    ("read", "reefs.csv"),
    ("ask", "And the shoals"),
    ("compact", "<summary>\nThe reefs are charted, the shoals are not.\n</summary>"),
    ("ask", "And the wrecks"),
]


@pytest.mark.parametrize("cold", [False, True])
def test_what_was_read_of_a_transcript_that_was_cut_short_stays(tmp_path: Path, cold: bool) -> None:
    path = tmp_path / "s1.jsonl"
    whole, short = transcript(CONVERSATION), transcript(CONVERSATION[:2])
    path.write_bytes(whole)
    follower = Follower(tmp_path).look()
    if cold:
        del follower.cursor["files"]["s1.jsonl"]["state"]
    before = dict(follower.drafts)
    assert "The reefs are charted" in before["s1/summary"].text

    path.write_bytes(short)
    assert follower.look().drafts == before
    lines = len(whole.splitlines()), len(short.splitlines())
    told = follower.said["s1.jsonl"]
    assert told.reason == f"truncated from {lines[0]} lines to {lines[1]}; its records stay"
    assert told.records == 3  # of what is in it
    if cold:
        del follower.cursor["files"]["s1.jsonl"]["state"]
    path.touch()
    assert follower.look().drafts == before

    path.write_bytes(whole)
    assert follower.look().drafts == before
    assert follower.said == Follower(tmp_path).look().said


def test_a_truncated_transcript_that_grows_again_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(transcript(CONVERSATION))
    follower = Follower(tmp_path).look()
    other = transcript([*CONVERSATION[:2], ("ask", "And the lights")]).replace(b"u2", b"v2")
    path.write_bytes(transcript(CONVERSATION[:2]))
    follower.look()
    path.write_bytes(other)
    follower.look()
    assert follower.drafts["s1/v2"].text == "And the lights"
    assert {"s1/u2", "s1/u4"} <= set(follower.drafts)
    assert "truncated" in follower.said["s1.jsonl"].reason


def test_an_emptied_transcript_takes_no_record_with_it(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(transcript(CONVERSATION))
    follower = Follower(tmp_path).look()
    before = dict(follower.drafts)
    path.write_bytes(b"")
    assert follower.look().drafts == before
    assert "truncated from 6 lines to 0; its records stay" in follower.said["s1.jsonl"].reason


def test_a_replaced_transcript_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(transcript([("break", ""), ("ask", "Chart the reefs"), ("break", "")]))
    follower = Follower(tmp_path).look()
    assert {"s1.jsonl:1", "s1.jsonl:3"} < set(follower.said)
    path.write_bytes(transcript([("ask", "Something else")], session="s2"))
    follower.look()
    assert follower.said == {"s1.jsonl": LedgerEntry("s1.jsonl", "taken", "", 2)}


def test_a_line_that_cannot_be_decoded_fails_alone(tmp_path: Path) -> None:
    data = transcript([("ask", "Chart the reefs"), ("break", ""), ("ask", "And the shoals")])
    (tmp_path / "s1.jsonl").write_bytes(data + b"\xff\xfe\n[1]\n" + b"[" * 100_000 + b"\n\n")
    follower = Follower(tmp_path).look()
    failed = [entry for entry in follower.ledger if entry.outcome == "failed"]
    assert [entry.item for entry in failed] == [f"s1.jsonl:{line}" for line in (2, 4, 5, 6)]
    assert all(entry.reason.startswith("line ") for entry in failed)
    assert {"s1/u0", "s1/u2"} <= set(follower.drafts)


def test_only_some_broken_lines_are_named_the_rest_is_counted(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").write_bytes(b"{broken\n" * 500)
    *named, last = Follower(tmp_path).look().ledger
    assert len(named) == 20
    assert "×500" in last.reason


@pytest.mark.parametrize("longer", [False, True])
def test_a_replaced_file_is_read_from_its_start(tmp_path: Path, longer: bool) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(transcript([("ask", "Chart the reefs"), ("say", "x " * 40)]))
    follower = Follower(tmp_path).look()
    other = [("ask", "Something else"), *([("say", "y " * 100)] * 3 if longer else [])]
    path.write_bytes(transcript(other, session="s2"))
    assert "s2/u0" in follower.look().drafts


def test_an_old_session_that_grows_again_is_read_again(tmp_path: Path) -> None:
    steps = [("ask", "Chart the reefs"), ("say", "There are seven reefs near the harbour.")]
    for number in range(40):
        name = f"s{number:02}"
        (tmp_path / f"{name}.jsonl").write_bytes(transcript(steps, session=name))
    follower = Follower(tmp_path).look()
    kept = [name for name, entry in follower.cursor["files"].items() if "state" in entry]
    assert len(kept) == 16
    for number in range(40):
        name = f"s{number:02}"
        grown = transcript([*steps, ("ask", "And the shoals")], session=name)
        (tmp_path / f"{name}.jsonl").write_bytes(grown)
    follower.look()
    expected = Follower(tmp_path).look()
    assert follower.drafts == expected.drafts
    assert sum(draft.kind == "user_prompt" for draft in follower.drafts.values()) == 80


def test_a_cursor_of_another_version_reads_from_the_start(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").write_bytes(transcript([("ask", "Chart the reefs")]))
    follower = Follower(tmp_path).look()
    (batch,) = look(tmp_path, {**follower.cursor, "version": 0})
    assert len(batch.drafts) == 2


def test_the_stored_cursor_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    steps = [("ask", "Chart the reefs"), ("read", "reefs.csv")]
    path.write_bytes(transcript(steps))
    cursor = Follower(tmp_path).look().cursor
    before = json.dumps(cursor)
    path.write_bytes(transcript([*steps, ("read", "shoals.csv")]))
    look(tmp_path, cursor)
    assert json.dumps(cursor) == before


def test_a_vanished_transcript_takes_no_record_with_it(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(transcript([("ask", "Chart the reefs")]))
    follower = Follower(tmp_path).look()
    path.unlink()
    (batch,) = look(tmp_path, follower.cursor)
    assert batch.deletions == ()
    assert batch.ledger == (
        LedgerEntry("s1.jsonl", "left", "the transcript no longer exists; its records stay"),
    )
    assert look(tmp_path, batch.cursor) == []


def test_links_to_files_and_observers_of_claude_mem_are_left(
    tmp_path: Path,
) -> None:
    root = tmp_path / "projects"
    outside = tmp_path / "outside"
    observers = root / "-home-ada--claude-mem-observer-sessions"
    for folder in (root, outside, observers):
        folder.mkdir()
        (folder / "s1.jsonl").write_bytes(transcript([("ask", f"In {folder.name} today")]))
    (root / "linked").symlink_to(outside)
    (root / "linked.jsonl").symlink_to(outside / "s1.jsonl")
    follower = Follower(root).look()
    left = {entry.item: entry.outcome for entry in follower.ledger}
    assert left == {
        "-home-ada--claude-mem-observer-sessions/s1.jsonl": "left",
        "linked/s1.jsonl": "taken",
        "linked.jsonl": "left",
        "s1.jsonl": "taken",
    }


def test_progress_is_in_bytes_of_all_files_and_batches_are_small(tmp_path: Path) -> None:
    steps = [("ask", f"Prompt number {number}") for number in range(500)]
    for name in ("s1", "s2"):
        (tmp_path / f"{name}.jsonl").write_bytes(transcript(steps, session=name))
    batches = look(tmp_path, {})
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert all(len(batch.drafts) <= 202 for batch in batches)
    assert sum(len(batch.drafts) for batch in batches) == 2 * 501
    assert [batch.done for batch in batches] == sorted(batch.done for batch in batches)
    assert (batches[-1].done, batches[-1].total) == (total, total)


def test_a_line_that_is_too_long_is_skipped_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mem_search.sources.claude_code.files.MAX_LINE_BYTES", 1000)
    data = transcript([("ask", "x" * 5000), ("ask", "Chart the reefs")])
    (tmp_path / "s1.jsonl").write_bytes(data)
    follower = Follower(tmp_path).look()
    assert [draft.kind for draft in follower.drafts.values()] == ["user_prompt", "session_summary"]
    assert follower.ledger[0].item == "s1.jsonl:1"
    assert follower.ledger[0].outcome == "failed"
    assert follower.look().drafts["s1/u1"].text == "Chart the reefs"


def test_transcripts_are_found_where_the_environment_says(tmp_path: Path) -> None:
    usual, other = tmp_path / ".claude" / "projects", tmp_path / "other" / "projects"
    usual.mkdir(parents=True)
    other.mkdir(parents=True)
    configured = {"CLAUDE_CONFIG_DIR": str(other.parent)}
    source = ClaudeCode()

    def found(environ: dict[str, str], home: Path = tmp_path) -> list[str]:
        machine = Machine(home=home, cwd=tmp_path, environ=environ)
        return [location.path for location in source.discover(machine)]

    assert found({}) == [str(usual)]
    assert found(configured) == [str(other)]
    assert found({}, home=tmp_path / "nobody") == []


def test_a_single_file_is_a_location(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(transcript([("ask", "Chart the reefs")]))
    assert set(Follower(path).look().drafts) == {"s1/u0", "s1/summary"}


def test_a_missing_location_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nowhere"):
        look(tmp_path / "nowhere", {})


def test_text_that_cannot_be_stored_is_made_storable(tmp_path: Path) -> None:
    data = transcript([("ask", "a \ud800\x00\x1b[31mred\x1b[0m")])
    (tmp_path / "s1.jsonl").write_bytes(data)
    assert Follower(tmp_path).look().drafts["s1/u0"].text == "a ?red"
