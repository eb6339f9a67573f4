"""Edges between records, and which record supersedes which by them.

An edge points at a name (``key``). ``to_id`` is the record with this name, null while there is
none. The transaction that stores a record resolves both directions.

An edge ``supersedes`` or ``superseded_by`` is a claim; claims decide ``records.superseded_by``. A
given link always counts; a statement in a text counts only within its project. Of several claims on
a record, given ones come first, then the newest successor. In a circle of claims the newest record
is current.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mem_search.model.ingest import NewEdge
from mem_search.patterns import pattern
from mem_search.storage.sql.connection import Connection

_COMMIT: Final = "commit:"
_MIN_HASH_CHARS: Final = 7
_MAX_HASH_CHARS: Final = 64
_REF: Final = "ref:"
_NUMBER: Final = pattern("[0-9]{1,18}")


def write(
    connection: Connection,
    records: Sequence[tuple[int, Sequence[NewEdge], Iterable[str], int]],
) -> None:
    """Write the edges and names of records that have none yet (``clear`` removes old ones).

    Each of ``records`` is its number, edges, names, and when it was made.
    """
    rows: dict[tuple[int, str, str, str], tuple[NewEdge, int]] = {}
    for number, edges, _, created in records:
        for e in edges:  # of equal ones the first counts
            rows.setdefault((number, e.target, e.relation, e.origin), (e, created))
    connection.insert(
        "edges",
        (
            "from_id bigint", "target text", "relation text", "origin text", "key text",
            "strength float8", "created_at bigint",
        ),
        [(*same, e.key, e.strength, created) for same, (e, created) in rows.items()],
        "on conflict do nothing",
    )  # fmt: skip
    citing = {same: e.cites for same, (e, _) in rows.items() if e.cites}
    if citing:
        ids = connection.execute(
            "select id, from_id, target, relation, origin from edges where from_id = any(%s)",
            ([number for number, *_ in citing],),
        )
        connection.many(
            "insert into cites(edge_id, place_start, place_end, context_start, context_end, form)"
            " values(%s, %s, %s, %s, %s, %s) on conflict do nothing",
            [
                (edge, c.start, c.end, c.context_start, c.context_end, c.form)
                for edge, *same in ids
                for c in citing.get(tuple(same), ())
            ],
        )
    connection.insert(
        "names",
        ("name text", "record_id bigint"),
        [(name, number) for number, _, names, _ in records for name in names],
        "on conflict do nothing",
    )


def clear(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove the edges and names of records before they are written again; edges to them wait."""
    wanted = (list(numbers),)
    connection.execute("delete from edges where from_id = any(%s)", wanted)
    connection.execute("delete from names where record_id = any(%s)", wanted)
    connection.execute("update edges set to_id = null where to_id = any(%s)", wanted)


def resolve(connection: Connection, numbers: Sequence[int]) -> None:
    """Resolve the edges from these records, and waiting edges that point at them."""
    if not numbers:
        return
    names = connection.column(
        "select name from names where record_id = any(%(numbers)s)"
        " union all select 'ref:' || kind || ':' || id from records where id = any(%(numbers)s)",
        {"numbers": list(numbers)},
    )
    # The plus keeps SQLite from the index of ``to_id``: edges that wait may be millions.
    unresolved = "select id, from_id, key from edges where +to_id is null and key != ''"
    waiting = connection.execute(
        f"{unresolved} and from_id = any(%s) union {unresolved} and key = any(%s::text[])",
        (list(numbers), [*names, *_shortened(names)]),
    ).fetchall()
    if not waiting:
        return
    holders = _holders(connection, {key for _, _, key in waiting})
    ends_of = {number for records in holders.values() for number in records}
    places = {
        number: (source, project)
        for number, source, project in connection.execute(
            "select id, source, project from records where id = any(%s)",
            ([*ends_of, *{start for _, start, _ in waiting}],),
        )
    }
    targets: dict[int, int] = {}
    for edge, start, key in waiting:
        source, project = places[start]
        others = [number for number in holders.get(key, ()) if number != start]
        if others:
            # One of the same source, then of the same project, then the first that was stored.
            targets[edge] = min(
                others, key=lambda n: (places[n][0] != source, places[n][1] != project, n)
            )
    connection.assign("edges", "to_id", targets)


def _holders(connection: Connection, keys: Collection[str]) -> dict[str, set[int]]:
    """The records that each of ``keys`` may mean: by their names, or by a ref."""
    holders: dict[str, set[int]] = {}
    refs = {key for key in keys if key.startswith(_REF)}
    numbers = [int(end) for key in refs if _NUMBER.fullmatch(end := key.rpartition(":")[2])]
    for number, kind in connection.execute(
        "select id, kind from records where id = any(%s)", (numbers,)
    ):
        if (key := f"{_REF}{kind}:{number}") in refs:
            holders.setdefault(key, set()).add(number)
    commits = [key for key in keys if key.startswith(_COMMIT)]
    named = connection.execute(
        "select name, name, record_id from names where name = any(%s::text[])",
        ([key for key in keys if key not in refs and not key.startswith(_COMMIT)],),
    ).fetchall()
    if commits:  # a shortened commit hash names every commit that begins with it
        named += connection.execute(
            # The cross join keeps this order, for both engines the index of names.
            "select k.hash, n.name, n.record_id from unnest(%s::text[]) k(hash)"
            " cross join names n where n.name >= k.hash and n.name < k.hash || 'g'",
            (commits,),
        ).fetchall()
    for key, _, number in named:
        holders.setdefault(key, set()).add(number)
    return holders


