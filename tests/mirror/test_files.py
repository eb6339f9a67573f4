"""The files of a mirror: whole or waited for, of a known version or refused, and without what was
forgotten.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from drafts import draft
from mem_search.errors import InputError, NotFound, SourceError
from mem_search.features.mirror import files
from mem_search.model import Batch, Filters
from mem_search.wiring import Runtime, open_runtime
from runtimes import THERE, small

pytestmark = pytest.mark.app


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[tuple[Runtime, Runtime]]:
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_runtime(small(tmp_path / name), background=False))
            for name in ("laptop", "desk")
        ]
        yield opened[0], opened[1]


async def read(runtime: Runtime, *texts: str, **fields: object) -> None:
    drafts = tuple(
        draft(text.split()[0], text, created_at=1_700_000_000_000, **fields) for text in texts
    )
    await runtime.ingest.writer.take(THERE, Batch(drafts=drafts))


async def texts(runtime: Runtime) -> set[str]:
    page = await runtime.store.records.export_page(Filters(), 0, 1000)
    return {record.text for record, _ in page}


def words_in(folder: Path) -> str:
    return "".join(gzip.decompress(each.read_bytes()).decode() for each in folder.glob("*.gz"))


async def test_what_one_machine_has_the_other_gets(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = str(tmp_path / "sync")
    await read(laptop, "alpha is here", "both have this")
    await read(desk, "beta is there", "both have this")
    for each in (laptop, desk, laptop, desk):
        await each.ingest.mirrors.turn(folder, begin=True)
    assert await texts(laptop) == await texts(desk) == {
        "alpha is here", "beta is there", "both have this",
    }  # fmt: skip
    quiet = await laptop.ingest.mirrors.turn(folder)
    assert not quiet.counts
    assert not quiet.errors


async def test_the_second_writing_has_only_what_changed_since(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, _ = two
    await read(laptop, "alpha is here")
    await laptop.ingest.mirrors.turn(str(tmp_path / "sync"), begin=True)
    before = {each.name for each in (tmp_path / "sync").iterdir()}
    await read(laptop, "beta came later")
    await laptop.ingest.mirrors.turn(str(tmp_path / "sync"))
    (new,) = {each.name for each in (tmp_path / "sync").iterdir()} - before
    stored = files.read(tmp_path / "sync", new).stored
    assert [record.text for _, record in stored] == ["beta came later"]


async def test_what_is_forgotten_leaves_every_machine_and_every_file(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = tmp_path / "sync"
    await read(laptop, "zylophantic is secret", "alpha stays")
    for each in (laptop, desk):
        await each.ingest.mirrors.turn(str(folder), begin=True)
    number = (await desk.store.records.named("test", "zylophantic")).number  # type: ignore[union-attr]
    await desk.ingest.forgetting.forget([number])
    for each in (desk, laptop, desk):
        await each.ingest.mirrors.turn(str(folder))
    assert await texts(laptop) == await texts(desk) == {"alpha stays"}
    assert "zylophantic" not in words_in(folder)
    await read(laptop, "zylophantic is secret")  # its source is read again
    assert await texts(laptop) == {"alpha stays"}


async def test_both_texts_of_a_conflict_are_kept(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = str(tmp_path / "sync")
    await read(laptop, "plan: one")
    for each in (laptop, desk):
        await each.ingest.mirrors.turn(folder, begin=True)
    await read(laptop, "plan: two")
    await read(desk, "plan: three")
    for each in (laptop, desk, laptop, desk, laptop):
        await each.ingest.mirrors.turn(folder)
    assert await texts(laptop) == await texts(desk) == {"plan: two", "plan: three"}
    tagged = [
        record.source_id
        for record, _ in await desk.store.records.export_page(Filters(), 0, 10)
        if "conflict" in record.tags
    ]
    assert len(tagged) == 1
    assert tagged[0].startswith("plan:~")


async def test_an_older_reading_of_a_session_does_not_replace_a_longer_one(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = str(tmp_path / "sync")
    for events in (1, 2, 3):
        await read(laptop, f"step {'and so ' * events}", metadata={"reading": {"events": events}})
        await laptop.ingest.mirrors.turn(folder, begin=True)
    await read(desk, f"step {'and so ' * 9}", metadata={"reading": {"events": 9}})
    for each in (desk, laptop):
        await each.ingest.mirrors.turn(folder, begin=True)
    assert await texts(laptop) == await texts(desk) == {f"step {'and so ' * 9}".strip()}


async def test_what_the_source_of_one_machine_lost_stays_while_another_reads_it(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = str(tmp_path / "sync")
    await read(laptop, "alpha is of both", "beta is of the laptop")
    await read(desk, "alpha is of both")
    for each in (laptop, desk, laptop):
        await each.ingest.mirrors.turn(folder, begin=True)
    gone = Batch(deletions=("alpha", "beta"))
    await laptop.ingest.writer.take(THERE, gone)
    for each in (laptop, desk, laptop, desk):
        await each.ingest.mirrors.turn(folder)
    assert await texts(laptop) == await texts(desk) == {"alpha is of both"}


async def test_a_file_that_is_there_by_half_is_waited_for(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = tmp_path / "sync"
    await read(laptop, "alpha is here")
    await laptop.ingest.mirrors.turn(str(folder), begin=True)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:40])
    turn = await desk.ingest.mirrors.turn(str(folder), begin=True)
    assert [each.split()[0] for each in turn.waiting] == [file.name]
    assert not turn.errors
    file.write_bytes(whole)
    assert (await desk.ingest.mirrors.turn(str(folder))).counts["new"] == 1


def _named(content: bytes, machine: str = "other-abc123") -> str:
    return f"{machine}.000001.{hashlib.sha256(content).hexdigest()[:16]}.jsonl.gz"


async def test_a_later_version_of_the_format_is_refused_by_its_number_until_it_is_known(
    two: tuple[Runtime, Runtime], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, _ = two
    folder = tmp_path / "sync"
    folder.mkdir()
    header = {"format": files.FORMAT, "version": 2, "machine": "other-abc123"}
    content = gzip.compress(json.dumps(header).encode() + b"\n")
    (folder / _named(content)).write_bytes(content)
    for _ in range(2):
        turn = await laptop.ingest.mirrors.turn(str(folder))
        assert "has version 2 of the format, and this mem-search knows 1" in turn.errors[0]
    assert "version 2" in (await laptop.ingest.mirrors.listed())[0][3]
    monkeypatch.setattr(files, "VERSION", 2)
    assert not (await laptop.ingest.mirrors.turn(str(folder), begin=True)).errors


async def test_a_line_that_cannot_be_used_is_named_and_the_others_are_read(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = tmp_path / "sync"
    await read(laptop, "alpha is here")
    await laptop.ingest.mirrors.turn(str(folder), begin=True)
    (file,) = folder.iterdir()
    header, line = gzip.decompress(file.read_bytes()).splitlines()
    odd = line.replace(b'"note"', b'"telegraph"')
    content = gzip.compress(b"\n".join((header, odd, line, b"")))
    file.unlink()
    (folder / _named(content)).write_bytes(content)
    turn = await desk.ingest.mirrors.turn(str(folder), begin=True)
    assert await texts(desk) == {"alpha is here"}
    assert "line 2" in turn.errors[0]
    assert "kind: input should be" in turn.errors[0]


async def test_other_names_are_passed_over(two: tuple[Runtime, Runtime], tmp_path: Path) -> None:
    laptop, _ = two
    folder = tmp_path / "sync"
    folder.mkdir()
    for name in ("notes.jsonl.gz", ".syncthing.x.tmp", "a-1.000001.0123456789abcdef (1).jsonl.gz"):
        (folder / name).write_bytes(b"anything")
    turn = await laptop.ingest.mirrors.turn(str(folder))
    assert not turn.errors
    assert not turn.waiting


async def test_a_third_machine_gets_what_a_machine_wrote_whose_files_are_gone(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, desk = two
    folder = tmp_path / "sync"
    await read(laptop, "alpha is here")
    await laptop.ingest.mirrors.turn(str(folder), begin=True)
    await desk.ingest.mirrors.turn(str(folder), begin=True)
    for each in folder.iterdir():
        each.unlink()
    await desk.ingest.mirrors.turn(str(folder))
    async with open_runtime(small(tmp_path / "third"), background=False) as third:
        await third.ingest.mirrors.turn(str(folder), begin=True)
        assert await texts(third) == {"alpha is here"}


async def test_a_folder_that_is_not_there_is_told_and_made_only_by_the_command(
    two: tuple[Runtime, Runtime], tmp_path: Path
) -> None:
    laptop, _ = two
    with pytest.raises(SourceError, match="connect the disk"):
        await laptop.ingest.mirrors.turn(str(tmp_path / "away"))
    assert not (tmp_path / "away").exists()
    with pytest.raises(InputError, match="own folder"):
        await laptop.ingest.mirrors.turn(str(tmp_path / "laptop" / "in"), begin=True)
    with pytest.raises(NotFound, match="not mirrored"):
        await laptop.ingest.mirrors.stop("/nowhere")
