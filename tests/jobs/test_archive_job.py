"""Archives of research: schedules, statistics, and readings that survive a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from dateutil.tz import gettz, tzlocal

from mem_search.errors import InputError, NotFound
from mem_search.features.archives.model import Archive
from mem_search.features.archives.service import JOB, folder
from mem_search.features.archives.sql import ArchiveStore
from mem_search.settings import Settings
from mem_search.wiring import Runtime, open_runtime
from patience import becomes
from runtimes import ended

ZONE = gettz() or tzlocal()


def settings(home: Path) -> Settings:
    return Settings(home=home, embedder="hashing", chroma_url="off", follow=0)


def archive(tmp_path: Path, **fields: object) -> Archive:
    research, pages = tmp_path / "research", tmp_path / "pages"
    research.mkdir(exist_ok=True)
    pages.mkdir(exist_ok=True)
    (research / "r.md").write_text("# R\n\nRents rose, says [a](https://m.a.org/rents).")
    (pages / "p.md").write_text("URL: https://www.a.org/rents\n\nRents of the year.")
    return Archive("homes", str(research), str(pages), **fields)  # type: ignore[arg-type]


async def run(runtime: Runtime, *, force: bool = False) -> dict[str, object]:
    job = await runtime.ingest.jobs.submit(JOB, {"name": "homes", "force": force})
    state = await ended(runtime.ingest.jobs, job)
    assert state.state == "done", state.message
    return dict(state.result)


async def test_an_archive_is_read_counted_forced_and_removed(tmp_path: Path) -> None:
    async with open_runtime(settings(tmp_path / "home")) as runtime:
        archives = runtime.ingest.archives
        given = archive(tmp_path)
        await archives.put(given)
        first = await run(runtime)
        assert {name: first[name] for name in ("new", "files", "cited_pages")} == {
            "new": 2, "files": 2, "cited_pages": 1,
        }  # fmt: skip
        assert first["cited_pages_stored"] == 1
        again = await run(runtime)
        assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, 0)
        (Path(given.pages) / "p.md").unlink()
        forced = await run(runtime, force=True)
        assert (forced["unchanged"], forced["deleted"], forced["cited_pages_stored"]) == (1, 1, 0)
        (known,) = await archives.listed()
        assert known.statistics["files"] == 1
        assert known.indexed_at
        assert not any(each.followed for each in await runtime.store.ingest.locations())
        await archives.put(archive(tmp_path, watch=True))
        await run(runtime)
        assert all(each.followed for each in await runtime.store.ingest.locations())
        await archives.put(archive(tmp_path))
        await run(runtime)
        assert not any(each.followed for each in await runtime.store.ingest.locations())
        await archives.remove("homes")
        assert await runtime.store.ingest.locations() == []
        with pytest.raises(NotFound):
            await archives.remove("homes")


async def test_a_run_that_was_due_while_no_worker_ran_is_made_at_the_next_start(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with open_runtime(settings(home), background=False) as runtime:
        await runtime.ingest.archives.put(archive(tmp_path, schedule="0 4 * * *"))
        (waiting,) = await runtime.ingest.archives.listed()
        assert waiting.next_at
        await runtime.store.part(ArchiveStore).set_next("homes", 1)
    async with open_runtime(settings(home)) as runtime:
        (known,) = await becomes(runtime.ingest.archives.listed, lambda found: found[0].indexed_at)
        assert known.indexed_at is not None
        assert known.statistics["new"] == 2
        assert (known.next_at or 0) > known.indexed_at


async def test_an_archive_needs_a_folder_that_exists(tmp_path: Path) -> None:
    async with open_runtime(settings(tmp_path / "home"), background=False) as runtime:
        with pytest.raises(InputError, match="name its folders"):
            await runtime.ingest.archives.put(Archive("homes"))
    assert folder("", "researchPath") == ""
    for wrong in ("relative", str(tmp_path / "gone"), "/\0"):
        with pytest.raises(InputError) as refused:
            folder(wrong, "researchPath")
        assert refused.value.field == "researchPath"
