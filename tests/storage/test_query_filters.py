"""Demands of a query as SQL: equal to checking each record for its words."""

import sqlite3
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drafts import draft, in_memory, store
from mem_search.model import (
    AllOf,
    AnyOf,
    Condition,
    DateRange,
    Demand,
    Draft,
    Filters,
    Not,
    Term,
)
from mem_search.records.registry import installed_kinds
from mem_search.storage.sql import records
from mem_search.storage.sqlite import words
from mem_search.storage.sqlite.filters import FILTERS
from mem_search.storage.sqlite.filters import FILTERS as SQL
from mem_search.storage.sqlite.words import SqliteVocabulary, WordList
from mem_search.text.dates import from_iso
from mem_search.text.query.demands import canonical
from mem_search.text.query.parse import read
from mem_search.text.words import any_of

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
WORDS = ("zap", "kit", "lom", "vex", "dun", "登录", "问题")
"""The stemmer leaves these as they are."""
KINDS = ("note", "email", "observation")


def numbers(connection: sqlite3.Connection, demand: Demand | None) -> set[int]:
    return set(
        records.browse(
            connection, SQL.where(connection, Filters(demand=demand)), "date_asc", 1000, 0
        )
    )


def found(connection: sqlite3.Connection, text: str) -> list[str]:
    """Source ids of the records that pass what the text demands."""
    wild = read(text, now=NOW, kinds=installed_kinds()).wild
    near = SqliteVocabulary(connection, WordList()).expand(wild)
    demand = read(text, now=NOW, kinds=installed_kinds(), near=near).demand
    known = records.fetch(connection, sorted(numbers(connection, demand)))
    return [record.source_id for record in known.values()]


def test_a_record_has_both_words_in_whatever_passage(connection: sqlite3.Connection) -> None:
    filler = "\n\n".join(f"Paragraph {i} about something else entirely." for i in range(200))
    store(
        connection,
        draft("far", f"The zap begins.\n\n{filler}\n\nThe kit ends.", title="Long"),
        draft("titled", "The kit alone.", title="A zap"),
        draft("one", "Only the zap."),
    )
    assert connection.execute("select count(*) from passages").fetchone()[0] > 3
    assert found(connection, "zap AND kit") == ["far", "titled"]
    assert found(connection, "+zap -kit") == ["one"]


def test_fields_hold_beside_words(connection: sqlite3.Connection) -> None:
    store(
        connection,
        draft("a", "zap", project="web", tags=("x",), created_at=from_iso("2025-10-03")),
        draft("b", "zap", project="api", kind="email", created_at=from_iso("2025-11-19")),
        draft("c", "kit", project="web", metadata={"archived": True}, created_at=0),
    )
    assert found(connection, "+zap project:WEB") == ["a"]
    assert found(connection, "project:web,api") == ["a", "b", "c"]
    assert found(connection, "kind:emails") == ["b"]
    assert found(connection, "tag:x OR is:archived") == ["a", "c"]
    assert found(connection, "since:yesterday") == ["b"]
    assert found(connection, 'in:"last October"') == ["a"]
    assert found(connection, "before:2025 OR (zap AND after:2025-11-01)") == ["b", "c"]
    assert found(connection, "-is:archived -project:api") == ["a"]


def test_identifiers_are_demanded_whole(connection: sqlite3.Connection) -> None:
    store(
        connection,
        draft("whole", "see src/store.py, ABC-123, don't, a::b and snake_case in SessionStore"),
        draft("parts", "store the py src; 123 ABC; case of a snake; the session of a store; b a"),
    )
    for text in ("+src/store.py", "+ABC-123", "+snake_case", "+don't", "+a::b", "+SessionStore"):
        assert found(connection, text) == ["whole"], text
    assert found(connection, "session AND store") == ["whole", "parts"]


def test_a_day_is_compared_as_a_whole(connection: sqlite3.Connection) -> None:
    days = {"before": "2025-10-02", "in": "2025-10-03T15:00:00Z", "after": "2025-10-04"}
    store(connection, *(draft(name, metadata={"due": day}) for name, day in days.items()))
    assert found(connection, "meta.due<2025-10-03") == ["before"]
    assert found(connection, "meta.due<=2025-10-03") == ["before", "in"]
    assert found(connection, "meta.due>=2025-10-03") == ["in", "after"]
    assert found(connection, "meta.due>2025-10-03") == ["after"]


def test_chinese_japanese_and_korean_words_are_demanded_and_excluded(
    connection: sqlite3.Connection,
) -> None:
    store(
        connection,
        draft("zh", "我们修复了登录问题并添加了缓存"),
        draft("ja", "検索エンジンの設計"),
        draft("ko", "데이터베이스를 고쳤다"),
    )
    assert found(connection, "登录 AND 缓存") == ["zh"]
    assert found(connection, "+录") == ["zh"]
    assert found(connection, "-登录") == ["ja", "ko"]
    assert found(connection, '"登录问题" OR エンジン') == ["zh", "ja"]
    assert found(connection, "+데이터*") == ["ko"]


def test_a_prefix_finds_words_whose_stem_is_shorter(connection: sqlite3.Connection) -> None:
    store(
        connection,
        draft("a", "authentication by stories"),
        draft("b", "an author of a story"),
        draft("c", "a rune, and nothing that was running"),
        draft("d", "a rune in SessionStore"),
    )
    assert found(connection, "+auth*") == ["a", "b"]
    assert found(connection, "+authenti*") == ["a"]
    assert found(connection, "+stor*") == ["a", "b", "d"]
    assert found(connection, "+running*") == ["c"]
    assert found(connection, "+nosuch*") == []


