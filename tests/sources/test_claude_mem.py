from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.ingest.prepare import outcome
from mem_search.model import Batch, Draft, Location
from mem_search.sources.claude_mem import ClaudeMem, database
from mem_search.sources.claude_mem.drafts import texts, without_injected

NEW = """
create table sdk_sessions(id integer primary key autoincrement, content_session_id text not null,
  memory_session_id text unique, project text not null,
  platform_source text not null default 'claude');
create table observations(id integer primary key autoincrement, memory_session_id text not null,
  project text not null, text text, type text not null, title text, subtitle text, facts text,
  narrative text, concepts text, files_read text, files_modified text, prompt_number integer,
  created_at_epoch integer not null, discovery_tokens integer default 0,
  relevance_count integer default 0, merged_into_project text, agent_type text, synced_at integer);
create table session_summaries(id integer primary key autoincrement,
  memory_session_id text not null, project text not null, request text, investigated text,
  learned text, completed text, next_steps text, files_read text, files_edited text, notes text,
  prompt_number integer, created_at_epoch integer not null, merged_into_project text);
create table user_prompts(id integer primary key autoincrement, session_db_id integer,
  content_session_id text not null, prompt_number integer not null, prompt_text text not null,
  created_at_epoch integer not null);
"""
OLD = """
create table sdk_sessions(id integer primary key, claude_session_id text unique not null,
  sdk_session_id text unique, project text not null);
create table observations(id integer primary key, sdk_session_id text not null,
  project text not null, text text, type text not null, title text, created_at_epoch integer);
create table session_summaries(id integer primary key, sdk_session_id text, project text not null,
  request text, created_at_epoch integer);
create table user_prompts(id integer primary key, claude_session_id text not null,
  prompt_number integer, prompt_text text not null, created_at_epoch integer);
"""
NOON = 1_772_366_400_000


class Store:
    """claude-mem's side: a connection that writes while the source reads."""

    def __init__(self, path: Path, schema: str = NEW) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("pragma journal_mode=wal")
        self.connection.executescript(schema)

    def add(self, table: str, **values: Any) -> int:
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        cursor = self.connection.execute(
            f"insert into {table}({names}) values({marks})", tuple(values.values())
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def session(self, name: str = "m1", project: str = "engine", **values: Any) -> int:
        content = values.pop("content_session_id", f"c-{name}")
        return self.add(
            "sdk_sessions",
            content_session_id=content,
            memory_session_id=name,
            project=project,
            **values,
        )

    def observe(self, title: str, **values: Any) -> int:
        row = {"memory_session_id": "m1", "project": "engine", "type": "change"}
        return self.add(
            "observations", **{**row, "title": title, "created_at_epoch": NOON, **values}
        )

    def run(self, sql: str) -> None:
        self.connection.execute(sql)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def claude(home: Path) -> Iterator[Store]:
    made = Store(home / ".claude-mem" / "claude-mem.db")
    made.session()
    yield made
    made.connection.close()


class Follower:
    """Reads again and again with the last cursor, through JSON as the store keeps it."""

    def __init__(self, place: Store | Path) -> None:
        self.location = Location(
            "claude-mem", str(place.path if isinstance(place, Store) else place)
        )
        self.cursor: dict[str, Any] = {}
        self.batches: list[Batch] = []

    def look(self) -> list[Draft]:
        self.batches = []
        for batch in ClaudeMem().read(self.location, self.cursor):
            self.batches.append(batch)
            self.cursor = json.loads(json.dumps(dict(batch.cursor)))
        return [draft for batch in self.batches for draft in batch.drafts]

    @property
    def deletions(self) -> list[str]:
        return [gone for batch in self.batches for gone in batch.deletions]

    @property
    def ledger(self) -> dict[tuple[str, str], tuple[int, str]]:
        entries = [entry for batch in self.batches for entry in batch.ledger]
        return {(e.item, e.outcome): (e.records, e.reason) for e in entries}


ODD = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.binary(max_size=12),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["", " ", "\x00", "[" * 5000, '{"a":' * 3000, "9" * 5000, "NaN", "[1e999]", '["\\ud800"]',
         "x" * 9000, b"\xff\xfe", '[{"a": [1]}, null, 2]', "1772366400000", "\x1b[31m"]
    ),
)  # fmt: skip
COLUMNS = {
    "observations": "project text type title subtitle facts narrative concepts files_read"
    " files_modified prompt_number created_at_epoch discovery_tokens merged_into_project"
    " agent_type memory_session_id",
    "session_summaries": "project request investigated learned completed next_steps files_read"
    " files_edited notes prompt_number created_at_epoch merged_into_project memory_session_id",
    "user_prompts": "session_db_id content_session_id prompt_number prompt_text created_at_epoch",
    "sdk_sessions": "content_session_id memory_session_id project platform_source",
}


