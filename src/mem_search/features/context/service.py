"""The briefing: what an agent gets from memory without asking, ranked for its situation.

An agent that gets a list of titles believes that it has seen everything, and searches hardly ever.
So a briefing has the few records that its situation calls for, and says how many more there are.
Records come from an agent's own work and its person's own words: what others wrote (mail, web
pages, files), and what reads like instructions, is counted and never given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mem_search.errors import InputError
from mem_search.model import Filters, Record, SearchRequest
from mem_search.model.projects import EXACTLY, ProjectPlace
from mem_search.model.requests import ResultTexts
from mem_search.patterns import pattern
from mem_search.records.origin import is_given
from mem_search.search.service import UNLOGGED, SearchService
from mem_search.storage.sql.records import Records
from mem_search.text.embedded_data import without_data


@dataclass(frozen=True, slots=True)
class Situation:
    """Where an agent works. ``projects`` are exact names, its own first; ``files`` are at hand.

    Those of its ``session`` are at hand, too. ``facets`` are those of ``Filters``.
    """

    projects: tuple[str, ...]
    branch: str = ""
    files: tuple[str, ...] = ()
    session: str = ""
    prompt: str = ""
    facets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record of a briefing: its score, and the reasons for it, the heaviest first."""

    record: Record
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Briefing:
    """The candidates, best first. ``total`` records are known of the projects, ``on_branch`` of
    them of the branch, and ``matching`` of them match the prompt, None without a prompt. ``newest``
    is when the newest was made, in ms since 1970.
    """

    situation: Situation
    total: int = 0
    on_branch: int = 0
    matching: int | None = None
    newest: int | None = None
    candidates: tuple[Candidate, ...] = ()


DAY_MS: Final = 86_400_000
HALF_LIFE_DAYS: Final = 7.0
"""After so many days a record counts half; people come back to work within a week or so."""

MIN_PROMPT_CHARS: Final = 20
"""Characters. "Yes, go on" asks for nothing that memory could know."""

_MAX_PROMPT_CHARS: Final = 1_000
_MAX_CANDIDATES: Final = {
    "session_summary": 10,
    "decision": 20,
    "observation": 60,
    "file": 30,
    "prompt": 10,
}
"""Candidates of each sort that are read."""

_WEIGHTS: Final = {"prompt": 2.0, "file": 1.5, "branch": 0.6, "session_summary": 0.8}
_TYPE_WEIGHTS: Final = {"decision": 0.6, "bugfix": 0.2}
"""What a reason counts beside recency, which counts at most 1: chosen by order of importance (the
prompt, then the files at hand, the branch, and what was decided), not measured."""

_WORK: Final = ("session_summary", "observation")
_FILE_FIELDS: Final = ("files_modified", "files_edited", "files_read")
_NO_WORD: Final = pattern(r"[^\w\s]+")


async def brief(
    records: Records, service: SearchService, situation: Situation, now: int, *, more: int = 1
) -> Briefing:
    """The briefing for ``situation`` at ``now`` (ms since 1970); ``more`` times the candidates."""
    seen: dict[int, Record] = {}
    ranks: dict[int, int] = {}
    total = on_branch = 0
    newest: list[int] = []
    totals: list[int] = []
    for project in situation.projects:
        base = Filters(project=project and f"{EXACTLY}{project}", facets=situation.facets)
        page, count = await records.page(base, "date_desc", 1, 0)
        total += count
        newest += [record.created_at for record, _ in page]
        if not count:
            continue
        if situation.branch:
            branch = replace(base, facets=(*base.facets, ("branch", situation.branch)))
            on_branch += (await records.page(branch, "date_desc", 1, 0))[1]
        current = replace(base, superseded=False)
        files = await _files_at_hand(records, situation, base)
        wanted = [
            (replace(current, kinds=("session_summary",)), "session_summary"),
            (replace(current, kinds=("observation",), types=("decision",)), "decision"),
            (replace(current, kinds=("observation",)), "observation"),
        ]
        if files:
            wanted.append((replace(current, kinds=_WORK, files=files), "file"))
        for filters, sort in wanted:
            for record in await records.newest(filters, _MAX_CANDIDATES[sort] * more):
                seen[record.number] = record
        situation = replace(situation, files=tuple(dict.fromkeys((*situation.files, *files))))
        if len(situation.prompt.strip()) >= MIN_PROMPT_CHARS:
            request = SearchRequest(
                words_of(situation.prompt), base,
                limit=_MAX_CANDIDATES["prompt"], as_words=("all",),
                texts=ResultTexts(snippets=False),
            )  # fmt: skip
            answer = await service.search(request, UNLOGGED, current=True)
            totals.append(answer.total)
            relevant = (each.record for each in answer.relevant)
            for rank, record in enumerate(r for r in relevant if r.superseded_by is None):
                seen[record.number], ranks[record.number] = record, rank
    return Briefing(
        situation, total, on_branch, sum(totals) if totals else None, max(newest, default=None),
        ranked(filter(is_given, seen.values()), situation, now, ranks),
    )  # fmt: skip


