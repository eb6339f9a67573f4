"""Judge what the claude-code source makes of real sessions: types, decisions, failed commands.

A step is right when the observation of that time has the type that a person gave it. A decision is
found when a decision was recorded at that line. A failed command is found when a record has the
command, its exit code, and words of the error in its title or first line. Beside what was judged,
every modified file and every failed command of all transcripts is asked for (``capture_search``).
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import capture_written
from capture_search import asked
from stores import SHARED, folder, options, write_json

from mem_search import sources
from mem_search.model import Draft, Location
from mem_search.sources.agent_work.events import MAIN, Line, ToolCall, ToolResult
from mem_search.sources.claude_code.lines import parse_line

JUDGED = Path(__file__).parent / "capture.toml"
DATA = SHARED / "transcripts" / "claude-code"
BARS = {"types": 0.8, "decisions": 0.9, "failed": 1.0, "files": 1.0, "commands": 1.0}


def drafts_of(root: Path) -> list[Draft]:
    """Everything that the source reads below ``root``."""
    batches = sources.by_name("claude-code").read(Location("claude-code", str(root)), {})
    return [draft for batch in batches for draft in batch.drafts]


def _decided(draft: Draft) -> bool:
    return draft.metadata.get("type") == "decision"


def _line_of(decision: Draft) -> str:
    """The line at which it was recorded, of ``SESSION/LINE/decision/2`` or ``LINE/decision``."""
    return re.sub(r"/decision(?:/\d+)?$", "", decision.source_id).rpartition("/")[2]


class Judged:
    """One transcript with what a person said about it."""

    def __init__(self, path: Path, drafts: list[Draft], judgements: Mapping[str, Any]) -> None:
        with path.open(encoding="utf-8") as file:
            self.lines = {n: parse_line(json.loads(raw), n) for n, raw in enumerate(file, 1)}
        first = next(line for line in self.lines.values() if line.events)
        self.name, self.judgements = path.stem, judgements
        self.records = [
            draft
            for draft in drafts
            if draft.session == first.session
            and (draft.metadata.get("agent", MAIN) == first.agent or draft.kind != "observation")
        ]

    def work(self, line: Line) -> Draft | None:
        """The observation of the step of work that ``line`` belongs to."""
        at = line.at or 0
        during = [
            draft
            for draft in self.records
            if draft.kind == "observation"
            and "/work" in draft.source_id
            and (draft.created_at or 0) <= at <= (draft.updated_at or 0)
        ]
        return during[-1] if during else None

    def types(self) -> Iterator[tuple[str, str, str, str]]:
        """Of each judged step: place, wanted, found, title."""
        for wanted, numbers in self.judgements.get("steps", {}).items():
            for number in numbers:
                found = self.work(self.lines[number])
                kind = str(found.metadata["type"]) if found else "none"
                yield f"{self.name[:8]}:{number}", wanted, kind, found.title if found else ""

    def decisions(self) -> Iterator[tuple[str, bool]]:
        """Of each judged decision: place, whether it was recorded."""
        uuids = {_line_of(draft) for draft in self.records if _decided(draft)}
        for number in self.judgements.get("decisions", ()):
            yield f"{self.name[:8]}:{number}", self._answer_of(number).uuid in uuids

    def undecided(self) -> Iterator[tuple[str, bool]]:
        """Of each sentence that chooses nothing: place, whether it was left alone."""
        uuids = {_line_of(draft) for draft in self.records if _decided(draft)}
        for number in self.judgements.get("undecided", ()):
            yield f"{self.name[:8]}:{number}", self.lines[number].uuid not in uuids

    def wrongly_decided(self) -> list[str]:
        """The lines where a decision was recorded and a person saw none, by place and title."""
        may = [*self.judgements.get("decisions", ()), *self.judgements.get("either", ())]
        judged = {self._answer_of(number).uuid for number in may}
        numbers = {line.uuid: number for number, line in self.lines.items()}
        recorded = {_line_of(d): d.title for d in self.records if _decided(d)}
        return [
            f"{self.name[:8]}:{numbers[uuid]}: {title}"
            for uuid, title in recorded.items()
            if uuid not in judged
        ]

    def _answer_of(self, number: int) -> Line:
        """The line itself, or the answer of the call that it makes."""
        calls = [event.call for event in self.lines[number].events if isinstance(event, ToolCall)]
        for line in self.lines.values():
            for event in line.events:
                if isinstance(event, ToolResult) and event.call in calls:
                    return line
        return self.lines[number]

    def failures(self, key: str) -> Iterator[tuple[str, bool, str]]:
        """Of each failed command (or rejected call): place, whether it was recorded, as what."""
        given = self.judgements.get(key, ())
        judged = given if isinstance(given, Mapping) else dict.fromkeys(given, "")
        for number, words in judged.items():
            line = self.lines[int(number)]
            (answer,) = [e for e in line.events if isinstance(e, ToolResult)][:1]
            command = self._command(answer.call)
            code = answer.text.partition("Exit code ")[2][:3].split("\n")[0].strip()
            found = self.work(line)
            lines = found.metadata.get(key, []) if found else []
            said = [
                each
                for each in lines
                if command[:60] in each
                and words in each
                and (not code or f"exit code {code}:" in each)
            ]
            first = key == "rejected" or any(
                found and each in found.text.split("\n\n", 1)[0] for each in lines
            )
            yield f"{self.name[:8]}:{number}", bool(said and first), " | ".join(lines)[:160]

    def _command(self, call: str) -> str:
        for line in self.lines.values():
            for event in line.events:
                if isinstance(event, ToolCall) and event.call == call:
                    return " ".join(str(event.arguments.get("command", "")).split())
        return ""

    def open_work(self) -> tuple[bool, bool] | None:
        """Whether the summary should and does name next steps."""
        if "open" not in self.judgements:
            return None
        summary = next(draft for draft in self.records if draft.kind == "session_summary")
        return self.judgements["open"], bool(summary.metadata.get("next_steps"))


def written(quiet: bool) -> None:
    """Print the figures of the written sessions; of those held out never more than the figures."""
    for part, path in (
        ("looked at", capture_written.LOOKED_AT),
        ("held out", capture_written.HELD_OUT),
    ):
        with folder() as place:
            paths = [
                (each.write(place), each.judgements)
                for each in capture_written.sessions(path.read_text("utf-8"))
            ]
            drafts = drafts_of(place)
            files = [Judged(path, drafts, judgements) for path, judgements in paths]
        if part == "looked at" and not quiet:
            _tell(files)
        print(f"written, {part}:", figures(files))


def figures(files: list[Judged]) -> str:
    """Of each judged matter how many are right, and how many recorded decisions are none."""
    found = {
        "types": [wanted == kind for file in files for _, wanted, kind, _ in file.types()],
        "decisions": [found for file in files for _, found in file.decisions()],
        "no_decision": [left for file in files for _, left in file.undecided()],
        "failed": [found for file in files for _, found, _ in file.failures("failed")],
        "rejected": [found for file in files for _, found, _ in file.failures("rejected")],
    }
    right = sum(found["decisions"])
    wrong = sum(len(file.wrongly_decided()) for file in files)
    recall = right / len(found["decisions"]) if found["decisions"] else 1.0
    precision = right / (right + wrong) if right else 0.0
    counts = ", ".join(f"{name} {sum(of)} of {len(of)}" for name, of in found.items() if of)
    rates = f"recall {recall:.3f}, precision {precision:.3f}"
    return f"{counts}; {wrong} recorded as a decision and none: {rates}"


def _tell(files: list[Judged]) -> None:
    for file in files:
        for place, wanted, found, title in file.types():
            if wanted != found:
                print(f"  type {place}: {wanted}, read as {found}: {title}")
        for place, is_found in file.decisions():
            if not is_found:
                print(f"  decision {place}: not recorded")
        for place in file.wrongly_decided():
            print(f"  decision {place}: recorded, and is none")
        for key in ("failed", "rejected"):
            for place, is_found, lines in file.failures(key):
                if not is_found:
                    print(f"  failure {place}: {lines or 'not recorded'}")


def main() -> int:
    parser = options("capture", __doc__, "json", data="with the transcripts", default=DATA)
    parser.add_argument("--quiet", action="store_true", help="only the figures")
    parser.add_argument("--written", action="store_true", help="only the written sessions")
    args = parser.parse_args()
    written(args.quiet)
    if args.written:
        return 0
    judgements = tomllib.loads(JUDGED.read_text("utf-8"))
    drafts = drafts_of(args.data)
    files = [Judged(args.data / f"{name}.jsonl", drafts, of) for name, of in judgements.items()]
    types = [each for file in files for each in file.types()]
    decisions = [each for file in files for each in file.decisions()]
    failed = [each for file in files for each in file.failures("failed")]
    rejected = [each for file in files for each in file.failures("rejected")]
    left_open = [each for file in files if (each := file.open_work())]
    found_by_search, missing = asyncio.run(asked(args.data))
    if not args.quiet:
        for question in missing:
            print(f"  not found: {question}")
        _tell(files)
    recorded = sum(map(_decided, drafts))
    right = sum(found for _, found in decisions)
    report = {
        "types": round(sum(w == f for _, w, f, _ in types) / len(types), 3),
        "decisions": round(right / len(decisions), 3),
        "decisions_judged_of_recorded": round(right / recorded, 3) if recorded else 0.0,
        "failed": sum(found for _, found, _ in failed) / len(failed),
        "rejected": sum(found for _, found, _ in rejected) / len(rejected),
        "open_work": sum(wanted == found for wanted, found in left_open) / len(left_open),
        **found_by_search,
    }
    kinds = Counter(str(d.metadata.get("type")) for d in drafts if d.kind == "observation")
    print(f"{len(types)} steps, {len(decisions)} decisions, {len(failed)} failed commands")
    print(", ".join(f"{name} {value:g}" for name, value in report.items()))
    print("observations: " + ", ".join(f"{n} {name}" for name, n in kinds.most_common()))
    write_json(args.json, report)
    return int(any(report[name] < bar for name, bar in BARS.items()))


if __name__ == "__main__":
    sys.exit(main())
