"""A store that an older version filled is redacted again, once, and its old bytes go."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from chosen_store import rows_on_the_server
from drafts import draft, prepared
from mem_search.features.archives.sql import ArchiveStore
from mem_search.features.saved_searches.model import StoredPlan
from mem_search.features.saved_searches.sql import SavedSearchStore
from mem_search.ingest import prepare
from mem_search.model import Batch, LedgerEntry, Link, Location, SearchRequest
from mem_search.model.jobs import ENDED, JobState
from mem_search.model.requests import Scope
from mem_search.model.statistics import LoggedSearch
from mem_search.storage.opening import open_store
from mem_search.storage.sql.redacting import TEXTS
from mem_search.storage.sqlite.store import SqliteStore
from mem_search.text import shared_phrases, stems, words
from mem_search.text.redaction import Redaction, rules
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE
from runtimes import THERE, small
from secret_shapes import SHAPES

SECRET = SHAPES["github pat"].secret
KEY = b"k" * 32
HERE = Location("test", f"/there/{SECRET}")
HOOK = f"https://hooks.example.org/{SECRET}"

RECORDS = (
    draft("plain", "the harbour is open"),
    draft("text", f"the key {SECRET} opens the harbour"),
    draft("title", "closed", title=f"Title {SECRET}"),
    draft(f"id {SECRET}", "an id", project=f"p {SECRET}", session=f"s {SECRET}"),
    draft("url", "a url", url=f"https://example.org/?token={SECRET}", tags=(f"t {SECRET}",)),
    draft("metadata", "metadata", metadata={"password": SECRET, "branch": f"b/{SECRET}"}),
    draft("link", "a link", links=(Link(f"https://example.org/{SECRET}"),)),
    draft(f"twice {SECRET}", "stored under both names"),
    draft(Redaction(KEY).name(f"twice {SECRET}"), "stored under both names"),
)


async def fill_as_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write what a version without redaction would have written."""
    home.mkdir()  # noqa: ASYNC240  a folder of a test
    (home / "redaction.key").write_text(KEY.hex())
    store = (await open_store(small(home))).store
    with monkeypatch.context() as patched:
        patched.setattr(prepare, "redacted", lambda draft: draft)
        batch = prepared(*RECORDS, cursor={"at": SECRET})
    await store.ingest.store_batch(HERE, batch, followed=False)
    await store.ingest.note_items(HERE, [LedgerEntry(f"x {SECRET}", "failed", f"bad {SECRET}")])
    await store.jobs.create("job", "import", {"path": f"/x/{SECRET}"})
    await store.jobs.finish("job", "failed", f"cannot read {SECRET}", {"path": SECRET})
    await store.search_log.add([LoggedSearch(1, SECRET, SECRET, "hybrid", 1, 1.0, "cli")])
    plan = StoredPlan({"search": {"query": SECRET}}, webhook_url=HOOK)
    await store.part(SavedSearchStore).create("watch", plan, 1)
    await store.scopes.put(Scope("mine", f'project:"p {SECRET}"', 1))
    await store.redacting.note_rules("")
    await store.close()


async def redacted_again(runtime: Runtime) -> JobState:
    async with asyncio.timeout(PATIENCE):
        while True:
            (job,) = [each for each in await runtime.ingest.jobs.newest(9) if each.name == "redact"]
            if job.state in ENDED and not await runtime.store.forgetting.receipts(unfinished=True):
                return job
            await asyncio.sleep(0.02)


def holds_secret(home: Path) -> bool:
    """Whether a file of the home, or a row of it on a server, has the secret."""
    files = (file.read_bytes() for file in home.rglob("*") if file.is_file())
    rows = ("".join(rows) for _, rows in rows_on_the_server(home))
    return any(SECRET.encode() in file for file in files) or any(SECRET in row for row in rows)


async def test_a_store_of_an_older_version_is_redacted_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    await fill_as_before(home, monkeypatch)
    assert holds_secret(home)
    async with open_runtime(small(home)) as runtime:
        job = await redacted_again(runtime)
        assert (job.state, job.result["changed"], job.result["left"]) == ("done", 7, 0), job
        assert not holds_secret(home)
        held = await runtime.store.records.fetch(range(1, len(RECORDS) + 1))
        assert set(held) == {1, 2, 3, 4, 5, 6, 7, 9}  # 8 is 9 under its old name
        assert held[2].text == "the key [redacted:github-token] opens the harbour"
        found = await runtime.search.pipeline.search(SearchRequest(text="harbour"))
        assert {each.record.number for each in found.results} == {1, 2}
        saved = await runtime.store.part(SavedSearchStore).get("watch")
        assert saved is not None
        assert saved.webhook_url == HOOK
        again = await runtime.ingest.writer.take(HERE, Batch(drafts=RECORDS[1:7]))
        assert (again.new, again.changed) == (0, 0), again
        assert await runtime.store.redacting.rules() == rules()
    assert not holds_secret(home)
    async with open_runtime(small(home)) as runtime:
        assert len([j for j in await runtime.ingest.jobs.newest(9) if j.name == "redact"]) == 1


