"""Events of agents' hooks: from the files that hooks leave in the home to records.

An event is one file in ``HOME/hooks/events``. A hook writes it and wakes the worker, or it sends
the content, which the worker redacts before it writes the file. Without a worker the file waits. An
event of a session whose transcript lies on this machine only says that there is something to read,
and so does every event of another agent than Claude Code, whose source finds its sessions. Where a
client of another program tells of another agent, its source is read first, and an event of a
session that it has is done.

Other events have their content, and become lines of a transcript of our own in
``HOME/hooks/sessions``, which the source ``claude-code`` reads like any other. It stays for a week
after the last event: a session that ended can be resumed, and its summary is of the whole session.
Records have the ids of their lines, so an event that is taken twice, because the worker was killed
in between, is one record.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from mem_search.agents.base import folders_in
from mem_search.background import Lanes
from mem_search.errors import InputError, MemSearchError, StorageError, Unavailable
from mem_search.features.capture import costs
from mem_search.features.capture.journals import (
    SAFE_SESSION,
    SOURCE,
    Journals,
    Place,
    ReadEvent,
    Session,
    SuspectEvents,
    Taken,
    folder_of,
    of_other_agent,
    quotes_forgotten,
    read_event,
    remove,
    transcript_at,
)
from mem_search.jobs.reader import LocationReader, machine_from
from mem_search.model import Filters, LedgerEntry, Location
from mem_search.model.forgetting import Traces, of_session
from mem_search.storage.sql.forgetting import StoredForgetting
from mem_search.storage.sql.ingest import Ingest
from mem_search.storage.sql.records import Records
from mem_search.text import secret_rules
from mem_search.text.redaction import Redaction

log = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 5.0
"""Between two looks for events of hooks that could not wake the worker."""

GRACE_SECONDS: Final = 4.0
"""The first prompt of a session comes before its transcript; so long it is waited for."""

PATIENCE_SECONDS: Final = 10.0
"""So long events wait for those before them to be read; what is slow goes on beside them."""

FORGOTTEN: Final = (
    "this session was forgotten, so what hooks tell of it is left out; to store it again, import a"
    " file that has it: mem-search import --even-forgotten FILE"
)

AGAIN: Final = "to try again: move it from hooks/set-aside to hooks/events, in the home"

MAX_WAITING: Final = 5_000
"""Events that clients may leave before the first of them is read. A busy hour has hundreds."""
_ALWAYS: Final = ("hook_event_name", "session_id", "cwd")


class HookEvents:
    """Takes the events below ``home``; one drain at a time."""

    def __init__(
        self,
        home: Path,
        store: Ingest,
        records: Records,
        forgetting: StoredForgetting,
        reader: LocationReader,
        redaction: Redaction,
    ) -> None:
        self.home = home
        self.folder = home / "hooks" / "events"
        self.sessions = home / "hooks" / "sessions"
        self._store, self._records, self._forgetting = store, records, forgetting
        self._reader = reader
        self._redaction = redaction
        self._journals = Journals(self.sessions, redaction)
        self.aside = home / "hooks" / "set-aside"
        self._suspects = SuspectEvents(home / "hooks" / "taking.json")
        self._lanes = Lanes()
        self._woken = asyncio.Event()
        self._draining = asyncio.Lock()

    @property
    def redacts_at_once(self) -> bool:
        """Whether ``leave`` does not wait for the rules of secrets."""
        return secret_rules.are_loaded()

    def leave(
        self, event: Mapping[str, Any], unique: str = "", field: str = "event.session_id"
    ) -> None:
        """Keep an event that a client or a hook sent; it is taken soon.

        It is on the disk, redacted, when this returns. ``unique`` names the event: one that a hook
        leaves again, because the reply came too late, is the same. Raises InputError that names
        ``field`` for a session id that is none, Unavailable when too many wait, StorageError when
        the disk refuses it. Blocks.
        """
        session = event.get("session_id")
        if not isinstance(session, str) or not SAFE_SESSION.fullmatch(session):
            raise InputError("has to be letters, digits and - _ : . @ +, at most 200", field=field)
        unique = unique or f"{time.time_ns():020}-{secrets.token_hex(4)}"
        transcript = transcript_at(event)
        name = f"session-{session}" if transcript else unique
        if transcript:
            event = {name: event.get(name) for name in _ALWAYS} | {
                "environ": folders_in(event.get("environ")), "transcript_path": transcript
            }  # fmt: skip
        kept = json.dumps(self._redaction.values(dict(event))).encode("utf-8", "backslashreplace")
        part = self.folder / f"{unique}.part"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if sum(1 for _ in os.scandir(self.folder)) >= MAX_WAITING:
                raise Unavailable(f"{MAX_WAITING} events wait to be read; try again in a minute")
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(kept)
            part.replace(self.folder / f"{name}.json")
        except OSError as error:
            part.unlink(missing_ok=True)
            raise StorageError(f"the event cannot be kept: {error.strerror}") from error
        self.wake()

    async def forget(self, sessions: Collection[str], traces: Traces | None = None) -> int:
        """Remove what is kept of these sessions, and what has a word of ``traces``.

        Our own transcripts of sessions and the copies of others. ``traces`` are also looked for in
        events that wait; this waits for those that are being taken. Returns how many files changed.
        """
        if traces is None:
            removed = await asyncio.to_thread(self._forget, sessions, None)
        else:
            async with self._draining:
                removed = await asyncio.to_thread(self._forget, sessions, traces)
        if self._reader.kept is not None:
            removed += await self._reader.kept.forget(sessions, traces)
        return removed

    def _forget(self, sessions: Collection[str], traces: Traces | None) -> int:
        files = [file for file in self.sessions.glob("*.jsonl") if file.stem in sessions]
        changed = 0
        if traces is not None:
            waiting = chain(self.folder.glob("*"), self.aside.glob("*"))
            files += [file for file in waiting if quotes_forgotten(file, traces)]
            changed = self._journals.forget(traces) + costs.forget(self.home, traces)
        for file in files:
            file.unlink(missing_ok=True)
        return len(files) + changed

    def wake(self) -> None:
        """Look for events now."""
        self._woken.set()

    async def run(self) -> None:
        """Take events until cancelled: when woken, and every few seconds."""
        async with self._lanes:
            while True:
                self._woken.clear()
                try:
                    waiting = await self.drain()
                except (OSError, MemSearchError) as error:
                    log.warning("events of hooks are taken later: %s", error)
                    waiting = True
                except Exception:
                    # A bug over some events must not end the taking of all later ones.
                    log.exception("events of hooks are taken later")
                    waiting = False
                pause = GRACE_SECONDS / 4 if waiting else PAUSE_SECONDS
                try:
                    async with asyncio.timeout(pause):
                        await self._woken.wait()
                except TimeoutError:
                    continue

    async def drain(self, now: float | None = None) -> bool:
        """Take the events there are; True if some wait for a transcript. Raises OSError."""
        async with self._draining:
            return await self._drain(time.time() if now is None else now)

    async def recover(self) -> None:
        """Before anything is read: set aside the events over which the worker died twice.

        What they left in our own transcripts is removed: it would be read again. The others over
        which it died come back there one at a time. Raises OSError.
        """
        if aside := await asyncio.to_thread(self._recover):
            reason = "the worker ended twice while it read this"
            await self._note_aside(dict.fromkeys(aside, reason))
            self._reader.forget_deaths(Location(SOURCE, str(self.sessions)))

    async def _note_aside(self, aside: Mapping[str, str]) -> None:
        """Say in the ledger why events were set aside."""
        why = ((f"{name}.json", f"{reason}; {AGAIN}") for name, reason in aside.items())
        entries = [LedgerEntry(name, "failed", reason) for name, reason in why]
        await self._store.note_items(Location(SOURCE, str(self.sessions)), entries)

    def _set_aside(self, name: str) -> None:
        self.aside.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            (self.folder / f"{name}.json").replace(self.aside / f"{name}.json")

    def _recover(self) -> list[str]:
        self._suspects.remember()
        if not self._suspects.deaths:
            return []
        self._journals.remove(self._suspects.deaths.keys())
        aside = self._suspects.to_set_aside()
        for name in aside:
            log.error("the worker ended twice while it read the event %s: it is set aside", name)
            self._set_aside(name)
        self._suspects.forget(aside)
        return aside

    async def _drain(self, now: float) -> bool:
        files = await asyncio.to_thread(self._files)
        sizes = {file.stem: size for file, _, size in files}
        written = {file.stem: (file, at) for file, at, _ in files}
        waiting = False
        for group in self._suspects.in_groups(sizes):
            waiting |= await self._take_group(group, written, now)
        await asyncio.to_thread(self._journals.sweep, time.time())
        return waiting

    async def _take_group(
        self, group: Sequence[str], written: Mapping[str, tuple[Path, int]], now: float
    ) -> bool:
        """Take these events; whether some wait. One over which there is a bug is set aside."""
        patience = None if group[0] in self._suspects.deaths else PATIENCE_SECONDS
        try:
            with self._suspects.taking(group):
                events = await asyncio.to_thread(self._events, [written[name] for name in group])
                read = await self._read_by_sources(events)
                refused = await self._refused(events)
                taken, waits, aside, left = await asyncio.to_thread(
                    self._sorted_events, events, read, refused, now
                )
                if aside:
                    await self._note_aside(aside)
                if left:
                    entries = [LedgerEntry(session, "left", FORGOTTEN) for session in sorted(left)]
                    await self._store.note_items(Location(SOURCE, str(self.sessions)), entries)
                await self._take(taken, patience)
            return waits
        except (OSError, MemSearchError):
            raise  # a full disk is no fault of the events
        except Exception as error:
            if len(group) > 1:
                return any([await self._take_group((name,), written, now) for name in group])
            log.exception("the event %s is set aside", group[0])
            await asyncio.to_thread(self._set_aside, group[0])
            reason = f"internal error: {type(error).__name__}: {error}"
            await self._note_aside({group[0]: reason})
            return False

    async def _take(self, taken: list[Taken], patience: float | None) -> None:
        """Read what there is to read for these events; a place that is slow holds only its own."""
        places = await self._locations({place for _, _, place in taken if place})
        of_places: dict[tuple[Place, ...], list[Taken]] = {}
        for event in taken:
            locations = places[event[2]] if event[2] else ()
            key = tuple((each.source, each.path) for each in locations)
            of_places.setdefault(key, []).append(event)
        for key, events in of_places.items():
            locations = places[events[0][2]] if events[0][2] else ()
            self._lanes.start(repr(key), partial(self._read_for, locations, events))
        await self._lanes.wait(patience)

    async def _read_for(self, locations: Sequence[Location], events: list[Taken]) -> None:
        with self._suspects.taking([file.stem for file, _, _ in events]):
            await self._read(locations)
            # Only now: an event whose records were not stored is taken again.
            await asyncio.to_thread(remove, events)

    async def _read(self, locations: Iterable[Location]) -> None:
        for location in locations:
            try:
                await self._reader.read(location)
            except MemSearchError as error:
                log.info("%s: %s", location.path, error)  # `mem-search stats` shows it

    async def _read_by_sources(self, events: list[ReadEvent]) -> set[Session]:
        """The sessions among those of other agents, told by clients, that sources have."""
        told = {session for _, _, event in events if event and (session := of_other_agent(event))}
        places = await self._locations({(agent, "") for agent, _ in told})
        locations = chain.from_iterable(places.values())
        await self._read({(each.source, each.path): each for each in locations}.values())
        return {each for each in told if await self._has(*each)}

    async def _has(self, agent: str, session: str) -> bool:
        of_session = Filters(source=agent, session=session)
        _, records = await self._records.page(of_session, "date_asc", 1, 0)
        # Work of a subagent is stored with the session above it.
        return bool(records or await self._store.ledger(agent, session, 1, 0, "taken"))

    def _files(self) -> list[tuple[Path, int, int]]:
        """The files of the events there are, in the order of their names: when written, bytes."""
        files = []
        for file in sorted(self.folder.glob("*.json")):
            status = file.lstat()
            files.append((file, status.st_mtime_ns, status.st_size))
        return files

    def _events(self, files: list[tuple[Path, int]]) -> list[ReadEvent]:
        return [(file, written, read_event(file, self.home)) for file, written in files]

    async def _refused(self, events: list[ReadEvent]) -> set[str]:
        """The sessions among those told here that were forgotten.

        An event says when it came and not when what it tells was said. So nothing of them is
        taken; a transcript has times, and what was said in it since is.
        """
        told = {of_session(event["session_id"]) for _, _, event in events if event}
        return {session for _, session, _ in await self._forgetting.forgotten([*told])}

    def _sorted_events(
        self, events: list[ReadEvent], read: set[Session], refused: set[str], now: float
    ) -> tuple[list[Taken], bool, dict[str, str], set[str]]:
        """Each event that is ready, whether others wait, what was set aside, with the reason, and
        the sessions of which something is left out.

        ``read`` are the sessions of other agents that their sources have, ``refused`` those that
        were forgotten.
        """
        taken: list[Taken] = []
        waiting, aside, left = False, dict[str, str](), set[str]()
        for file, written, event in events:
            try:
                if event is None or of_other_agent(event) in read:
                    taken.append((file, written, None))
                elif agent := str(event.get("agent") or ""):
                    taken.append((file, written, (agent, folder_of(agent, event))))
                elif transcript := transcript_at(event):
                    folder = folder_of(SOURCE, event)
                    is_there = folder and Path(transcript).is_relative_to(folder)
                    taken.append((file, written, (SOURCE, folder if is_there else transcript)))
                elif event["session_id"] in refused:
                    taken.append((file, written, None))
                    left.add(event["session_id"])
                elif 0 <= now - written / 1e9 < GRACE_SECONDS:  # not of a clock that was ahead
                    waiting = True
                else:
                    at = datetime.fromtimestamp(written / 1e9, UTC)
                    self._journals.append(event, file.stem, at)
                    taken.append((file, written, (SOURCE, str(self.sessions))))
            except (OSError, MemSearchError):
                raise  # a full disk is no fault of the event
            except Exception as error:
                log.exception("%s is not as expected: it is set aside", file.name)
                self._set_aside(file.stem)
                aside[file.stem] = f"it is not as expected ({type(error).__name__}: {error})"
        return taken, waiting, aside, left

    async def _locations(self, places: set[Place]) -> dict[Place, Sequence[Location]]:
        """What to read: the followed location that has the path, else the path itself."""
        if not places:
            return {}
        followed = [each.location for each in await self._store.locations() if each.followed]
        by_place: dict[Place, Sequence[Location]] = {}
        for source, path in sorted(places):
            known = [each for each in followed if each.source == source]
            if path:
                parents = {path, *map(str, Path(path).parents)}
                known = [each for each in known if each.path in parents][:1]
                known = known or [Location(source, path)]
            by_place[source, path] = known or await self._discovered(source)
        return by_place

    async def _discovered(self, source: str) -> list[Location]:
        """Where the sessions of an agent lie that was never read before."""
        try:
            return await self._reader.find(machine_from({}, os.environ), source, "")
        except MemSearchError:
            costs.drop(self.home, "its agent has no sessions here")
            return []
