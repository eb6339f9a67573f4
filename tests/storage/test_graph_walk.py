"""Neighbours and walks: stored edges both ways, sessions, shared things, filters, bounds."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drafts import draft, in_memory, store
from mem_search.model import Draft, Filters, Link, Ref
from mem_search.storage.rules.graph import FOLLOWS, MAX_FILES, MAX_MEMBERS, SAME_SESSION
from mem_search.storage.sqlite.snapshot import GRAPH


def touching(source_id: str, *files: str, project: str = "web") -> Draft:
    metadata = {"files_modified": list(files)}
    return draft(source_id, kind="observation", project=project, metadata=metadata)


def ties(connection: sqlite3.Connection, number: int) -> dict[tuple[int, int, str], float]:
    return {
        (edge.start, edge.end, edge.relation): round(edge.strength, 3)
        for edge in GRAPH.neighbours(connection, [number])
    }


def chain(connection: sqlite3.Connection, length: int, **fields: str) -> None:
    """1 <- 2 <- 3 <- …"""
    for number in range(1, length + 1):
        store(connection, draft(f"c{number}", links=(Link(f"c{number - 1}"),), **fields))


def test_an_edge_is_seen_from_both_ends(connection: sqlite3.Connection) -> None:
    store(connection, draft("a"), draft("b", links=(Link("a", "cites"),)))
    expected = {(2, 1, "cites"): 1.0}
    assert ties(connection, 1) == ties(connection, 2) == expected


def test_a_conversation_ties_what_follows_and_its_summary(connection: sqlite3.Connection) -> None:
    turns = [
        draft(f"t{n}", kind="user_prompt", session="s", project="web") for n in range(4)
    ]  # numbers 1 to 4
    summary = draft("s", kind="session_summary", session="s", project="web")
    other = draft("o", kind="session_summary", session="s", project="api")
    store(connection, *turns, summary, other)
    assert ties(connection, 2) == {
        (2, 1, "follows"): FOLLOWS,
        (3, 2, "follows"): FOLLOWS,
        (2, 5, "same_session"): SAME_SESSION,
    }
    assert {pair[0] for pair in ties(connection, 5)} == {1, 2, 3, 4}
    assert ties(connection, 6) == {}


def test_a_shared_file_ties_less_the_more_records_have_it(connection: sqlite3.Connection) -> None:
    store(connection, touching("a", "x.py"), touching("b", "x.py"))
    assert ties(connection, 1) == {(1, 2, "same_file"): 0.1}
    store(connection, touching("c", "x.py"), touching("d", "x.py"))
    assert ties(connection, 1)[1, 2, "same_file"] == 0.033
    store(connection, *(touching(f"e{n}", "x.py") for n in range(MAX_MEMBERS)))
    assert ties(connection, 1) == {}


def test_several_shared_files_tie_more_than_one(connection: sqlite3.Connection) -> None:
    store(connection, touching("a", "x.py", "y.py"), touching("b", "x.py", "y.py"))
    assert ties(connection, 1) == {(1, 2, "same_file"): 0.19}


def test_a_file_is_another_one_in_another_project_unless_its_path_is_absolute(
    connection: sqlite3.Connection,
) -> None:
    store(
        connection,
        touching("a", "x.py", "/etc/app.conf"),
        touching("b", "x.py", project="api"),
        touching("c", "/etc/app.conf", project="api"),
        touching("d", "x.py", project=""),
        touching("e", "x.py", project=""),
    )
    assert ties(connection, 1) == {(1, 3, "same_file"): 0.1}
    assert ties(connection, 4) == {}


def test_a_record_of_very_many_files_is_about_none_of_them(connection: sqlite3.Connection) -> None:
    files = [f"f{n}.py" for n in range(MAX_FILES + 1)]
    store(connection, touching("a", *files), touching("b", files[0]))
    assert ties(connection, 1) == {}


def test_a_file_named_in_a_text_ties_to_records_that_touched_it(
    connection: sqlite3.Connection,
) -> None:
    store(connection, touching("a", "src/x.py"), draft("b", "see src/x.py", project="web"))
    assert ties(connection, 2) == ties(connection, 1) == {(1, 2, "same_file"): 0.1}


def test_a_file_that_a_record_touched_and_names_ties_it_once(
    connection: sqlite3.Connection,
) -> None:
    files = {"files_read": ["src/x.py"]}
    both = draft("a", "see src/x.py", kind="observation", project="web", metadata=files)
    store(connection, both, touching("b", "src/x.py"))
    assert ties(connection, 2) == ties(connection, 1) == {(1, 2, "same_file"): 0.1}
    (edge,) = GRAPH.neighbours(connection, [1, 2])
    assert edge.strength == pytest.approx(0.1)


def test_an_issue_that_two_records_mention_ties_them(connection: sqlite3.Connection) -> None:
    store(
        connection,
        draft("a", "fixes #12", project="web"),
        draft("b", "see GH-12", project="web"),
        draft("c", "see #12", project="api"),
    )
    assert ties(connection, 1) == {(1, 2, "same_issue"): 0.12}


def test_relations_can_be_chosen(connection: sqlite3.Connection) -> None:
    store(connection, draft("a"), draft("b", links=(Link("a", "cites"), Link("a", "quotes"))))
    (edge,) = GRAPH.neighbours(connection, [1], relations=["quotes"])
    assert edge.relation == "quotes"
    assert GRAPH.walk(connection, [1], 2, relations=["follows"]).depths == {1: 0}


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_a_walk_has_the_requested_depth(connection: sqlite3.Connection, depth: int) -> None:
    chain(connection, 8)
    walk = GRAPH.walk(connection, [1], depth)
    assert walk.depths == {number: number - 1 for number in range(1, depth + 2)}
    assert len(walk.edges) == depth


def test_a_walk_does_not_pass_through_what_is_filtered_out(connection: sqlite3.Connection) -> None:
    chain(connection, 2)
    store(connection, draft("e", kind="email", links=(Link("c2"),)))
    store(connection, draft("n", links=(Link("e"),)))
    assert set(GRAPH.walk(connection, [1], 5).depths) == {1, 2, 3, 4}
    assert set(GRAPH.walk(connection, [1], 5, filters=Filters(kinds=("note",))).depths) == {1, 2}


PARTS = st.sampled_from(
    ["#1", "#2", "src/a.py", "note:3", "[[r4]]", "https://example.org/r5", "0a1b2c3", "`a_b`", ""]
)
DRAFTS = st.lists(
    st.builds(
        dict,
        kind=st.sampled_from(["note", "email", "session_summary"]),
        session=st.sampled_from(["", "s"]),
        words=st.lists(PARTS, max_size=4).map(" ".join),
        links=st.lists(st.integers(0, 9), max_size=2),
        page=st.booleans(),
    ),
    min_size=2,
    max_size=10,
)


@given(DRAFTS, st.integers(1, 4))
@settings(deadline=None)
def test_a_filtered_walk_is_the_walk_over_the_filtered_store(
    given_drafts: list[dict[str, Any]], depth: int
) -> None:
    connection = in_memory()
    for n, each in enumerate(given_drafts):
        metadata = {"commit": "0a1b2c3d"} if n == 6 else {}
        store(
            connection,
            draft(
                f"r{n}",
                f"{n} {each['words']}",
                title=f"r{n}",
                kind=each["kind"],
                project="p",
                session=each["session"],
                url=f"https://example.org/r{n}" if each["page"] else "",
                links=tuple(Link(f"r{to}") for to in each["links"]),
                metadata=metadata,
            ),
        )
    filters = Filters(kinds=("note", "session_summary"))
    seeds = [
        number
        for (number,) in connection.execute("select id from records where kind != 'email' limit 2")
    ]
    filtered = GRAPH.walk(connection, seeds, depth, filters=filters)
    connection.execute("delete from records where kind = 'email'")
    assert GRAPH.walk(connection, seeds, depth) == filtered
    connection.close()


def test_a_walk_keeps_the_most_strongly_tied_records(connection: sqlite3.Connection) -> None:
    store(connection, draft("hub", "note:2 is about src/x.py", project="web"))
    store(connection, *(draft(f"w{n}", f"see note:1, {n}", project="web") for n in range(9)))
    store(connection, draft("strong", links=(Link("hub"),)))
    walk = GRAPH.walk(connection, [1], 1, most=3)
    assert set(walk.depths) == {1, 2, 11}


def test_relationships_are_listed_for_both_records(connection: sqlite3.Connection) -> None:
    store(connection, draft("a"), draft("b", "see note:1", kind="email", links=(Link("a"),)))
    found = GRAPH.relationships(connection, [1, 2])
    assert [(str(r.to), r.relation, r.strength) for r in found[1]] == [
        ("email:2", "related", 1.0),
        ("email:2", "mentions", 0.9),
    ]
    assert {r.to for r in found[2]} == {Ref("note", 1)}
    assert GRAPH.relationships(connection, [1], Filters(kinds=("note",))) == {1: ()}
