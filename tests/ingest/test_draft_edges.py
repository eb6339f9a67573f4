"""The edges and names of a draft; pure."""

from __future__ import annotations

from typing import Any

from drafts import draft
from mem_search.ingest.edges import (
    CITED_STRENGTH,
    MAX_MENTIONS,
    STATED_STRENGTH,
    STRENGTH,
    edges_of,
    names_of,
)
from mem_search.model import Draft, Link
from mem_search.model.ingest import NewEdge

Facets = tuple[tuple[str, str], ...]


def found(draft: Draft, facets: Facets = (), *, source_code: bool = False) -> tuple[NewEdge, ...]:
    return edges_of(draft, facets, names_of(draft, facets), source_code=source_code)


def keys(text: str, facets: Facets = (), **fields: Any) -> dict[str, str]:
    """key → relation."""
    fields = {"project": "Web", **fields}
    return {edge.key: edge.relation for edge in found(draft("x", text, **fields), facets)}


def test_the_words_before_a_mention_say_the_relation() -> None:
    assert keys(
        "Fixes #1. Closes: #2 and touches #3; supersedes #4, follow-up to #5."
        " This reverts commit 0a1b2c3."
    ) == {
        "issue:web#1": "fixes",
        "issue:web#2": "fixes",
        "issue:web#3": "mentions",
        "issue:web#4": "supersedes",
        "issue:web#5": "follows",
        "commit:0a1b2c3": "reverts",
    }
    (stated, said) = found(draft("x", "fixes #1, #2", project="web"), ())
    assert (stated.strength, said.strength) == (STATED_STRENGTH, STRENGTH["issue"])


def test_an_issue_is_the_same_however_it_is_written() -> None:
    text = "#7, GH-7, someone/web#7, https://github.com/other/Web/issues/7#comment"
    assert keys(text) == {"issue:web#7": "mentions"}
    assert keys("#7", project="someone/web") == {"issue:web#7": "mentions"}
    assert keys("#7 in src/a.py with `a_symbol`", project="") == {}


def test_files_that_the_record_is_known_to_have_touched_are_no_mentions() -> None:
    assert keys("Files: src/a.py, src/b.py", (("file_modified", "src/a.py"),)) == {
        "path:web:src/b.py": "mentions"
    }


def test_source_code_mentions_addresses_only() -> None:
    text = "# see https://example.org/a and #12\nimport a.b\n"
    edges = found(draft("x", text, kind="file", project="web"), (), source_code=True)
    assert [edge.key for edge in edges] == ["url:example.org/a"]


def test_given_links_point_at_refs_pages_and_source_ids() -> None:
    links = (Link("local:note:7", "about"), Link("https://Example.org/x/"), Link("other-1"))
    edges = found(draft("x", "see https://example.org/x", links=links), ())
    assert [(e.target, e.key, e.origin, e.strength) for e in edges] == [
        ("local:note:7", "ref:note:7", "given", 1.0),
        ("https://Example.org/x/", "url:example.org/x", "given", 1.0),
        ("other-1", "id:other-1", "given", 1.0),
        ("https://example.org/x", "url:example.org/x", "found", STRENGTH["url"]),
    ]


def test_a_record_does_not_point_at_itself() -> None:
    page = draft(
        "x", "at https://example.org/x: [[Title]]", title="Title", url="http://example.org/x/"
    )
    assert found(page, ()) == ()


def test_a_list_of_mentions_is_cut_off() -> None:
    assert (
        len(keys(" ".join(f"#{number}" for number in range(1, 2 * MAX_MENTIONS)))) == MAX_MENTIONS
    )


def test_a_record_is_called_by_its_id_page_commit_title_and_path() -> None:
    facets = (("commit", "0A1b2c3"), ("path", "./notes/Deep Work.md"))
    page = "https://github.com/o/web/pull/3"
    assert names_of(
        draft("s1", kind="file", title="A  Title", project="Web", url=page), facets
    ) == (
        "id:s1",
        "url:github.com/o/web/pull/3",
        "issue:web#3",
        "commit:0a1b2c3",
        "path:web:notes/Deep Work.md",
        "title:a title",
        "title:deep work",
        "title:notes/deep work",
    )
    assert names_of(draft("s1", kind="observation", title="A title"), ()) == ("id:s1",)


REPORT = """Rents rose. [1] Wages did not, says [a study](https://m.a.org/wages?utm_source=x).

[1] https://www.a.org/rents/ - Rents
"""


def test_a_report_cites_pages_once_each_with_all_places() -> None:
    edges = found(draft("r", REPORT, kind="report"))
    assert [(e.target, e.relation, e.key, e.strength) for e in edges] == [
        ("https://www.a.org/rents/", "cites", "url:a.org/rents", CITED_STRENGTH),
        ("https://m.a.org/wages?utm_source=x", "cites", "url:a.org/wages", CITED_STRENGTH),
    ]
    assert [[cite.form for cite in edge.cites] for edge in edges] == [["marker", "entry"], ["link"]]


def test_only_reports_cite_and_a_report_does_not_cite_itself() -> None:
    assert {e.relation for e in found(draft("n", REPORT))} == {"mentions"}
    assert keys(REPORT, kind="report", url="https://a.org/rents") == {"url:a.org/wages": "cites"}


def test_a_page_has_the_names_of_its_other_addresses() -> None:
    metadata = {
        "canonical_url": "https://a.org/x",
        "redirects": ["https://short.org/1", 3],
        "final_url": 4,
        "doi": "10.1000/ABC",
    }
    page = draft("p", kind="website", url="https://a.org/x?session=1", metadata=metadata)
    assert set(names_of(page, ())) == {
        "id:p",
        "url:a.org/x?session=1",
        "url:a.org/x",
        "url:short.org/1",
        "url:doi.org/10.1000/abc",
    }


VAULT = (("path", "/vault/2024/Lisbon.md"),)


def note(text: str) -> dict[str, str]:
    return keys(text, VAULT, kind="note", metadata={"path": "/vault/2024/Lisbon.md"})


def test_wikilinks_name_notes_by_title_path_or_alias_and_embeds_are_told_apart() -> None:
    text = "[[Porto|there]] ![[Map of Faro#North]] [[people/Ana.md]] [[Table\\|cell]] [[#Here]]"
    assert note(text) == {
        "title:porto": "mentions",
        "title:map of faro": "embeds",
        "title:people/ana": "mentions",
        "title:table": "mentions",
    }


def test_links_of_markdown_lead_to_files_from_the_folder_of_the_note() -> None:
    text = (
        "See [a](../people/Ana%20Reis.md#work), [b](Porto) and ![c](<img/a map.png>)."
        " Not [web](https://x.org/a.md), [mail](mailto:a@b.c), [top](#top) or [d](data:x)."
    )
    found = {key: relation for key, relation in note(text).items() if key.startswith("path::")}
    assert found == {
        "path::/vault/people/Ana Reis.md": "mentions",
        "path::/vault/2024/Porto.md": "mentions",
        "path::/vault/2024/img/a map.png": "embeds",
    }


def test_a_note_is_known_by_its_aliases_and_by_the_end_of_its_path() -> None:
    one = draft("x", "t", kind="note", title="Lisboa", metadata={"aliases": ["White City", "LX"]})
    assert {"title:lisboa", "title:white city", "title:lx", "title:lisbon", "title:2024/lisbon",
            "path::/vault/2024/Lisbon.md"} <= set(names_of(one, VAULT))  # fmt: skip


def test_many_brackets_take_linear_time() -> None:
    for piece in ("[", "![", "[a](", "[a](<", "[[", "]("):
        note(piece * 30_000)
