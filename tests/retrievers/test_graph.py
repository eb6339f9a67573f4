"""The graph leg over a real store: rankings, filters, the knowledge cloud."""

from __future__ import annotations

from drafts import draft, search_store
from drafts import store as stored
from mem_search.model import Draft, Filters, Link, Ref
from mem_search.retrievers.graph import cloud, expand, related
from mem_search.storage.sqlite.database import Database
from mem_search.storage.store import SearchStore

#   spec(1) <- plan(2) <- work(3) <- review(4)      mail(5) -> spec(1)      alone(6)
DRAFTS: tuple[Draft, ...] = (
    draft("spec", title="The specification"),
    draft("plan", links=(Link("spec", "implements"),)),
    draft("work", links=(Link("plan", "implements"),)),
    draft("review", "It was\n  fine.", links=(Link("work", "reviews"),)),
    draft("mail", kind="email", links=(Link("spec", "cites"),)),
    draft("alone"),
)


async def filled(database: Database) -> SearchStore:
    await database.write(stored, *DRAFTS)
    return search_store(database)


async def test_seeds_lead_to_their_neighbours_best_first(database: Database) -> None:
    store = await filled(database)
    found = await store.read(expand, {1: 1.0}, depth=2)
    assert [candidate.record for candidate in found.ranking.candidates] == [2, 5, 1, 3]
    assert found.ranking.candidates[0].score == 1.0
    assert {(c.kind, c.is_code) for c in found.ranking.candidates} == {
        ("note", False),
        ("email", False),
    }
    assert all(candidate.passage for candidate in found.ranking.candidates)
    assert set(found.scores) == {1, 2, 3, 5}


async def test_a_filter_holds_before_the_limit(database: Database) -> None:
    store = await filled(database)
    filters = Filters(kinds=("email",))
    found = await store.read(expand, {5: 1.0}, depth=5, limit=1, filters=filters)
    assert not len(found.ranking.candidates)
    notes = await store.read(expand, {1: 1.0}, depth=5, limit=3, filters=Filters(kinds=("note",)))
    assert [candidate.record for candidate in notes.ranking.candidates] == [2, 3, 1]


async def test_no_seed_or_a_seed_without_edges_leads_to_nothing(database: Database) -> None:
    store = await filled(database)
    for seeds in ({}, {6: 1.0}, {999: 1.0}):
        found = await store.read(expand, seeds)
        assert (len(found.ranking.candidates), dict(found.scores)) == (0, {})
        assert len((await store.read(cloud, found, 5)).nodes) == (6 in seeds)


async def test_a_record_that_two_seeds_lead_to_ranks_first(database: Database) -> None:
    store = await filled(database)
    found = await store.read(expand, {1: 1.0, 3: 1.0}, depth=1)
    assert found.ranking.candidates[0].record == 2


async def test_the_surroundings_of_a_record_are_nodes_and_edges(database: Database) -> None:
    store = await filled(database)
    picture = await store.read(related, 1, depth=3, limit=3)
    assert [(str(node.ref), node.depth) for node in picture.nodes] == [
        ("note:1", 0), ("note:2", 1), ("email:5", 1), ("note:3", 2),
    ]  # fmt: skip
    assert picture.nodes[0].title == "The specification"
    assert [(str(e.start), e.relation, str(e.end), e.origin) for e in picture.edges] == [
        ("note:2", "implements", "note:1", "given"),
        ("note:3", "implements", "note:2", "given"),
        ("email:5", "cites", "note:1", "given"),
    ]
    assert (picture.seed_count, picture.reached) == (1, 4)
    whole = await store.read(related, 1, depth=3, relations=["implements"])
    assert [str(node.ref) for node in whole.nodes] == ["note:1", "note:2", "note:3"]


async def test_relationships_say_what_a_result_is_tied_to(database: Database) -> None:
    store = await filled(database)
    found = await store.read(lambda snapshot: snapshot.relationships([1, 6], Filters()))
    assert [(item.to, item.relation) for item in found[1]] == [
        (Ref("email", 5), "cites"),
        (Ref("note", 2), "implements"),
    ]
    assert found[6] == ()
