"""Values of filters that no record has, each with the nearest one that records have.

Projects, types, sources, tags and the like are open sets: a value without records is no error, and
the reply names it, because it is mostly a slip.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mem_search.model import Condition, Filters, SearchPage
from mem_search.storage.ports.search import SearchSnapshot
from mem_search.text import spelling
from mem_search.text.dates import clipped
from mem_search.text.query import demands

Value = tuple[str, str, Filters]
"""A field, a value, and the filter for that value alone."""

MAX_CHECKED: Final = 32
"""Values of one search that are looked up."""


def is_suspect(page: SearchPage, filters: Filters) -> bool:
    """Whether a value of ``filters`` may be without records.

    A single value is known when something was found. One of several, an excluded one, or one with a
    star changes nothing where it is unknown.
    """
    values = list(_asked(filters, wanted=True))
    fields = [field for field, _, _ in values]
    return (
        bool(not page.total and (values or any(_paths(filters))))
        or len(set(fields)) < len(fields)
        or any("*" in value for _, value, _ in values)
        or next(_asked(filters, wanted=False), None) is not None
    )


def notices(snapshot: SearchSnapshot, filters: Filters) -> tuple[str, ...]:
    """A notice for each value of ``filters`` that no record has."""
    asked = dict.fromkeys((*_asked(filters, wanted=True), *_asked(filters, wanted=False)))
    found = []
    for field, value, alone in list(asked)[:MAX_CHECKED]:
        if len(snapshot.matching(alone)):
            continue
        near = spelling.closest(value, snapshot.values_of(field))
        meant = f"; nearest: {clipped(near)}" if near else ""
        star = f"; {field} takes the whole value, * stands for itself" if "*" in value else ""
        found.append(f"no record has {field} {clipped(value)}{star}{meant}")
    for path in list(dict.fromkeys(_paths(filters)))[:MAX_CHECKED]:
        is_file = len(snapshot.matching(Filters(files=(path,))))
        if not is_file and len(snapshot.matching(Filters(files=(f"{path}/",)))):
            found.append(f"{clipped(path)} is a folder; for what is below it: path:{path}/")
    return tuple(found)


def _paths(filters: Filters) -> Iterator[str]:
    """The paths asked for that name no folder, since ``/`` or ``*`` at their end would."""
    asked = [*filters.files]
    if filters.demand is not None:
        for leaf, positive in demands.leaves(filters.demand):
            if isinstance(leaf, Condition) and positive:
                asked += [path for each in leaf.any_of for path in each.files]
    yield from (path for path in asked if not path.endswith(("/", "*")))


def _asked(filters: Filters, *, wanted: bool) -> Iterator[Value]:
    """The values that a record must have (``wanted``), or must not have."""
    if wanted:
        yield from _values(filters)
    if filters.demand is None:
        return
    for leaf, positive in demands.leaves(filters.demand):
        if isinstance(leaf, Condition) and positive == wanted:
            # What a surface translates, such as all sources of agents, nobody has written.
            named = (value for each in leaf.any_of for value in _values(each))
            yield from (value for value in named if value[1].lower() in leaf.text.lower())


def _values(filters: Filters) -> Iterator[Value]:
    if filters.project:
        yield "project", filters.project, Filters(project=filters.project)
    if filters.session:
        yield "session", filters.session, Filters(session=filters.session)
    if filters.source:
        yield "source", filters.source, Filters(source=filters.source)
    for value in filters.types:
        yield "type", value, Filters(types=(value,))
    for value in filters.tags:
        yield "tag", value, Filters(tags=(value,))
    for value in filters.concepts:
        yield "concept", value, Filters(concepts=(value,))
    for name, value in filters.facets:
        yield name, value, Filters(facets=((name, value),))
    names = {name for name, _ in filters.any_facets}
    if len(names) == 1:
        yield *filters.any_facets[0], Filters(any_facets=filters.any_facets)