@settings(max_examples=150, deadline=None)
@given(data=st.data(), table=st.sampled_from([*COLUMNS]))
def test_any_value_in_any_column_is_stored_or_is_one_line_that_names_the_field(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, table: str
) -> None:
    """SQLite takes any type in any column; the rows around an odd one are stored."""
    odd = {name: data.draw(ODD, label=name) for name in COLUMNS[table].split()}
    made = Store(tmp_path_factory.mktemp("odd") / "claude-mem.db", NEW.replace(" not null", ""))
    made.session()
    made.observe("before")
    made.add(table, **odd)
    made.observe("after")
    made.connection.close()
    drafts = Follower(made.path).look()
    assert {"before", "after"} <= {draft.title for draft in drafts}
    for draft in drafts:
        reason = outcome(draft)
        if isinstance(reason, str):
            assert draft.title not in ("before", "after")
            assert re.match(r"(created_at|project|session|text|metadata\.\w+)\b", reason), reason


def test_an_observation_keeps_all_fields_of_claude_mem(claude: Store) -> None:
    claude.observe(
        "Closed the file",
        type="bugfix",
        subtitle="It stayed open",
        narrative="The handle leaked.",
        facts='["one", "two"]',
        concepts='["gotcha"]',
        files_read='["a.py"]',
        files_modified='["b.py"]',
        prompt_number=3,
        discovery_tokens=40,
        agent_type="Explore",
    )
    (draft,) = Follower(claude).look()
    assert draft == Draft(
        kind="observation",
        source="claude-mem",
        source_id="observation:1",
        title="Closed the file",
        text="The handle leaked.",
        created_at=NOON,
        project="engine",
        session="c-m1",
        earlier=(("session", "c-m1"),),
        metadata={
            "type": "bugfix",
            "subtitle": "It stayed open",
            "narrative": "The handle leaked.",
            "facts": ["one", "two"],
            "concepts": ["gotcha"],
            "files_read": ["a.py"],
            "files_modified": ["b.py"],
            "prompt_number": 3,
            "discovery_tokens": 40,
            "agent_type": "Explore",
            "platform": "claude",
        },
    )


def test_a_summary_is_labelled_paragraphs_titled_by_its_request(claude: Store) -> None:
    claude.add(
        "session_summaries",
        memory_session_id="m1",
        project="engine",
        request="Fix the leak\nplease",
        completed="Closed it",
        next_steps="Rest",
        files_edited='["b.py"]',
        created_at_epoch=NOON,
    )
    (draft,) = Follower(claude).look()
    assert (draft.kind, draft.source_id) == ("session_summary", "session_summary:1")
    assert draft.title == "Fix the leak"
    expected = "Request: Fix the leak\nplease\n\nCompleted: Closed it\n\nNext steps: Rest"
    assert draft.text == expected
    assert draft.metadata["next_steps"] == "Rest"
    assert draft.metadata["files_edited"] == ["b.py"]