def _shortened(names: Iterable[str]) -> list[str]:
    """The shorter names of the commits among ``names``: a beginning of its hash names it, too."""
    prefix = len(_COMMIT)
    return [
        name[: prefix + length]
        for name in names
        if name.startswith(_COMMIT)
        for length in range(_MIN_HASH_CHARS, min(len(name) - prefix, _MAX_HASH_CHARS))
    ]


_MAX_STEPS: Final = 32
"""Steps that a search follows from a record to its successors."""

_FORWARD: Final = ("supersedes", "replaces")
_BACKWARD: Final = ("superseded_by", "replaced_by")

_RELATION: Final = "lower(replace(replace(e.relation, '-', '_'), ' ', '_'))"
_CLAIM: Final = f"""
    select e.from_id, e.to_id, {_RELATION} in {_FORWARD}, e.origin = 'given',
        f.created_at, t.created_at
    from edges e join records f on f.id = e.from_id join records t on t.id = e.to_id
    where {_RELATION} in {_FORWARD + _BACKWARD}
    and (e.origin = 'given' or (f.project != '' and f.project = t.project))
"""


class Claim(NamedTuple):
    """``new`` supersedes ``old``; the best claim on a record is the greatest."""

    old: int
    given: bool
    created_at: int
    new: int


def claimed_with(connection: Connection, numbers: Collection[int]) -> set[int]:
    """Records that claim one of ``numbers``; their successions change with those records."""
    return _ends(_claims(connection, numbers))


def settle_successions(connection: Connection, numbers: Collection[int]) -> None:
    """Recompute who supersedes ``numbers`` and every record that claims connect to them."""
    successors = _successors(numbers, lambda each: _claims(connection, each))
    connection.assign("records", "superseded_by", successors)


def chains(
    connection: Connection,
    numbers: Collection[int],
    passing: Callable[[Collection[int]], set[int]],
) -> dict[int, tuple[int, ...]]:
    """The superseded ones of ``numbers``, each with its successors, the nearest first.

    Only through records that are ``passing``: a filtered search ignores all others.
    """
    if not numbers:
        return {}
    successors: dict[int, list[int]] = {}
    for old, new in connection.execute(
        "with recursive later(old, new, step) as ("
        " select id, superseded_by, 1 from records"
        "  where superseded_by is not null and id = any(%(numbers)s)"
        " union all select l.old, r.superseded_by, l.step + 1 from later l"
        "  join records r on r.id = l.new"
        "  where r.superseded_by is not null and l.step < %(farthest)s)"
        " select old, new from later order by old, step",
        {"numbers": list(numbers), "farthest": _MAX_STEPS},
    ):
        successors.setdefault(old, []).append(new)
    if not successors:
        return {}
    within = passing({new for later in successors.values() for new in later})
    return {old: later for old, each in successors.items() if (later := _up_to(old, each, within))}


def _claims(connection: Connection, numbers: Collection[int]) -> set[Claim]:
    """Every valid claim with one of ``numbers`` at either end."""
    rows = connection.execute(
        f"{_CLAIM} and e.from_id = any(%(numbers)s) union {_CLAIM} and e.to_id = any(%(numbers)s)",
        {"numbers": list(numbers)},
    )
    return {
        Claim(end, bool(given), start_at, start)
        if forward
        else Claim(start, bool(given), end_at, end)
        for start, end, forward, given, start_at, end_at in rows
    }


def _ends(claims: Iterable[Claim]) -> set[int]:
    """The records of claims."""
    return {end for claim in claims for end in (claim.old, claim.new)}


def _successors(
    numbers: Iterable[int], claims_of: Callable[[Collection[int]], set[Claim]]
) -> dict[int, int | None]:
    """Each of ``numbers``, and every record that claims connect to them, with its successor.

    ``claims_of`` reads the valid claims with one of some records at either end.
    """
    waiting = set(numbers)
    known = set(waiting)
    claims: set[Claim] = set()
    while waiting:
        their_claims = claims_of(waiting)
        claims |= their_claims
        waiting = _ends(their_claims) - known
        known |= waiting
    best: dict[int, Claim] = {}
    for claim in sorted(claims):
        best[claim.old] = claim
    successor = {old: claim.new for old, claim in best.items()}
    dates = {claim.new: claim.created_at for claim in claims}
    for newest in _newest_of_circles(successor, dates):
        del successor[newest]
    return {number: successor.get(number) for number in known}


def _newest_of_circles(successor: Mapping[int, int], dates: Mapping[int, int]) -> list[int]:
    newest: list[int] = []
    seen: set[int] = set()
    for start in successor:
        path: list[int] = []
        at: int | None = start
        while at is not None and at not in seen:
            seen.add(at)
            path.append(at)
            at = successor.get(at)
        if at in path:
            circle = path[path.index(at) :]
            newest.append(max(circle, key=lambda number: (dates[number], number)))
    return newest


def _up_to(old: int, later: Iterable[int], within: set[int]) -> tuple[int, ...]:
    """``later`` up to the first that is not ``within``, or to a repetition."""
    chain: list[int] = []
    for number in later:
        if number == old or number in chain or number not in within:
            break
        chain.append(number)
    return tuple(chain)