async def project_name(records: Records, name: str, place: ProjectPlace | None = None) -> str:
    """The exact name of the project that is called ``name``, or is the one of ``place``.

    Empty where another project has the name of the folder. Raises InputError where several are
    called so: what an agent gets is of one.
    """
    if place is not None and (project := await records.project_at(place)) is not None:
        return project.name
    several = [each for each in await records.projects_meant(name) if each]
    if len(several) > 1 and place is None:
        listed = ", ".join(f'"{each}"' for each in several[1:])
        raise InputError(f"{name!r} are several projects: {listed}; name one", field="project")
    return (
        "" if place is not None and await records.is_project(name) else name.removeprefix(EXACTLY)
    )


def ranked(
    records: Iterable[Record], situation: Situation, now: int, ranks: Mapping[int, int]
) -> tuple[Candidate, ...]:
    """``records`` as candidates, the best first; ``ranks`` is number → rank for the prompt."""
    scored = []
    for record in records:
        kind, kind_type = record.kind, str(record.metadata.get("type", ""))
        counted = {
            "prompt": _WEIGHTS["prompt"] / (1 + 0.2 * ranks[record.number])
            if record.number in ranks
            else 0.0,
            "file": _WEIGHTS["file"] * _touches(record, situation.files),
            "branch": _WEIGHTS["branch"]
            * bool(situation.branch and record.metadata.get("branch") == situation.branch),
            kind: _WEIGHTS.get(kind, 0.0),
            kind_type: _TYPE_WEIGHTS.get(kind_type, 0.0),
            "recent": 0.5 ** (max(0, now - record.created_at) / DAY_MS / HALF_LIFE_DAYS),
        }
        reasons = sorted((name for name in counted if counted[name]), key=lambda r: -counted[r])
        scored.append(Candidate(record, sum(counted.values()), tuple(reasons)))
    return tuple(sorted(scored, key=lambda c: (-c.score, -c.record.created_at, -c.record.number)))


def words_of(prompt: str) -> str:
    """The words of a prompt, without anything that the query language would read."""
    return " ".join(_NO_WORD.sub(" ", without_data(prompt)[:_MAX_PROMPT_CHARS].lower()).split())


async def _files_at_hand(records: Records, situation: Situation, base: Filters) -> tuple[str, ...]:
    """The files given, and those that the session has changed so far."""
    if not situation.session:
        return situation.files
    of_session = replace(base, kinds=_WORK, session=situation.session)
    changed = [
        path
        for record in await records.newest(of_session, _MAX_CANDIDATES["file"])
        for path in _paths(record, _FILE_FIELDS[:2])
    ]
    return tuple(dict.fromkeys((*situation.files, *changed)))[: _MAX_CANDIDATES["file"]]


def _touches(record: Record, files: Sequence[str]) -> float:
    """1 for a record that changed one of ``files``, less for one that read it, 0 for neither."""
    if not files:
        return 0.0
    changed = any(_same(path, file) for path in _paths(record, _FILE_FIELDS[:2]) for file in files)
    read = any(_same(path, file) for path in _paths(record, _FILE_FIELDS[2:]) for file in files)
    return 1.0 if changed else 0.5 if read else 0.0


def _paths(record: Record, fields: Sequence[str]) -> list[str]:
    values = [record.metadata.get(name) for name in fields]
    return [each for value in values if isinstance(value, list) for each in value if each]


def _same(path: str, other: str) -> bool:
    """Whether two paths name one file: equal, or one is the end of the other."""
    path, other = path.replace("\\", "/"), other.replace("\\", "/")
    return path == other or path.endswith(f"/{other}") or other.endswith(f"/{path}")
