"""One run of the owned Chroma: start the child, wait until it answers, end it.

``process`` decides which data it gets and what happens when it dies.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from mem_search.errors import IndexUnavailable
from mem_search.platform.namespaces import has_namespaces
from mem_search.redacted_output import RedactedOutput
from mem_search.storage.chroma.connection import Unreachable, heartbeat
from mem_search.storage.chroma.directory import CHILD
from mem_search.storage.chroma.wire import Dial, Door, dial
from mem_search.storage.vector_index import Protection

HOST: Final = "127.0.0.1"
_MAX_LOG_BYTES = 5 * 1024 * 1024
_SECRETS = {"OPENAI_API_KEY", "MEM_SEARCH_TOKEN"}


class Child:
    """A running Chroma; ``launch`` creates it."""

    def __init__(
        self, process: asyncio.subprocess.Process, address: tuple[str, int], door: Door | None
    ) -> None:
        self._process = process
        self._door = door
        self.pid: int = process.pid
        self.address = address
        self.dial: Dial = dial(*address)
        self.protection: Protection = "port" if address[0] == HOST else "address"
        self.refusal = "" if door else "this system has no network namespaces"

    async def ended(self) -> str:
        """Wait until it has ended, and return how it ended."""
        code = await self._process.wait()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"

    @property
    def crashed(self) -> bool:
        """Whether it ended by an error, and not because somebody ended it."""
        code = self._process.returncode
        return code is not None and code not in (0, -signal.SIGTERM, -signal.SIGKILL)

    async def answering(self, patience: float) -> None:
        """Wait for the first heartbeat. Raises IndexUnavailable when it ends or does not answer."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        await asyncio.to_thread(self._choose_way, patience)
        while True:
            if self._process.returncode is not None:
                raise IndexUnavailable(f"Chroma {await self.ended()} while starting")
            try:
                await asyncio.to_thread(heartbeat, self.dial, 1.0)
            except Unreachable as error:
                if loop.time() >= deadline:
                    raise Unreachable(
                        f"Chroma did not answer within {patience:.0f} s of its start"
                    ) from error
                await asyncio.sleep(0.03)
            else:
                return

    async def end(self, patience: float = 5.0) -> None:
        """Send SIGTERM, wait ``patience`` seconds, send SIGKILL. Returns when it has ended."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):  # it may end by itself at this moment
                self._process.terminate()
            try:
                async with asyncio.timeout(patience):
                    await self._process.wait()
            except TimeoutError:
                with suppress(ProcessLookupError):
                    self._process.kill()
        await self._process.wait()
        if self._door is not None:
            self._door.close()

    def _choose_way(self, patience: float) -> None:
        if self._door is None:
            return
        try:
            self.refusal = self._door.refused(patience)
        except OSError as error:
            raise Unreachable(f"Chroma did not start: {error}") from error
        if not self.refusal:
            self.dial, self.protection = self._door.connect, "namespace"


async def launch(data: Path, log: Path, *, isolated: bool = True) -> Child:
    """Start Chroma over ``data`` at a free address of this machine, without waiting for an answer.

    ``isolated`` asks for a network namespace of its own. Call it from a thread that lives as long
    as the child should: Linux ends the child with the thread that started it. Raises
    IndexUnavailable when the process cannot be started.
    """
    host, port = address = _free_address()
    door = Door() if isolated and has_namespaces() else None
    options = {"path": data, "host": host, "port": port, "parent": os.getpid()}
    if door is not None:
        options["door"] = door.inner.fileno()
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        output = RedactedOutput(log, _MAX_LOG_BYTES)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # the folder of the script must not be on the import path
                str(CHILD),
                *(f"--{name}={value}" for name, value in options.items()),
                stdin=subprocess.PIPE,  # its end is ours
                stdout=output.writer,
                stderr=subprocess.STDOUT,
                env=_environment(os.environ),
                start_new_session=True,  # Ctrl-C goes to the worker, which then ends it in order
                pass_fds=() if door is None else (door.inner.fileno(),),
            )
        finally:
            output.close()
    except BaseException as error:
        if door is not None:
            door.close()
        if isinstance(error, OSError):
            raise IndexUnavailable(f"Chroma cannot be started: {error}") from error
        raise
    if door is not None:
        door.inner.close()  # so that its end is noticed
    return Child(process, address, door)


def _free_address() -> tuple[str, int]:
    """A free port of a random address of 127/8, of 127.0.0.1 where the system has only that one.

    A web page could try 65,535 ports of a known address, but not 2**40 addresses with a port.
    """
    host = f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
    for each in (host, HOST):
        with socket.socket() as probe, suppress(OSError):
            probe.bind((each, 0))
            return each, int(probe.getsockname()[1])
    raise IndexUnavailable("Chroma cannot be started: this machine has no free port at 127.0.0.1")


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The child's environment: no telemetry, no settings of another Chroma, no secrets."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _SECRETS
        and not name.startswith(("CHROMA_", "OTEL_"))
        and not name.lower().endswith("_proxy")
    }
    return {**kept, "ANONYMIZED_TELEMETRY": "FALSE", "NO_COLOR": "1", "RUST_LOG": "warn"}
