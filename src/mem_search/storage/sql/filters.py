"""Filters as SQL: the one place that decides which records a search may return.

``FilterSql.where`` gives a condition over ``records r`` with its parameters, used unchanged by
every leg, by browsing, counting and deleting, so that no leg can see a different corpus. Names
compare by ``folded_name``. How lists, names, words and JSON are compared is each engine's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from mem_search.model import AllOf, AnyOf, Condition, Demand, Filters, MetadataTest, Not, Term
from mem_search.model.requests import Scope
from mem_search.storage.sql.connection import Connection, Repository, reads, writes
from mem_search.storage.sql.projects import names_meant
from mem_search.text.words import AnyWords, WordPhrase, WordQuery, is_cjk, known_word, runs_of

Sql = tuple[str, list[Any]]
"""A condition with its parameters."""

EVERYTHING: Final = "true"
"""The condition of filters that leave nothing out."""

DAY_CHARS: Final = len("2025-10-03")
"""Characters of a date without a time."""


class FilterSql(ABC):
    """Filters → a condition. An engine says how it compares."""

    like: ClassVar[str]
    """How it compares with a pattern that ignores case; a backslash makes a wildcard literal."""
    like_exactly: ClassVar[str]
    """The same for letters of CJK, which have no case."""
    text: ClassVar[str]
    """The type of text in JSON."""
    has: ClassVar[str]
    """The condition of a value that says something."""
    is_word: ClassVar[str]
    """The condition of a truth value, or of null, that is written so."""

    @abstractmethod
    def among(self, column: str, values: Collection[str]) -> Sql:
        """``column`` has one of ``values``."""

    @abstractmethod
    def same(self, connection: Any, column: str, values: Collection[str]) -> Sql:
        """``column``, of records or facets, has one of these names, in whatever case."""

    @abstractmethod
    def alike(self, connection: Any, column: str, pattern: str) -> Sql:
        """``column``, of facets, is a name like ``pattern``, in whatever case."""

    @abstractmethod
    def words(self, connection: Any, term: Term) -> Sql:
        """The index of words has ``term``."""

    @abstractmethod
    def in_metadata(self, name: str, held: Sql) -> Sql:
        """A value of the field, or of its list, meets ``held``, a condition over ``v``."""

    @abstractmethod
    def number(self, sign: str) -> str:
        """The comparison of a number with a parameter."""

    @abstractmethod
    def time(self, sign: str, bound: str) -> str:
        """The comparison of a date, in milliseconds, with ``bound``."""

    def where(self, connection: Any, filters: Filters) -> Sql:
        """A condition over ``records r`` (``EVERYTHING`` without filters) and its parameters.

        Words that a record has to have may be looked up at once, in the same snapshot.
        """
        terms: list[Sql] = []

        def add(term: str, *parameters: Any) -> None:
            terms.append((term, list(parameters)))

        if filters.kinds:
            terms.append(self.among("r.kind", filters.kinds))
        if filters.project:
            # Many tools write project names in different cases; no two differ in case only.
            names = names_meant(connection, filters.project)
            terms.append(self.same(connection, "r.project", names))
        if filters.session:
            add("r.session = %s", filters.session)
        if filters.source:
            add("r.source = %s", filters.source)
        spans = {
            "created_at": filters.created,
            "updated_at": filters.updated,
            "stored_at": filters.stored,
        }
        for column, span in spans.items():
            if span.start is not None:
                add(f"r.{column} >= %s", span.start)
            if span.end is not None:
                add(f"r.{column} <= %s", span.end)
        if filters.importance is not None:
            add("r.importance >= %s", filters.importance)
        if filters.archived is not None:
            add("r.archived = %s", filters.archived)
        if filters.superseded is not None:
            add(f"r.superseded_by is {'not ' if filters.superseded else ''}null")
        for condition, parameters in self.facets(connection, filters):
            add(
                f"exists (select 1 from facets x where x.record_id = r.id and {condition})",
                *parameters,
            )
        if filters.url:
            add(f"r.url {self.like}", f"%{any_letters(filters.url)}%")
        terms += [self._metadata(test) for test in filters.metadata]
        if filters.without:
            add("r.id != all(%s::bigint[])", list(filters.without))
        if filters.demand is not None:
            terms.append(self.demand(connection, filters.demand))
        return " and ".join(term for term, _ in terms) or EVERYTHING, [
            value for _, values in terms for value in values
        ]

    def passing(self, connection: Any, records: Collection[int], filters: Filters) -> set[int]:
        """Those of ``records`` that are within ``filters``."""
        condition, values = self.where(connection, filters)
        if condition == EVERYTHING or not records:
            return set(records)
        return set(
            connection.column(
                f"select r.id from records r where r.id = any(%s::bigint[]) and {condition}",
                (list(records), *values),
            )
        )

    def matches_any(self, connection: Connection, filters: Filters) -> bool:
        """Whether any record is within ``filters``."""
        condition, values = self.where(connection, filters)
        row = connection.one(f"select exists (select 1 from records r where {condition})", values)
        return bool(row[0])

    def demand(self, connection: Any, demand: Demand) -> Sql:
        """The condition of words and fields that a query combines."""
        match demand:
            case Term():
                if demand.column and any(map(is_cjk, demand.words)):
                    # The index holds these characters apart from title and text.
                    column = "r.title" if demand.column == "title" else "r.body"
                    pattern = f"%{literally(' '.join(demand.words))}%"
                    return f"{column} {self.like_exactly}", [pattern]
                return self.words(connection, demand)
            case Condition():
                parts = [self.where(connection, filters) for filters in demand.any_of]
                return _joined(" or ", parts) if parts else ("false", [])
            case Not():
                inside, values = self.demand(connection, demand.of)
                return f"not {inside}", values
            case AllOf():
                return _joined(" and ", [self.demand(connection, part) for part in demand.of])
            case AnyOf():
                return _joined(" or ", [self.demand(connection, part) for part in demand.of])

    def facets(self, connection: Any, filters: Filters) -> list[Sql]:
        """Conditions over ``facets x``, with their parameters: a record needs a facet for each."""
        conditions = [
            self._facet(connection, name, values)
            for name, values in (
                ("type", filters.types),
                ("concept", filters.concepts),
                ("tag", filters.tags),
            )
            if values
        ]
        conditions += [self._facet(connection, name, (value,)) for name, value in filters.facets]
        if filters.any_facets:
            conditions.append(
                _joined(
                    " or ",
                    [self._facet(connection, name, (value,)) for name, value in filters.any_facets],
                )
            )
        if filters.files:
            condition, values = _joined(
                " or ", [self._path(connection, file.removeprefix("./")) for file in filters.files]
            )
            conditions.append(
                (f"x.name in ('file_read', 'file_modified', 'path') and {condition}", values)
            )
        return conditions

    def _facet(self, connection: Any, name: str, values: Collection[str]) -> Sql:
        condition, parameters = self.same(connection, "x.value", values)
        return f"x.name = %s and {condition}", [name, *parameters]

    def _path(self, connection: Any, file: str) -> Sql:
        """A path matches whole or after a separator: ``auth.py`` finds ``src/auth.py``.

        ``src/`` is everything below such a folder, ``src/*`` what lies directly in it.
        """
        alike = partial(self.alike, connection, "x.value")
        end = literally(file.removesuffix("*").lstrip("/"))
        if file.endswith("/"):
            return _joined(" or ", [alike(f"{literally(file)}%"), alike(f"%/{end}%")])
        if file.endswith("/*"):
            start = literally(file.removesuffix("*"))
            below = [(f"{start}%", f"{start}%/%"), (f"%/{end}%", f"%/{end}%/%")]
            return _joined(
                " or ",
                [_joined(" and not ", [alike(inside), alike(deeper)]) for inside, deeper in below],
            )
        return _joined(" or ", [self.same(connection, "x.value", (file,)), alike(f"%/{end}")])

    def _metadata(self, test: MetadataTest) -> Sql:
        held = self.value_condition(test)
        alternatives = [self.in_metadata(name, held) for name in test.names]
        if test.test == "has":  # tags and derived facets are not in the metadata
            condition, names = self.among("x.name", test.names)
            alternatives.append(
                (
                    f"exists (select 1 from facets x where x.record_id = r.id and {condition})",
                    names,
                )
            )
        return _joined(" or ", alternatives)

    def value_condition(self, test: MetadataTest) -> Sql:
        """The condition of ``test`` over ``v``, a value of JSON with its type."""
        if test.test == "has":
            return self.has, []
        text = f"v.type = '{self.text}' and v.value {self.like}"
        if test.test == "contains":
            return text, [f"%{any_letters(test.value)}%"]
        if test.test == "is":
            alternatives = [text, self.is_word]
            values: list[Any] = [any_letters(test.value), test.value]
            if test.bounds is not None:
                above, least = self._compared(test, ">=", 0)
                below, most = self._compared(test, "<=", 1)
                alternatives.append(f"{above} and {below}")
                values += [*least, *most]
            return " or ".join(alternatives), values
        # After a day means after its end, before a day before its beginning.
        return self._compared(test, test.test, int(test.test in (">", "<=")))

    def _compared(self, test: MetadataTest, sign: str, place: int) -> Sql:
        """The comparison of ``v`` with the first (0) or the last bound (1)."""
        assert test.bounds is not None
        bound = test.bounds[place]
        if test.days is None:
            return self.number(sign), [bound]
        of_day = f"case when length(v.value) <= {DAY_CHARS} then %s else %s end"
        return self.time(sign, of_day), [test.days[place], bound]


def _joined(operator: str, parts: Sequence[Sql]) -> Sql:
    return (
        f"({operator.join(f'({inside})' for inside, _ in parts)})",
        [value for _, values in parts for value in values],
    )


def any_letters(text: str) -> str:
    """``text`` for LIKE, where ``*`` stands for any letters."""
    return literally(text).replace("*", "%")


def literally(text: str) -> str:
    """``text`` with the wildcards of LIKE taken literally."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def word_query(term: Term) -> WordQuery:
    """The query that a passage with ``term``, a word that it has to have, matches."""
    exact = WordPhrase(term.words)
    if term.form == "exact":
        return exact
    word = "_".join(term.words)
    known = term.near or ((f"{word}*",) if term.form == "prefix" else ())
    alternatives = dict.fromkeys(map(known_word, known))
    if term.form == "wildcard" and not alternatives:
        alternatives = {WordPhrase(runs_of(word)): None}
    if term.form == "fuzzy":
        alternatives = {exact: None, **alternatives}
    return AnyWords(tuple(alternatives))


NAMED: Final = 'lower(name) = lower(%(name)s::text collate "C")'
"""Of a table whose names ignore the case of ASCII letters."""


class Scopes(Repository):
    """Filters with a name; upper and lower case name the same scope."""

    @writes
    def put(self, connection: Connection, scope: Scope) -> Scope:
        """Store the scope; an existing one keeps its spelling and its time."""
        return Scope(
            *connection.one(
                "insert into scopes(name, filter, created_at) values(%s, %s, %s)"
                " on conflict(owner, lower(name)) do update set filter = excluded.filter"
                " returning name, filter, created_at",
                (scope.name, scope.filter, scope.created_at),
            )
        )

    @reads
    def get(self, connection: Connection, name: str) -> Scope | None:
        row = connection.maybe(
            f"select name, filter, created_at from scopes where {NAMED}", {"name": name}
        )
        return Scope(*row) if row else None

    @reads
    def listed(self, connection: Connection) -> list[Scope]:
        """All scopes by name."""
        return scopes(connection)

    @writes
    def remove(self, connection: Connection, name: str) -> bool:
        """Delete a scope; False when there was none."""
        return bool(
            connection.execute(f"delete from scopes where {NAMED}", {"name": name}).rowcount
        )


def scopes(connection: Connection) -> list[Scope]:
    """All scopes, by name."""
    rows = connection.execute("select name, filter, created_at from scopes order by lower(name)")
    return [Scope(*row) for row in rows]
