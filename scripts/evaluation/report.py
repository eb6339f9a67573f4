"""``scripts/evaluate SET --report FILE.html``: what was done with judged and with shown records.

Every question is asked once more, of hybrid search, with the stages of its ranking observed. For
each leg the page has the rank and the score, for each stage that changed something the place after
it, and what it added. The page is one file without a network; ``report.html`` shows what is here
written into it as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from dataset import METRICS, Dataset, Query
from systems import Product

from mem_search.model import Filters, Record
from mem_search.search.state import RankingState, Stage
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.wiring import Runtime

PAGE: Final = Path(__file__).with_name("report.html")
SHOWN_TEXT: Final = 300
"""Characters of a record."""

_RECORDS_AT_ONCE: Final = 500


@dataclass
class Observed:
    """The state after each stage of the last ranking, by the name of the stage."""

    states: dict[str, RankingState] = field(default_factory=dict)

    def stages(self, stages: Sequence[Stage]) -> list[Stage]:
        """``stages`` that are observed."""

        def observed(stage: Stage, is_first: bool) -> Callable[[RankingState], RankingState]:
            def apply(state: RankingState) -> RankingState:
                if is_first:
                    self.states = {}
                self.states[stage.name] = after = stage.apply(state)
                return after

            return apply

        return [replace(each, apply=observed(each, each is stages[0])) for each in stages]


async def ask(
    runtime: Runtime, data: Dataset, product: Product, observed: Observed, scope: str
) -> list[dict[str, Any]]:
    """Each question of ``data`` with its metrics, and what was done with each record."""
    records = {each.source_id: each for each in await runtime.search.store.read(_all_records)}
    found = []
    for query in data.queries:
        observed.states = {}
        ranked = await product.search(query.text, query.project if scope == "own" else "")
        metrics = data.judge(ranked, query)
        legs, columns, rows = movements(observed.states, records, query, ranked)
        found.append(
            {
                "id": query.id,
                "text": query.text,
                "project": query.project,
                "metrics": {name: round(metrics[name], 4) for name in METRICS},
                "legs": legs,
                "stages": columns,
                "records": rows,
                "answered": all(state.is_answered for state in observed.states.values()),
            }
        )
    return found


def movements(
    states: Mapping[str, RankingState],
    records: Mapping[str, Record],
    query: Query,
    ranked: Sequence[str],
) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """Legs, the stages that changed a place or a score, and a row for each judged or shown record.

    A row has for each leg ``[rank, score]`` and for each of these stages ``[place, score]``; a
    place is null where the record is not found, a rank where the leg does not list it.
    """
    ids = [each for each in dict.fromkeys([*ranked, *query.relevant]) if each in records]
    numbers = [records[each].number for each in ids]
    last = next(reversed(states.values()), None)
    legs = list(last.legs) if last else []
    places = {name: _places(state, numbers) for name, state in states.items()}
    before: list[list[Any]] = []
    columns = []
    for name, now in places.items():
        if now != before:
            columns.append(name)
        before = now
    rows = []
    for at, each in enumerate(ids):
        record, row = records[each], _row(last, numbers[at])
        rows.append(
            {
                "id": each,
                "kind": record.kind,
                "title": record.title,
                "text": record.text[:SHOWN_TEXT],
                "gain": query.relevant.get(each, 0),
                "page": ranked.index(each) + 1 if each in ranked else None,
                "relevance": None if last is None else _at(last.relevance, row),
                "legs": [_of_leg(last, name, row) for name in legs],
                "stages": [places[name][at] for name in columns],
            }
        )
    return legs, columns, rows


def _places(state: RankingState, numbers: Sequence[int]) -> list[list[Any]]:
    """``[place, score]`` of each of ``numbers`` in ``state``."""
    if state.hits:
        place = {hit.number: at for at, hit in enumerate(state.hits, 1)}
        score = {hit.number: round(hit.score, 3) for hit in state.hits}
    else:
        rows, total = state.rows, state.total
        order = rows[np.argsort(-total[rows], kind="stable")].tolist()
        known = state.union.records.tolist()
        place = {known[row]: at for at, row in enumerate(order, 1)} if state.parts else {}
        score = {known[row]: round(float(total[row]), 3) for row in order}
        if not state.parts:  # nothing has a score yet: only whether it is found
            place = dict.fromkeys(score, 0)
    return [[place.get(each), score.get(each)] for each in numbers]


def _row(state: RankingState | None, number: int) -> int | None:
    found = [] if state is None else np.flatnonzero(state.union.records == number).tolist()
    return found[0] if found else None


def _at(values: Any, row: int | None) -> float | None:
    return None if row is None or values is None else round(float(values[row]), 3)


def _of_leg(state: RankingState | None, name: str, row: int | None) -> list[Any]:
    if state is None or row is None:
        return [None, None]
    score = float(state.legs[name].scores[row])
    return [int(state.legs[name].ranks[row]) or None, None if score != score else round(score, 3)]


def _all_records(snapshot: SearchSnapshot) -> list[Record]:
    numbers = snapshot.matching(Filters()).tolist()
    found: list[Record] = []
    for start in range(0, len(numbers), _RECORDS_AT_ONCE):
        found += snapshot.records(numbers[start : start + _RECORDS_AT_ONCE]).values()
    return found


def stored_run(against: Path, scope: str) -> dict[str, dict[str, Any]]:
    """Question → its line of an earlier run.

    ``against`` is the file that ``--json`` wrote beside ``--per-query``, or the folder of that.
    Raises ValueError with what is missing.
    """
    folder = against
    if against.is_file():
        named = json.loads(against.read_text("utf-8")).get("per_query", "")
        if not named:
            raise ValueError(f"{against} names no answers: it was written without --per-query")
        folder = against.parent / named
    file = folder / f"{scope}-hybrid.jsonl"
    if not file.is_file():
        raise ValueError(f"{file} does not exist; write it with --per-query {folder}")
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    return {line["query"]: line for line in lines}


def write(
    file: Path,
    title: str,
    questions: Sequence[dict[str, Any]],
    before: Mapping[str, Mapping[str, Any]] | None = None,
    settings: Mapping[str, str] = {},
) -> None:
    """Write the page; with ``before``, those that became worse come first."""
    for each in questions:
        if before and (old := before.get(each["id"])):
            each["before"] = {name: round(old[name], 4) for name in METRICS}
            each["ranked_before"] = old["ranked"]
    content = {
        "title": title,
        "settings": {name: value for name, value in settings.items() if value},
        "compared": before is not None,
        "questions": questions,
    }
    # In a script element only "</" and "<!--" would be read as HTML.
    written = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    page = PAGE.read_text("utf-8").replace('"THE DATA"', written, 1)
    file.write_text(page, "utf-8")
