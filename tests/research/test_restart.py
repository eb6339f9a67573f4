"""Killing the worker in the middle of background searches and messages: none is lost.

A child process queues searches with webhooks, says so, and is killed without warning; the next
runtime of the same home does the rest.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from mem_search.features.research.sql import ResearchStore
from mem_search.features.search_jobs.service import JobWithDelivery
from mem_search.features.webhooks.service import webhook_secret
from mem_search.model import Draft
from mem_search.model.results import OperationFilter
from mem_search.wiring import Runtime, open_runtime
from patience import PATIENCE
from runtimes import fill, small
from webhook_receiver import ids, receiving

JOBS = 6

WORKER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from runtimes import small
from search_requests import universal
from mem_search.wiring import open_runtime

async def main():
    allowed = sys.argv[2].split("/")[2]
    async with open_runtime(small(Path(sys.argv[1]), webhook_allow=(allowed,))) as runtime:
        for n in range(int(sys.argv[4])):
            request = universal("auth", mode="deep_research", session_id=f"s{n}")
            job = await runtime.research.search_jobs.submit(
                request, "http", base="http://x", webhook_url=sys.argv[2])
            print(job, flush=True)
        await asyncio.sleep(float(sys.argv[5]))
        print("now", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_searches_and_messages_survive_a_kill(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with open_runtime(small(home)) as runtime:
        await fill(runtime, Draft("note", "test", "a", "All about auth."))
    async with receiving(204, secret=webhook_secret(small(home))) as receiver:
        receiver.hold = asyncio.Event()  # nobody is told before the kill
        jobs: list[str] = []
        for pause in (0.0, 0.05):
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-c", WORKER, str(home), receiver.url,
                str(Path(__file__).parents[1]), str(JOBS // 2), str(pause),
                stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            assert worker.stdout is not None
            async with asyncio.timeout(PATIENCE):
                while (line := await worker.stdout.readline()) not in (b"now\n", b""):
                    jobs.append(line.decode().strip())
            worker.send_signal(signal.SIGKILL)
            await worker.wait()
        assert len(jobs) == JOBS
        receiver.hold.set()
        receiver.hold = None
        async with open_runtime(small(home, webhook_allow=(receiver.authority,))) as runtime:
            told = [await delivered(runtime, job) for job in jobs]
            steps, total = await runtime.store.part(ResearchStore).newest(OperationFilter(), 100, 0)
    assert {one.job.status for one in told} == {"completed"}
    # Each search is one step, however often it was begun, and each message one id.
    assert total == JOBS
    assert {step.session_id for step in steps} == {f"s{n}" for n in range(JOBS // 2)}
    assert set(ids(receiver.messages)) == {one.job.delivery_id for one in told}
    said = {message.id: message.data["data"]["job_id"] for message in receiver.messages}
    assert sorted(said.values()) == sorted(jobs)


async def delivered(runtime: Runtime, job: str) -> JobWithDelivery:
    async with asyncio.timeout(PATIENCE):
        while True:
            told = await runtime.research.search_jobs.get(job)
            if told.delivery is not None and told.delivery.state == "delivered":
                return told
            await asyncio.sleep(0.02)
