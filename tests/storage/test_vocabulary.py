"""The words and names for completions follow the records."""

from __future__ import annotations

import sqlite3
from typing import get_args

from drafts import draft, store
from mem_search.storage.sql.vocabulary import Names
from mem_search.storage.sqlite.records import RecordWriter
from mem_search.storage.sqlite.words import SqliteVocabulary, WordList, unknown


def vocabulary(connection: sqlite3.Connection) -> SqliteVocabulary:
    return SqliteVocabulary(connection, WordList())


def words(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(connection.execute("select term, doc from words").fetchall())


def test_a_word_counts_the_records_that_have_it(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "Große tokens, tokens", title="Tokens"), draft("b", "tokens"))
    assert words(connection) == {"große": 1, "tokens": 2}


def test_a_changed_record_has_its_new_words_only(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "before"))
    store(connection, draft("a", "after", title="New"))
    assert words(connection) == {"after": 1, "new": 1}


def test_the_sample_teaches_no_word_however_it_is_written(connection: sqlite3.Connection) -> None:
    of_sample = draft("s", "harbour", title="Quay", source="sample")
    (stored,) = store(connection, of_sample, draft("a", "the tide"))[:1]
    store(connection, draft("s", "lighthouse", title="Quay", source="sample"))
    assert words(connection) == {"the": 1, "tide": 1}
    RecordWriter(connection).remove([stored.number], forget=True)
    assert words(connection) == {"the": 1, "tide": 1}


def test_a_forgotten_record_leaves_no_word_behind(connection: sqlite3.Connection) -> None:
    (stored,) = store(connection, draft("a", "confidential", title="Secret plan"))
    RecordWriter(connection).remove([stored.number], forget=True)
    assert words(connection) == {}
    assert vocabulary(connection).named("title", "sec", 5) == []


def test_a_record_refiled_without_a_change_of_words_keeps_them(
    connection: sqlite3.Connection,
) -> None:
    store(connection, draft("a", "same"))
    store(connection, draft("a", "same", project="web"))
    assert words(connection) == {"same": 1}


def names(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(connection.execute("select term, doc from people_words").fetchall())


def test_names_of_people_and_attached_files_are_words_of_the_store(
    connection: sqlite3.Connection,
) -> None:
    mail = {"from": "Ana Schmidt", "to": "Bo", "attachments": ["Invoice-7.pdf"]}
    one = draft("a", "dear Bo " * 500, kind="email", metadata=mail)  # several passages
    store(connection, one, draft("b", "of Schmidt", metadata={"author": "Schmidt"}))
    assert names(connection) == {"ana": 1, "bo": 1, "schmidt": 2, "invoice": 1, "7": 1, "pdf": 1}
    assert ("schmidt", 2) in vocabulary(connection).correction_candidates("schmitd")
    assert vocabulary(connection).beginning_with("schm", 5) == [("schmidt", 2)]
    assert vocabulary(connection).expand(["*midt", "sch*dt"]) == {
        "*midt": ("schmidt",),
        "sch*dt": ("schmidt",),
    }


def test_names_change_and_go_with_their_record(connection: sqlite3.Connection) -> None:
    words = WordList()
    (stored,) = store(connection, draft("a", "same", metadata={"author": "Ana Schmidt"}))
    assert words.matching_pattern(connection, "*midt") == ["schmidt"]
    store(connection, draft("a", "same", metadata={"author": "Ana Goldschmidt"}))
    assert names(connection) == {"ana": 1, "goldschmidt": 1}
    assert words.matching_pattern(connection, "*midt") == ["goldschmidt"]
    store(connection, draft("a", "same"))
    assert names(connection) == {}
    store(connection, draft("a", "other", metadata={"author": "Ana"}))
    assert names(connection) == {"ana": 1}
    RecordWriter(connection).remove([stored.number], forget=True)
    assert names(connection) == {}
    connection.execute("insert into people_fts(people_fts) values('integrity-check')")


def test_words_are_completed_by_how_many_records_have_them(
    connection: sqlite3.Connection,
) -> None:
    store(connection, draft("a", "author authentication"), draft("b", "authentication au"))
    found = vocabulary(connection).beginning_with("au", 5)
    assert found == [("authentication", 2), ("author", 1)]
    assert vocabulary(connection).beginning_with("au", 1) == [("authentication", 2)]
    assert vocabulary(connection).beginning_with("x", 5) == []


def test_a_word_is_known_in_any_form_that_a_search_finds(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "authenticated libraries"))
    asked = ["authenticate", "library", "librarry"]
    assert unknown(connection, asked) == ["librarry"]


def test_what_may_be_meant_has_any_first_letter(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "token"))
    for typed in ("toekn", "otken", "oken", "yoken", "xtoken"):
        assert ("token", 1) in vocabulary(connection).correction_candidates(typed)


def test_the_last_of_words_in_a_row_is_the_prefix(connection: sqlite3.Connection) -> None:
    store(connection, draft("a", "snake_authentication"))
    found = vocabulary(connection).beginnings("snake_authenti")
    assert "snake_authentication" in found  # the index has its stem, which does not begin so


def test_projects_and_tags_are_found_by_their_beginning_in_any_case(
    connection: sqlite3.Connection,
) -> None:
    store(
        connection,
        draft("a", project="Web", tags=("API", "auth")),
        draft("b", project="webhooks", tags=("auth",)),
        draft("c", project="webhooks"),
        draft("d"),
    )
    assert vocabulary(connection).named("project", "we", 5) == [("webhooks", 2), ("Web", 1)]
    assert vocabulary(connection).named("tag", "a", 5) == [("auth", 2), ("API", 1)]
    assert vocabulary(connection).named("tag", "a", 1) == [("auth", 2)]
    assert vocabulary(connection).named("tag", "b", 5) == []


def test_files_are_found_by_their_name_without_the_folders(
    connection: sqlite3.Connection,
) -> None:
    paths = ["src/Auth.py", "auth.toml", "authors/list.py"]
    store(
        connection,
        draft("a", kind="observation", metadata={"files_modified": paths}),
        draft("b", kind="observation", metadata={"files_read": ["src/Auth.py"]}),
    )
    assert vocabulary(connection).named("file", "AUTH", 5) == [("src/Auth.py", 2), ("auth.toml", 1)]


def test_no_completion_reads_a_whole_table(connection: sqlite3.Connection) -> None:
    seen: list[str] = []
    connection.set_trace_callback(seen.append)
    for names in get_args(Names):
        vocabulary(connection).named(names, "a", 5)
    connection.set_trace_callback(None)
    for statement in seen:
        plan = connection.execute(f"explain query plan {statement}").fetchall()
        scanned = [row[3] for row in plan if row[3].startswith(("SCAN records", "SCAN facets"))]
        assert scanned == []
