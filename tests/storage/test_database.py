"""The connections: one writer, snapshots for readers, and errors of a bad file."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest

import drafts
from drafts import store
from mem_search.errors import StorageError
from mem_search.storage.sqlite.database import Database
from patience import PATIENCE
from small_disk import room_for


def _count(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("select count(*) from records").fetchone()
    return int(count)


async def test_writes_run_one_after_the_other_in_their_order(
    database: Database,
) -> None:
    seen: list[tuple[int, int]] = []

    def write(connection: sqlite3.Connection, number: int) -> None:
        seen.append((number, threading.get_ident()))
        store(connection, drafts.draft(f"{number}"))

    await asyncio.gather(*(database.write(write, number) for number in range(20)))
    assert [number for number, _ in seen] == list(range(20))
    assert len({thread for _, thread in seen}) == 1
    assert await database.read(_count) == 20


def _mapped(path: Path) -> int:
    """Regions of this process that are pages of the file."""
    return sum(line.endswith(str(path)) for line in Path("/proc/self/maps").read_text().split("\n"))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what is mapped")
async def test_pages_that_were_read_are_unmapped_at_rest(database: Database) -> None:
    for number in range(50):
        await database.write(store, drafts.draft(f"{number}"))
    await database.alone(lambda c: c.execute("pragma wal_checkpoint(truncate)").fetchall())
    assert await database.read(_count) == 50
    assert _mapped(database.path)
    database.unmap()
    assert not _mapped(database.path)
    assert await database.read(_count) == 50
    assert _mapped(database.path)  # the next search is as quick as before


async def test_unmapping_disturbs_no_reader(database: Database) -> None:
    for number in range(50):
        await database.write(store, drafts.draft(f"{number}"))
    begun, unmapped = threading.Event(), threading.Event()

    def read(connection: sqlite3.Connection) -> int:
        rows = connection.execute("select a.id, b.body from records a, records b")
        seen = [rows.fetchone()]
        begun.set()
        assert unmapped.wait(PATIENCE)
        return len(seen + rows.fetchall())

    reading = asyncio.ensure_future(database.read(read))
    await asyncio.to_thread(begun.wait, PATIENCE)
    await asyncio.to_thread(database.unmap)
    unmapped.set()
    assert await reading == 2500
    assert await database.read(_count) == 50


async def test_a_reader_sees_one_snapshot_while_a_write_lands(database: Database) -> None:
    looked, landed = threading.Event(), threading.Event()

    def read(connection: sqlite3.Connection) -> tuple[int, int]:
        before = _count(connection)
        looked.set()
        assert landed.wait(PATIENCE)
        return before, _count(connection)

    reading = asyncio.ensure_future(database.read(read))
    await asyncio.to_thread(looked.wait, 10)
    await database.write(store, drafts.draft("new"))
    landed.set()
    assert await reading == (0, 0)
    assert await database.read(_count) == 1


async def test_a_write_that_fails_leaves_nothing(database: Database) -> None:
    def write(connection: sqlite3.Connection) -> None:
        store(connection, drafts.draft("a"), drafts.draft("b"))
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        await database.write(write)
    tables = ("records", "passages", "outbox", "facets")
    for table in tables:
        rows = await database.read(lambda c, t=table: c.execute(f"select * from {t}").fetchall())
        assert rows == []
    await database.write(store, drafts.draft("c"))
    assert await database.read(_count) == 1


async def test_a_reading_that_failed_leaves_no_snapshot_behind(database: Database) -> None:
    for number in range(3):
        await database.write(store, drafts.draft(f"{number}"))
    unfinished: dict[int, sqlite3.Cursor] = {}
    threads = database._readers._max_workers
    meeting = threading.Barrier(threads)

    def fail(connection: sqlite3.Connection) -> None:
        cursor = connection.execute("select id from records")
        cursor.fetchone()
        unfinished[threading.get_ident()] = cursor  # as the traceback of an error holds it
        meeting.wait(PATIENCE)
        raise ValueError("in the middle of the rows")

    def count(connection: sqlite3.Connection) -> int:
        meeting.wait(PATIENCE)
        return _count(connection)

    errors = await asyncio.gather(
        *(database.read(fail) for _ in range(threads)), return_exceptions=True
    )
    assert [type(each) for each in errors] == [ValueError] * threads
    assert len(unfinished) == threads
    await database.write(store, drafts.draft("later"))
    assert await asyncio.gather(*(database.read(count) for _ in range(threads))) == [4] * threads


async def test_readers_cannot_write(database: Database) -> None:
    with pytest.raises(StorageError, match="readonly"):
        await database.read(store, drafts.draft("a"))
    assert await database.read(_count) == 0


async def test_the_file_and_its_log_are_for_the_owner_alone(database: Database) -> None:
    await database.write(store, drafts.draft("a"))
    modes = {file.name: file.stat().st_mode & 0o777 for file in database.path.parent.iterdir()}
    assert modes
    assert set(modes.values()) == {0o600}, modes


async def test_a_store_opens_again_with_what_it_held(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for expected in (0, 1):
        database = await Database.open(path)
        assert await database.read(_count) == expected
        await database.write(store, drafts.draft("a"))
        await database.close()
    names = sorted(file.name for file in tmp_path.iterdir())  # noqa: ASYNC240
    assert names == ["store.db", "store.db.mark"]  # the log is folded in


async def test_two_that_open_a_new_store_at_once_both_get_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    opened = await asyncio.gather(*(Database.open(path) for _ in range(4)))
    for database in opened:
        assert await database.read(_count) == 0
        await database.close()


async def test_a_corrupt_file_is_named_with_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is no database, whatever its name says\n" * 100)
    with pytest.raises(
        StorageError, match=r"store\.db is damaged.*mem-search doctor.*restore.*mv "
    ):
        await Database.open(path)
    assert path.read_bytes().startswith(b"this is no database")


async def _read_all(path: Path) -> None:
    database = await Database.open(path)
    try:
        for table in ("records", "passages"):
            await database.read(lambda c, t=table: c.execute(f"select * from {t}").fetchall())
    finally:
        await database.close()


async def test_damage_found_while_reading_is_named_with_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    database = await Database.open(path)
    await database.write(store, *(drafts.draft(f"{n}", "word " * 200) for n in range(200)))
    await database.close()
    content = bytearray(path.read_bytes())
    content[4096 * 20 :] = b"\xff" * (len(content) - 4096 * 20)
    path.write_bytes(content)
    with pytest.raises(
        StorageError, match=r"store\.db is damaged.*mem-search doctor.*restore.*mv "
    ):
        await _read_all(path)


async def test_another_programs_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    theirs = sqlite3.connect(path)
    theirs.execute("create table observations(id)")
    theirs.commit()
    theirs.close()
    path.chmod(0o644)
    before = path.read_bytes()
    with pytest.raises(StorageError, match=r"theirs\.db.*observations.*move it away"):
        await Database.open(path)
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o644
    assert [file.name for file in tmp_path.iterdir()] == ["theirs.db"]  # noqa: ASYNC240


HOLDER = """
    import sqlite3, sys
    connection = sqlite3.connect(sys.argv[1], isolation_level=None)
    connection.execute("begin immediate")
    print("held", flush=True)
    sys.stdin.read()