async def test_documents_of_an_older_version_get_their_facts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    bill = draft(
        "bill", "Invoice 7\nTotal: 250.00 EUR", kind="file", title="Invoice",
        metadata={"path": "bill.pdf"},
    )  # fmt: skip
    other = draft("letter", "Nothing is stated here", kind="file", title="a letter")
    store = (await open_store(small(home))).store
    with monkeypatch.context() as patched:
        patched.setattr(prepare, "with_facts", lambda metadata, *_, **__: metadata)
        batch = prepared(bill, other)
    await store.ingest.store_batch(Location("test", "/there"), batch, followed=False)
    await store.redacting.note_rules("of an older version")
    await store.close()
    async with open_runtime(small(home)) as runtime:
        job = await redacted_again(runtime)
        assert (job.state, job.result["changed"], job.result["facts"]) == ("done", 0, 1), job
        held = await runtime.store.records.fetch([1, 2])
        assert held[1].metadata["from_text"]["amount"] == 250.0
        assert "from_text" not in held[2].metadata
        found = await runtime.search.pipeline.search(SearchRequest(text="amount>100"))
        assert [each.record.number for each in found.results] == [1]


async def test_reports_of_an_older_version_get_their_citations_and_keep_their_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    quoted = "Copper roofs in the harbour quarter turn green within eleven winters of salt."
    drafts = (
        draft("quoting", f"It is said: {quoted} See https://a.org/said.", kind="report"),
        draft("quoted", f"{quoted} All of them.", kind="website", url="https://b.org/roofs"),
        draft("said", "Something else", kind="website", url="https://a.org/said"),
    )
    store = (await open_store(small(home))).store
    with monkeypatch.context() as patched:
        patched.setattr(prepare, "edges_of", lambda *_, **__: ())
        patched.setattr(shared_phrases, "sampled_phrases", lambda _: ())
        batch = prepared(*drafts)
    await store.ingest.store_batch(Location("test", "/there"), batch, followed=False)
    await store.redacting.note_rules("of an older version")
    passages = (await store.statistics.totals()).passages
    await store.close()
    async with open_runtime(small(home)) as runtime:
        job = await redacted_again(runtime)
        assert (job.state, job.result["citations"], job.result["left"]) == ("done", 3, 0), job
        cited = await runtime.store.part(ArchiveStore).references([1], 10)
        assert {(each.target, str(each.cited), each.confidence < 1) for each in cited} == {
            ("https://a.org/said", "website:3", False),
            ("https://b.org/roofs", "website:2", True),
        }
        assert (await runtime.store.statistics.totals()).passages == passages
        kept = "select min(id), max(id) from passages"
        assert await runtime.store.database.read(lambda c: c.one(kept)) == (1, 3)


async def test_words_of_an_older_version_are_put_into_the_index_in_the_forms_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    drafts = (
        draft("hyphens", "the Hafen\u00adgebühr of the harbour"),
        draft("ligature", "the oﬃce of the harbour", kind="file", title="a letter"),
        draft("plain", "the harbour is open"),
        draft("German", "Die Häfen sind auch im Winter für alle Schiffe offen"),
    )
    store = (await open_store(small(home))).store
    with monkeypatch.context() as patched:
        patched.setattr(words, "extra_terms", lambda _: "")
        patched.setattr(stems, "language_of", lambda _: "")
        patched.setattr(prepare, "has_forms", lambda _: False)
        patched.setattr(prepare, "seen", lambda text: text)
        batch = prepared(*drafts)
    await store.ingest.store_batch(Location("test", "/there"), batch, followed=False)
    await store.redacting.note_rules("of an older version")
    await store.close()
    async with open_runtime(small(home)) as runtime:
        job = await redacted_again(runtime)
        assert (job.state, job.result["changed"], job.result["words"]) == ("done", 0, 3), job
        for number, question in ((1, "Hafengebühr"), (2, "office"), (4, "Schiff")):
            page = await runtime.search.pipeline.search(SearchRequest(text=question))
            assert page.results[0].record.number == number
        again = await runtime.ingest.writer.take(THERE, Batch(drafts=drafts))
        assert (again.new, again.changed) == (0, 0), again


async def test_a_new_store_is_not_redacted_again(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home")) as runtime:
        assert await runtime.ingest.jobs.newest(9) == []


async def test_every_column_with_text_from_outside_is_looked_at(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "mem-search.db")
    await store.close()
    ours = {
        "cursors": "source", "ledger": "source outcome", "jobs": "id name state",
        "search_log": "mode surface",
        "search_operations": "id parent_id type mode content_types results index_state",
        "search_jobs": "id status surface webhook_url delivery_id step",
        "archives": "schedule", "saved_searches": "webhook_url email schedule",
        "webhook_deliveries": "id event url state",
    }  # fmt: skip
    with closing(sqlite3.connect(tmp_path / "mem-search.db")) as connection:
        for table, columns in TEXTS.items():
            texts = {
                name
                for _, name, kind, *_ in connection.execute(f"pragma table_info({table})")
                if "text" in kind.lower() or name == "body"
            }
            assert texts - set(ours.get(table, "").split()) == set(columns), table
