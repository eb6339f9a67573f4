"""scripts/evaluate ingest over a small folder: found, named in the ledger, or lost."""

from __future__ import annotations

import sys
from pathlib import Path

import ingest
from mem_search.wiring import open_runtime
from runtimes import small


async def test_each_file_is_found_by_its_words_named_or_lost(tmp_path: Path) -> None:
    root = tmp_path / "data"
    (root / "mail").mkdir(parents=True)
    (root / "lamp.txt").write_text("The lamp burns at the end of the pier.")
    (root / "twin.txt").write_text("The lamp burns at the end of the pier.")
    (root / "pier.md").write_text("# Pier\n\nForty metres of oak.")
    (root / "mail" / "lease.eml").write_text(
        "From: Ada <ada@example.org>\nSubject: Lease\nMessage-ID: <1@x>\n\nSign the parchment.\n"
    )
    (root / "broken.docx").write_bytes(b"PK\x03\x04broken")
    files, log = [path for path in sorted(root.rglob("*")) if path.is_file()], tmp_path / "log"
    words = {"pier.md": "planks of beech"}
    async with open_runtime(small(tmp_path / "home")) as runtime:
        part = await ingest.read_files(runtime, root, files[::2], log)
        assert len(part) == 3
        read = await ingest.read_files(runtime, root, files, log)
        found = await ingest.outcomes(runtime, [*read.values()], words)
    assert {each.file: each.status for each in found} == {
        "broken.docx": "named",
        "lamp.txt": "found",
        "mail/lease.eml": "found",
        "pier.md": "lost",  # asked for words that it does not have
        "twin.txt": "found",
    }
    assert "damaged" in next(each.detail for each in found if each.status == "named")
    assert len(log.read_text().splitlines()) == 5  # a file of the first part is not read again
    if sys.platform == "linux":
        assert read["twin.txt"].megabytes > 0  # of the process that read it
