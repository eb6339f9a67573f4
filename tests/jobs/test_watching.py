"""A followed folder is read when something in it changes, not only at the next round."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from mem_search.model import Filters, Location
from mem_search.sources import by_name
from mem_search.wiring import Runtime, open_runtime
from runtimes import small

SECONDS = 120
"""How long a change may take to be seen on a busy machine before the test fails."""

FOLLOW = 100_000.0
"""Never within the test: what is seen was told by the system."""


async def texts(runtime: Runtime) -> dict[str, str]:
    """Path → text of what is stored."""
    page, _ = await runtime.store.records.page(Filters(), "date_asc", 100, 0)
    return {Path(record.source_id).name: record.text for record, _ in page}


async def becomes(runtime: Runtime, expected: dict[str, str]) -> None:
    found: dict[str, str] = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            while (found := await texts(runtime)) != expected:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    assert found == expected


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "lamp.txt").write_text("It burns oil.")
    return folder


async def test_a_file_that_changes_is_renamed_or_deleted_is_seen_at_once(
    tmp_path: Path, folder: Path
) -> None:
    async with open_runtime(small(tmp_path / "home", follow=FOLLOW)) as runtime:
        await runtime.ingest.reader.read(Location("files", str(folder)))
        await becomes(runtime, {"lamp.txt": "It burns oil."})
        (folder / "lamp.txt").write_text("It burns gas.")
        await becomes(runtime, {"lamp.txt": "It burns gas."})
        (folder / "lamp.txt").rename(folder / "light.txt")
        await becomes(runtime, {"light.txt": "It burns gas."})
        (folder / "deep" / "er").mkdir(parents=True)  # whose folders nobody watched before
        (folder / "deep" / "er" / "pier.md").write_text("It is long.")
        await becomes(runtime, {"light.txt": "It burns gas.", "pier.md": "It is long."})
        (folder / "deep" / "er" / "pier.md").write_text("It is short.")
        await becomes(runtime, {"light.txt": "It burns gas.", "pier.md": "It is short."})
        (folder / "light.txt").unlink()
        await becomes(runtime, {"pier.md": "It is short."})


async def test_a_restart_sees_what_changed_meanwhile_and_watches_on(
    tmp_path: Path, folder: Path
) -> None:
    settings = small(tmp_path / "home", follow=FOLLOW)
    async with open_runtime(settings) as runtime:
        await runtime.ingest.reader.read(Location("files", str(folder)))
    (folder / "lamp.txt").write_text("It burns gas.")
    async with open_runtime(settings) as runtime:
        await becomes(runtime, {"lamp.txt": "It burns gas."})
        (folder / "pier.txt").write_text("It is long.")
        await becomes(runtime, {"lamp.txt": "It burns gas.", "pier.txt": "It is long."})


async def test_a_single_file_that_an_editor_replaces_is_seen(tmp_path: Path, folder: Path) -> None:
    async with open_runtime(small(tmp_path / "home", follow=FOLLOW)) as runtime:
        await runtime.ingest.reader.read(Location("files", str(folder / "lamp.txt")))
        for words in ("It burns gas.", "It is out."):
            (folder / "new").write_text(words)
            (folder / "new").rename(folder / "lamp.txt")
            await becomes(runtime, {"lamp.txt": words})


async def test_what_is_excluded_or_linked_is_not_watched(tmp_path: Path, folder: Path) -> None:
    for name in ("node_modules/a", ".git", "sub/deep", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / ".memsearchignore").write_text("tmp/\n")
    (folder / "link").symlink_to(tmp_path)
    watched = by_name("files").to_watch(Location("files", str(folder)))
    assert list(watched) == [folder, folder / "sub", folder / "sub" / "deep"]


def letter(number: int) -> bytes:
    return (
        f"From: ada@example.org\nMessage-ID: <{number}@harbour>\nSubject: Lamp {number}\n\n"
        f"Lamp {number} burns.\n"
    ).encode()


async def test_mail_that_arrives_in_a_maildir_an_mbox_file_or_a_folder_is_seen(
    tmp_path: Path,
) -> None:
    mail = tmp_path / "Mail"
    for name in ("cur", "new", "tmp", ".Sent/cur", ".Sent/new", ".Sent/tmp"):
        (mail / name).mkdir(parents=True)
    box, head = mail / "Archive.mbox", b"From ada@example.org Sun Mar  1 10:00:00 2026\n"
    box.write_bytes(head + letter(1) + b"\n")
    seen = {"1@harbour": "Lamp 1 burns."}
    async with open_runtime(small(tmp_path / "home", follow=FOLLOW)) as runtime:
        await runtime.ingest.reader.read(Location("mail", str(mail)))
        await becomes(runtime, seen)
        (mail / "tmp/2.host").write_bytes(letter(2))
        (mail / "tmp/2.host").rename(mail / "new/2.host")
        await becomes(runtime, seen := {**seen, "2@harbour": "Lamp 2 burns."})
        (mail / "new/2.host").rename(mail / "cur/2.host:2,S")
        (mail / ".Sent/new/3.host").write_bytes(letter(3))
        await becomes(runtime, seen := {**seen, "3@harbour": "Lamp 3 burns."})
        with box.open("ab") as file:
            file.write(head + letter(4) + b"\n")
        await becomes(runtime, seen := {**seen, "4@harbour": "Lamp 4 burns."})
        (mail / "letters").mkdir()
        (mail / "letters/5.eml").write_bytes(letter(5))
        await becomes(runtime, seen := {**seen, "5@harbour": "Lamp 5 burns."})
        (mail / "cur/2.host:2,S").unlink()  # who clears a mailbox does not want to lose its mail
        (mail / "letters/6.eml").write_bytes(letter(6))
        await becomes(runtime, seen := {**seen, "6@harbour": "Lamp 6 burns."})
        (mail / "letters/6.eml").unlink()
        del seen["6@harbour"]
        await becomes(runtime, seen)


async def test_a_deleted_mail_file_keeps_the_message_that_another_location_has(
    tmp_path: Path,
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.eml").write_bytes(letter(1))
    both = [Location("mail", str(tmp_path / name)) for name in ("a", "b")]
    async with open_runtime(small(tmp_path / "home", follow=0)) as runtime:
        reader = runtime.ingest.reader
        for location in both:
            await reader.read(location)
        (tmp_path / "a" / "1.eml").unlink()
        assert (await reader.read(both[0])).deleted == 0
        assert await texts(runtime) == {"1@harbour": "Lamp 1 burns."}
        (tmp_path / "b" / "1.eml").unlink()
        assert (await reader.read(both[1])).deleted == 1
        assert await texts(runtime) == {}

        (tmp_path / "b" / "1.eml").write_bytes(letter(1))
        inside = [Location("mail", str(tmp_path)), both[1]]  # two locations, one file
        for location in inside:
            await reader.read(location)
        (tmp_path / "b" / "1.eml").unlink()
        told = await asyncio.gather(*map(reader.read, inside))
        assert sum(each.deleted for each in told) == 1
        assert await texts(runtime) == {}


async def test_following_turned_off_is_watching_turned_off(tmp_path: Path, folder: Path) -> None:
    async with open_runtime(small(tmp_path / "home", follow=0)) as runtime:
        watching = [task for task in asyncio.all_tasks() if task.get_name() == "watch"]
        await asyncio.gather(*watching)  # it has ended, or the test does not
        await runtime.ingest.reader.read(Location("files", str(folder)))