def test_a_misspelling_finds_its_neighbours(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "authentication"), draft("b", "token"), draft("c", "taken"))
    assert found(connection, "+authentcation~") == ["a"]
    assert found(connection, "+tokne~") == ["b"]
    assert found(connection, "+token~") == ["b", "c"]
    assert found(connection, "+xyzzyx~") == []


def test_a_wildcard_finds_words_with_the_same_beginning_part_or_end(
    connection: sqlite3.Connection,
) -> None:
    store(
        connection,
        draft("a", "a research of years"),
        draft("b", "MemSearch is a search"),
        draft("c", "Größe and Länge", title="width height"),
    )
    assert found(connection, "+*search") == ["a", "b"]
    assert found(connection, "+*searc") == []
    assert found(connection, "+mem*rch") == ["b"]
    assert found(connection, "+*ear*") == ["a", "b"]
    assert found(connection, "+*ÖSS*") == []
    assert found(connection, "+*röß*") == ["c"]
    assert found(connection, "is:active -*search") == ["c"]
    assert found(connection, "+*nosuch*") == []
    assert found(connection, "+width*height") == ["c"]  # its parts, where it stands for no word


def test_it_can_be_asked_whether_any_record_passes(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "the vector index", project="web"))
    here, nowhere = Term(("vector", "index")), Term(("index", "vector"))
    assert FILTERS.matches_any(connection, Filters(demand=here))
    assert not FILTERS.matches_any(connection, Filters(demand=nowhere))
    assert not FILTERS.matches_any(connection, Filters(demand=here, project="api"))


TERMS = st.one_of(
    st.sampled_from(WORDS).map(lambda word: Term((word,))),
    st.tuples(st.sampled_from(WORDS[:5]), st.sampled_from(WORDS[:5])).map(Term),
)
CONDITIONS = st.sampled_from(
    (
        Condition("project:web", (Filters(project="web"),)),
        Condition("tag:x,y", (Filters(tags=("x",)), Filters(tags=("y",)))),
        Condition("kind:note", (Filters(kinds=("note",)),)),
        Condition("since:2025-11-19", (Filters(created=DateRange(from_iso("2025-11-19"))),)),
    )
)
DEMANDS: st.SearchStrategy[Demand] = st.recursive(
    st.one_of(TERMS, CONDITIONS),
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
    ),
    max_leaves=6,
)
DRAFTS = st.lists(
    st.builds(
        draft,
        source_id=st.uuids().map(str),
        text=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
        title=st.lists(st.sampled_from(WORDS), max_size=2).map(" ".join),
        project=st.sampled_from(("web", "api", "")),
        tags=st.lists(st.sampled_from("xyz"), max_size=2, unique=True).map(tuple),
        kind=st.sampled_from(KINDS),
        created_at=st.sampled_from((0, from_iso("2025-11-19"), from_iso("2025-11-20"))),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda each: each.source_id,
)


def holds(demand: Demand, each: Draft) -> bool:
    """The same by plain Python, over the words of one record."""
    match demand:
        case Term():
            wanted = list(demand.words)
            return any(
                wanted == words[i : i + len(wanted)]
                for words in (each.text.split(), each.title.split())
                for i in range(len(words))
            )
        case Condition("project:web"):
            return each.project == "web"
        case Condition("tag:x,y"):
            return bool({"x", "y"} & set(each.tags))
        case Condition("kind:note"):
            return each.kind == "note"
        case Condition():
            return (each.created_at or 0) >= from_iso("2025-11-19")
        case Not():
            return not holds(demand.of, each)
        case AllOf():
            return all(holds(part, each) for part in demand.of)
        case AnyOf():
            return any(holds(part, each) for part in demand.of)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DRAFTS, st.lists(DEMANDS, min_size=1, max_size=8))
def test_a_demand_holds_for_exactly_the_records_that_have_its_words(
    drafts: list[Draft], wanted: list[Demand]
) -> None:
    connection = in_memory()
    stored = store(connection, *drafts)
    for demand in wanted:
        expected = {
            one.number for one, each in zip(stored, drafts, strict=True) if holds(demand, each)
        }
        assert numbers(connection, demand) == expected
        assert sum(
            records.counts(connection, SQL.where(connection, Filters(demand=demand))).values()
        ) == len(expected)
        again = read(canonical(demand), now=NOW, kinds=installed_kinds()).demand
        assert numbers(connection, again) == expected
    connection.close()


PIECES = (
    *("AND", "OR", "NOT", "-", "+", "(", ")", '"', "*", "~", ":", ",", "`", " ", " ", "type:"),
    *("before:", "file:", "project:", "zap", "kit", "za", "登录", "录", "😀", "\x00", "\u202e"),
    *("\ud800", "\udfff", "İ", "%", "_", "'", "\\", "\U0001e922", "e\u0301", "\u0d4d", "²"),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=15).map("".join), max_size=50))
def test_any_text_is_a_valid_query(texts: list[str]) -> None:
    connection = in_memory()
    store(connection, draft("a", "zap 登录 kit"), draft("b", "kit", project="web"))
    for text in texts:
        found(connection, text)
        reading = read(text, now=NOW, kinds=installed_kinds())
        if query := any_of(reading.words):
            words.scores(connection, query)
    connection.close()