def test_a_prompt_finds_its_project_and_session_through_the_session(claude: Store) -> None:
    other = claude.session("m2", "viewer", content_session_id="c", platform_source="codex")
    for number, session in ((1, other), (2, None)):
        claude.add(
            "user_prompts",
            session_db_id=session,
            content_session_id="c",
            prompt_number=number,
            prompt_text="<system-reminder>noise</system-reminder>Why is it slow?",
            created_at_epoch=NOON,
        )
    for draft in Follower(claude).look():
        assert (draft.kind, draft.text) == ("user_prompt", "Why is it slow?")
        assert (draft.project, draft.session) == ("viewer", "c")
        assert draft.metadata["platform"] == "codex"


def test_a_store_from_before_the_renaming_is_read(home: Path) -> None:
    old = Store(home / ".claude-mem" / "claude-mem.db", OLD)
    old.add("sdk_sessions", claude_session_id="c", sdk_session_id="m", project="engine")
    row = {"project": "engine", "created_at_epoch": NOON}
    old.add("observations", sdk_session_id="m", type="change", title="T", text="Legacy", **row)
    old.add("session_summaries", sdk_session_id="m", request="R", **row)
    old.add("user_prompts", claude_session_id="c", prompt_text="P", created_at_epoch=NOON // 1000)
    drafts = Follower(old).look()
    old.connection.close()
    assert [draft.text for draft in drafts] == ["Legacy", "Request: R", "P"]
    assert {(d.project, d.session, d.created_at) for d in drafts} == {("engine", "c", NOON)}


def test_a_store_from_before_prompts_were_kept_is_read(claude: Store) -> None:
    claude.run("drop table user_prompts")
    claude.observe("One")
    assert len(Follower(claude).look()) == 1


def test_a_merged_worktree_counts_as_the_project_it_went_into(claude: Store) -> None:
    claude.observe("merged", project="engine/topic", merged_into_project="engine")
    claude.observe("not merged", project="engine/topic")
    claude.observe("own", project="engine")
    drafts = Follower(claude).look()
    assert [draft.project for draft in drafts] == ["engine"] * 3
    assert [draft.metadata.get("worktree") for draft in drafts] == ["topic", "topic", None]


def test_observer_sessions_are_left_out_and_counted(claude: Store) -> None:
    claude.session("watch", "observer-sessions")
    claude.observe("kept")
    claude.observe("noise", project="observer-sessions")
    claude.observe("noise", memory_session_id="watch")
    follower = Follower(claude)
    assert [draft.title for draft in follower.look()] == ["kept"]
    assert follower.ledger["observations", "taken"] == (1, "")
    records, reason = follower.ledger["observations (observer-sessions)", "left"]
    assert (records, reason[:7]) == (0, "2 rows ")


def test_what_a_person_did_not_type_makes_no_record(claude: Store) -> None:
    text = "<claude-mem-context>old things</claude-mem-context>\n"
    row = {"content_session_id": "c-m1", "prompt_number": 1, "created_at_epoch": NOON}
    claude.add("user_prompts", prompt_text=text, **row)
    claude.observe("kept")
    follower = Follower(claude)
    assert [draft.title for draft in follower.look()] == ["kept"]
    assert ("user_prompts (empty)", "left") in follower.ledger
    assert follower.look() == []
    assert follower.batches == []
    claude.run("update user_prompts set prompt_text = 'Chart the reefs'")
    assert [draft.text for draft in follower.look()] == ["Chart the reefs"]
    assert "user_prompts (empty)" in follower.batches[-1].outdated
    claude.run("update user_prompts set prompt_text = ''")
    assert follower.look() == []
    (gone,) = follower.deletions
    assert follower.ledger[gone, "deleted"] == (0, "the row has no text any more")
    claude.run("update observations set project = 'observer-sessions'")
    follower.look()
    (gone,) = follower.deletions
    said = (0, "the row belongs to a session of claude-mem's own observer now")
    assert follower.ledger[gone, "deleted"] == said
    claude.run("update observations set project = 'harbour'")
    follower.look()
    claude.run("delete from user_prompts")
    claude.run("delete from observations")
    follower.look()
    (gone,) = follower.deletions
    assert follower.ledger[gone, "deleted"] == (0, "no longer in the store")


def test_rows_written_since_are_read_without_the_old_ones(claude: Store) -> None:
    claude.observe("one")
    follower = Follower(claude)
    follower.look()
    assert follower.look() == []
    claude.observe("two")
    assert [draft.title for draft in follower.look()] == ["two"]
    assert follower.ledger["observations", "taken"] == (2, "")


def test_rows_in_the_log_are_seen_and_uncommitted_ones_are_not(claude: Store) -> None:
    claude.run("pragma wal_checkpoint(truncate)")
    claude.observe("committed")
    claude.run("begin immediate")
    claude.observe("not yet")
    follower = Follower(claude)
    assert [draft.title for draft in follower.look()] == ["committed"]
    claude.run("commit")
    assert [draft.title for draft in follower.look()] == ["not yet"]


@pytest.mark.parametrize(
    ("change", "projects"),
    [
        pytest.param("merged_into_project = 'whole'", ["whole"], id="it is read again"),
        pytest.param("synced_at = 5, relevance_count = 9", [], id="no record depends on it"),
    ],
)
def test_a_changed_row_is_read_again_where_a_record_depends_on_it(
    claude: Store, change: str, projects: list[str]
) -> None:
    claude.observe("one")
    follower = Follower(claude)
    follower.look()
    claude.run(f"update observations set {change}")
    assert [draft.project for draft in follower.look()] == projects


def test_a_renamed_project_reaches_its_prompts(claude: Store) -> None:
    row = {"content_session_id": "c-m1", "prompt_number": 1, "created_at_epoch": NOON}
    claude.add("user_prompts", prompt_text="Why?", **row)
    follower = Follower(claude)
    follower.look()
    claude.run("update sdk_sessions set project = 'renamed'")
    assert [draft.project for draft in follower.look()] == ["renamed"]


def test_deleted_rows_are_named(claude: Store) -> None:
    for n in range(300):
        claude.observe(f"o{n}")
    follower = Follower(claude)
    follower.look()
    claude.run("delete from observations where id = 7 or id > 256")
    follower.look()
    gone = ["observation:7", *(f"observation:{n}" for n in range(257, 301))]
    assert follower.deletions == gone
    assert ("observation:7", "deleted") in follower.ledger
    follower.look()
    assert follower.deletions == []


def test_a_row_that_becomes_the_observers_is_deleted(claude: Store) -> None:
    claude.observe("one")
    follower = Follower(claude)
    follower.look()
    claude.run("update observations set project = 'observer-sessions'")
    assert follower.look() == []
    assert follower.deletions == ["observation:1"]


def test_reading_can_be_left_between_batches(claude: Store) -> None:
    for n in range(600):
        claude.observe(f"o{n}")
    follower = Follower(claude)
    reading = ClaudeMem().read(follower.location, {})
    first = next(reading)
    reading.close()  # type: ignore[attr-defined]
    follower.cursor = dict(first.cursor)
    titles = [draft.title for draft in (*first.drafts, *follower.look())]
    assert titles == [f"o{n}" for n in range(600)]
    assert max(len(batch.drafts) for batch in follower.batches) <= 256
    assert (follower.batches[-1].done, follower.batches[-1].total) == (600, 600)


def test_rows_that_arrive_while_reading_are_not_lost(claude: Store) -> None:
    for n in range(300):
        claude.observe(f"o{n}")
    follower = Follower(claude)
    reading = ClaudeMem().read(follower.location, {})
    seen = list(next(reading).drafts)
    claude.observe("late")
    for batch in reading:
        seen += batch.drafts
        follower.cursor = dict(batch.cursor)
    seen += follower.look()
    assert [draft.title for draft in seen].count("late") == 1


def test_a_store_at_rest_is_not_even_opened(claude: Store) -> None:
    claude.observe("one")
    claude.connection.close()
    follower = Follower(claude)
    long_ago = 1_700_000_000
    os.utime(claude.path, (long_ago, long_ago))
    follower.look()
    assert follower.cursor["seen"] is not None
    claude.path.write_bytes(b"x" * claude.path.stat().st_size)  # opening it would now fail
    os.utime(claude.path, (long_ago, long_ago))
    assert follower.look() == []


def test_the_database_file_is_not_written(claude: Store) -> None:
    claude.observe("one")
    claude.connection.close()
    before = (claude.path.read_bytes(), claude.path.stat().st_mtime_ns)
    Follower(claude).look()
    assert (claude.path.read_bytes(), claude.path.stat().st_mtime_ns) == before


def test_a_second_store_has_ids_of_its_own(claude: Store, home: Path) -> None:
    claude.observe("usual")
    other = Store(home / "other" / "claude-mem.db")
    other.session()
    other.observe("second")
    (usual,) = Follower(claude).look()
    (second,) = Follower(other.path.parent).look()
    other.connection.close()
    assert usual.source_id == "observation:1"
    assert second.source_id != usual.source_id
    assert second.source_id.endswith(":observation:1")


def test_an_uploaded_store_is_known_by_the_time_when_it_was_made(home: Path) -> None:
    def ids(file: str, sent_as: str, made: str = "") -> list[str]:
        source = Store(home / file)
        source.session()
        source.observe("one")
        if made:
            source.run("create table schema_versions(version integer, applied_at text)")
            source.run(f"insert into schema_versions values(4, '{made}'), (5, '2026-02-01')")
        location = Location("claude-mem", str(source.path), upload=sent_as)
        found = [d.source_id for batch in ClaudeMem().read(location, {}) for d in batch.drafts]
        source.connection.close()
        return found

    laptop = ids("a.db", "laptop.db", "2025-01-01")
    assert laptop[0].endswith(":observation:1")
    assert ids("b.db", "newer copy.db", "2025-01-01") == laptop
    assert ids("c.db", "laptop.db", "2025-03-03") != laptop
    # A store from before claude-mem wrote this down is known by the name that it is sent under.
    assert ids("d.db", "old.db") == ids("e.db", "old.db") != ids("f.db", "older.db")


def test_a_store_whose_tables_are_queries_is_refused(home: Path) -> None:
    made = Store(home / "odd.db")
    made.run("drop table observations")
    made.run(
        "create view observations as with recursive n(id) as"
        " (select 1 union all select id + 1 from n) select id from n"
    )
    with pytest.raises(SourceError, match="its observations is not a plain table"):
        Follower(made).look()
    made.connection.close()


def test_awkward_values_are_taken_as_they_are(claude: Store) -> None:
    claude.observe("t", facts="just words", concepts="a, b", files_read="null", type=7)
    claude.observe("u", facts='["x", 3, {"k": "v"}, null, ""]', files_modified=b'["\xff.py"]')
    claude.run("update observations set narrative = cast(x'ff41' as text) where id = 1")
    first, second = Follower(claude).look()
    assert first.metadata["facts"] == ["just words"]
    assert first.metadata["concepts"] == ["a", "b"]
    assert "files_read" not in first.metadata
    assert first.metadata["type"] == "7"
    assert first.text == "\ufffdA"
    assert second.metadata["facts"] == ["x", "3", '{"k": "v"}']
    assert second.metadata["files_modified"] == ["\ufffd.py"]


def read_all(path: Path) -> list[Batch]:
    return list(ClaudeMem().read(Location("claude-mem", str(path)), {}))


def test_a_missing_store_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "claude-mem.db", tmp_path):
        with pytest.raises(SourceError, match=r"^there is no .*/claude-mem\.db; sync again once"):
            read_all(place)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "claude-mem.db"
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(SourceError, match="not a readable SQLite database"):
        read_all(file)