"""


async def test_a_store_that_another_process_holds_says_so_and_works_when_it_is_free(
    tmp_path: Path,
) -> None:
    database = await Database.open(tmp_path / "store.db", busy_seconds=0.05)
    with subprocess.Popen(  # noqa: ASYNC220  it ends when it is told
        [sys.executable, "-c", textwrap.dedent(HOLDER), str(database.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StorageError, match=r"store\.db.*locked.*another process holds it"):
            await database.write(store, drafts.draft("a"))
        assert await database.read(_count) == 0  # readers are not held up
        holder.communicate()
    await database.write(store, drafts.draft("a"))
    assert await database.read(_count) == 1
    await database.close()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot write .*store\.db"):
        await Database.open(tmp_path / "file" / "store.db")


async def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()
    with pytest.raises(StorageError, match=r"store\.db.*writable"):
        await Database.open(tmp_path / "store.db")


READ_ONLY = """
    import asyncio, os, sys
    from pathlib import Path
    from mem_search.errors import StorageError
    from mem_search.storage.sqlite.database import Database

    if os.geteuid() == 0:
        os.setuid(65534)  # root may write everywhere
    try:
        asyncio.run(Database.open(Path(sys.argv[1])))
    except StorageError as error:
        print(error)
"""


def test_a_read_only_folder_is_named_with_the_next_step() -> None:
    # Not in pytest's own folder, which another run of pytest closes to other users at any time.
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o555)
        said = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(READ_ONLY), f"{home}/store.db"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        Path(home).chmod(0o755)
    assert "store.db" in said
    assert "writable" in said


async def test_a_full_disk_refuses_the_whole_batch_and_the_store_recovers(
    database: Database,
) -> None:
    await database.write(store, drafts.draft("before"))

    def limit(connection: sqlite3.Connection, pages: int) -> None:
        connection.execute(f"pragma max_page_count = {pages}")

    await database.write(limit, 1)  # SQLite takes the present size instead
    batch = [drafts.draft(f"{n}", f"number {n} " * 300) for n in range(50)]
    with pytest.raises(StorageError, match="the disk is full; free some space"):
        await database.write(store, *batch)
    assert await database.read(_count) == 1
    await database.write(limit, 1_000_000)
    await database.write(store, *batch)
    assert await database.read(_count) == 51


FULL = """
    import asyncio, resource, sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[2])
    import drafts
    from mem_search.errors import StorageError
    from mem_search.storage.sqlite.database import Database

    def count(connection):
        return connection.execute("select count(*) from records").fetchone()[0]

    async def main():
        database = await Database.open(Path(sys.argv[1]))
        await database.write(drafts.store, drafts.draft("before"))
        size = sum(file.stat().st_size for file in Path(sys.argv[1]).parent.iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        batch = [drafts.draft(f"{n}", f"number {n} " * 300) for n in range(300)]
        try:
            await database.write(drafts.store, *batch)
        except StorageError as error:
            print(error)
        print(await database.read(count))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        await database.write(drafts.store, *batch)
        print(await database.read(count))
        await database.close()

    asyncio.run(main())
"""


def test_a_disk_that_refuses_to_grow_a_file_leaves_the_store_whole(tmp_path: Path) -> None:
    said = subprocess.run(
        [
            sys.executable, "-c", textwrap.dedent(FULL),
            str(tmp_path / "store.db"), str(Path(__file__).parents[1]),
        ],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert "the disk is full" in said[0]
    assert "no transaction was stored in part" in said[0]
    assert said[1:] == ["1", "301"]


async def test_a_store_without_room_is_read_as_it_is_and_written_when_there_is_room(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    database = await Database.open(path)
    await database.write(store, drafts.draft("a", "the lighthouse"))
    await database.close()
    with room_for(4096):
        database = await Database.open(path)
        assert "a limit of the size of files" in database.unwritable
        assert await database.read(_count) == 1
        assert await database.aside(_count) == 1
        with pytest.raises(StorageError, match="searches are answered"):
            await database.write(store, drafts.draft("b"))
        assert await database.read(_count) == 1
    await database.write(store, drafts.draft("b"))
    assert database.unwritable == ""
    assert await database.read(_count) == 2
    await database.close()
