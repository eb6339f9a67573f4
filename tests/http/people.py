"""Several people on one worker: the owner and users, each with a token."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from http_worker import AUTHORIZED, Client, lifecycle_of

from mem_search.wiring import Runtime
from patience import PATIENCE
from runtimes import settled


@dataclass(frozen=True)
class Person:
    """Somebody who asks; ``headers`` carry their token."""

    name: str
    headers: dict[str, str]

    def __str__(self) -> str:
        return self.name


OWNER = Person("the owner", AUTHORIZED)


async def join(client: Client, user: str, name: str = "", **wanted: Any) -> Person:
    """A user with a new token."""
    body = {"name": name or f"{user}-laptop", "user": user, **wanted}
    reply = await client.post("/api/v1/tokens", json=body, headers=AUTHORIZED)
    assert reply.status == 201, await reply.text()
    return Person(user, {"Authorization": f"Bearer {(await reply.json())['token']}"})


async def bring_in(client: Client, person: Person, *records: dict[str, Any]) -> str:
    """Upload records and wait until they are stored and embedded; returns the job's id."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    reply = await client.post(
        "/api/import/jsonl",
        data=lines.encode(),
        headers={**person.headers, "Content-Type": "application/x-ndjson"},
    )
    assert reply.status == 202, await reply.text()
    job = str((await reply.json())["job"])
    opening = lifecycle_of(client)
    if person is OWNER:
        await _done(opening.runtime)
    else:
        async with opening.users.lease(person.name) as runtime:
            await _done(runtime)
    return job


async def _done(runtime: Runtime) -> None:
    async with asyncio.timeout(PATIENCE):
        while await runtime.store.jobs.unfinished():  # noqa: ASYNC110  it asks the store
            await asyncio.sleep(0.01)
    await settled(runtime)