def test_a_damaged_store_is_refused(claude: Store) -> None:
    for n in range(500):
        claude.observe(f"o{n}", narrative="words " * 50)
    claude.run("pragma wal_checkpoint(truncate)")
    claude.connection.close()
    data = bytearray(claude.path.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    claude.path.write_bytes(data)
    with pytest.raises(SourceError, match=str(claude.path)):
        read_all(claude.path)


def test_a_foreign_database_is_refused_with_the_missing_tables(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    connection = sqlite3.connect(file)
    connection.execute("create table observations(id integer primary key)")
    connection.close()
    with pytest.raises(SourceError, match="no table sdk_sessions, session_summaries"):
        read_all(file)


def test_a_locked_store_is_refused_with_the_next_step(claude: Store) -> None:
    claude.run("pragma journal_mode=delete")
    claude.run("begin exclusive")
    with pytest.raises(SourceError, match="locked by another program; sync again"):
        read_all(claude.path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_in_a_read_only_directory_is_refused_with_the_reason(claude: Store) -> None:
    claude.connection.close()
    claude.path.parent.chmod(0o555)
    try:
        with pytest.raises(SourceError, match="must be readable and writable"):
            read_all(claude.path)
    finally:
        claude.path.parent.chmod(0o755)


def found(home: Path, **environ: str) -> list[str]:
    machine = Machine(home, home, environ)
    return [location.path for location in ClaudeMem().discover(machine)]


def test_the_store_is_found_where_claude_mem_keeps_it(home: Path) -> None:
    def put(directory: str) -> str:
        file = home / directory / "claude-mem.db"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        return str(file)

    settings_file = home / ".claude-mem" / "settings.json"
    assert found(home) == []
    default = put(".claude-mem")
    assert found(home) == [default]
    flat, nested, environ = put("flat"), put("nested"), put("environ")
    settings_file.write_text('\ufeff{"CLAUDE_MEM_DATA_DIR": "~/flat"}', "utf-8")
    assert found(home) == [flat]
    settings_file.write_text(json.dumps({"env": {"CLAUDE_MEM_DATA_DIR": f"{home}/nested"}}))
    assert found(home) == [nested]
    assert found(home, CLAUDE_MEM_DATA_DIR="~/environ") == [environ]
    assert found(home, CLAUDE_MEM_DATA_DIR=str(home / "nowhere")) == []
    for unusable in ("{", "[]", '{"env": 3}', '{"CLAUDE_MEM_DATA_DIR": 5}'):
        settings_file.write_text(unusable)
        assert found(home) == [default]


def test_injected_blocks_are_cut_out_even_inside_each_other() -> None:
    nested = "a <private>x <private>y</private> z</private>b"
    assert without_injected(nested) == "a b"
    assert without_injected("<system-reminder id='1'>\nq</system-reminder> c") == "c"
    assert without_injected("what does <private> do?") == "what does <private> do?"


@given(st.text() | st.none() | st.integers() | st.binary())
def test_any_value_of_an_array_column_gives_texts(value: object) -> None:
    assert all(text.strip() for text in texts(value))


@given(st.lists(st.text().filter(lambda text: text.strip() == text and text)))
def test_a_json_array_gives_its_texts(values: list[str]) -> None:
    assert texts(json.dumps(values)) == values


tables = st.dictionaries(st.integers(0, 600), st.sampled_from([b"a", b"b"]), max_size=40)


@settings(max_examples=200)
@given(st.lists(tables, min_size=1, max_size=5))
def test_following_any_changes_ends_with_the_same_rows(states: list[dict[int, bytes]]) -> None:
    mirror: dict[int, bytes] = {}
    cursor: Any = {}
    for state in states:
        blocks = database.load_blocks(json.loads(json.dumps(cursor)))
        for number in sorted({key // database.BLOCK for key in state} | set(blocks)):
            rows = [(k, state[k]) for k in sorted(state) if k // database.BLOCK == number]
            known = blocks.get(number, database.NOTHING)
            mirror.update((row[0], row[1]) for row in database.changed_rows(known, rows))
            for gone in known.ids - {row[0] for row in rows}:
                del mirror[gone]
            blocks[number] = database.block_of(rows)
        cursor = database.dump_blocks(blocks)
        assert mirror == state
        assert database.load_blocks(cursor) == blocks


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_a_cursor_that_cannot_be_understood_means_reading_again(state: object) -> None:
    assert isinstance(database.load_blocks(state), dict)
