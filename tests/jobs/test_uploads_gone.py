"""Retrying a job whose upload is not there any more."""

from __future__ import annotations

from pathlib import Path

from mem_search.wiring import open_runtime
from runtimes import ended, small


async def test_a_job_whose_upload_is_gone_says_so_and_what_to_do(tmp_path: Path) -> None:
    async with open_runtime(small(tmp_path / "home")) as runtime:
        queue = runtime.ingest.jobs
        params = {"source": "jsonl", "path": "notes.jsonl", "spooled": "abc/notes.jsonl"}
        job = await queue.submit("import", params)
        for _ in range(2):
            state = await ended(queue, job)
            assert state.state == "failed"
            assert state.message == (
                "the upload notes.jsonl is not kept any more: one that failed stays for a day;"
                " send the file again"
            )
            await queue.retry(job)
