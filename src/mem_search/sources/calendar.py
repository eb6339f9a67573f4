"""The source `calendar`: events, tasks and journals of calendars (iCalendar, `.ics`).

Each is a note whose date is its start. An event that is repeated is one record, with its rule.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from mem_search.contracts import FileFormat
from mem_search.extractors.main_text import plain_text
from mem_search.model import Draft, LedgerEntry
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text.content_lines import Component, Property, components

NAME: Final = "calendar"

_MAX_BYTES: Final = 200 * 2**20
_TAKEN: Final = {"VEVENT": "event", "VTODO": "task", "VJOURNAL": "journal"}
_BEGIN: Final = pattern(rb"^BEGIN:(?:VEVENT|VTODO|VJOURNAL)\s*$", re.IGNORECASE | re.MULTILINE)
_TIME: Final = pattern(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)?(Z)?)?")
_OFFSET: Final = pattern(r"([+-])(\d\d)(\d\d)(?:\d\d)?")

Zones = Mapping[str, tzinfo]


class Calendar(WholeFiles):
    """The source id is the UID, with the date of an exception of a series."""

    name = NAME
    follows = True
    file_format = FileFormat((".ics", ".ical", ".ifb", ".vcs"), ("text/calendar",))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() in (".ics", ".ical", ".ifb", ".vcs"):
            return b"BEGIN:VCALENDAR" in head(path, 4096).replace(b"\0", b"").upper()
        return False

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        data = read_regular_file(file.path, _MAX_BYTES)
        stated = len(_BEGIN.findall(data.replace(b"\0", b"").replace(b"\r", b"")))
        number, seen = 0, dict[str, int]()
        for calendar in components(data):
            zones = _zones(calendar)
            named = calendar.text("X-WR-CALNAME", "NAME") or Path(file.name).stem
            for entry in calendar.components if calendar.name == "VCALENDAR" else [calendar]:
                if entry.name not in _TAKEN:
                    continue
                number += 1
                yield draft(entry, zones, named, seen)
                if not entry.is_whole:
                    why = f"entry {number} is cut off: its END:{entry.name} is missing"
                    yield LedgerEntry(f"{file.name}:{number}", "failed", why)
        if number != stated:
            why = f"{stated - number} of {stated} entries were not read: their lines are damaged"
            yield LedgerEntry(f"{file.name}:count", "failed", why)


def draft(entry: Component, zones: Zones, calendar: str, seen: dict[str, int]) -> Draft:
    """The record of an event, a task or a journal."""
    title = entry.text("SUMMARY") or f"({_TAKEN[entry.name]} without a title)"
    start, end = _first(entry, "DTSTART", "DUE"), _first(entry, "DTEND", "DUE")
    began, ended = _shown(start, zones), _shown(end, zones) if end is not start else ""
    when = f"{began} – {ended}" if ended and not _is_same_day(start, end) else began
    people = [_person(each) for each in entry.all("ORGANIZER", "ATTENDEE")]
    lines = [
        title,
        f"When: {when}" if when else "",
        f"Repeated: {entry.text('RRULE')}" if entry.all("RRULE") else "",
        f"Where: {entry.text('LOCATION')}" if entry.all("LOCATION") else "",
        f"With: {', '.join(dict.fromkeys(people))}" if people else "",
        f"Status: {entry.text('STATUS').lower()}" if entry.all("STATUS") else "",
        f"Calendar: {calendar}" if calendar else "",
        *(each.text.strip() for each in entry.all("DESCRIPTION", "COMMENT")),
        *(
            plain_text(each.text)
            for each in entry.all("X-ALT-DESC")
            if not entry.all("DESCRIPTION")
        ),
        *(f"Attached: {name}" for name in map(_attached, entry.all("ATTACH")) if name),
    ]
    identity = entry.text("UID")
    if not identity:
        said = "\n".join((title, when, entry.text("LOCATION")))
        identity = hashlib.blake2b(said.encode(), digest_size=12).hexdigest()
    if exception := entry.text("RECURRENCE-ID"):
        identity += f"#{exception}"
    seen[identity] = count = seen.get(identity, 0) + 1
    metadata: dict[str, Any] = {
        "type": _TAKEN[entry.name], "calendar": calendar, "start": began, "end": ended,
        "location": entry.text("LOCATION"), "participants": list(dict.fromkeys(people)),
    }  # fmt: skip
    at = _ms(start, zones)
    made = _first(entry, "CREATED", "DTSTAMP")
    return Draft(
        kind="note",
        source=NAME,
        source_id=identity if count == 1 else f"{identity}#{count}",
        text="\n".join(filter(None, lines)),
        title=title,
        created_at=at if at is not None else _ms(made, zones),
        updated_at=_ms(_first(entry, "LAST-MODIFIED"), zones),
        url=entry.text("URL") if entry.text("URL").startswith("http") else "",
        tags=tuple(
            tag for each in entry.all("CATEGORIES") for tag in dict.fromkeys(each.parts(",")) if tag
        ),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _first(entry: Component, *names: str) -> Property | None:
    return next((each for name in names for each in entry.all(name)), None)


def _attached(prop: Property) -> str:
    """The name and the address of a file; one that lies in the calendar itself is not opened."""
    name = next((v for key in ("FILENAME", "X-FILENAME", "X-APPLE-FILENAME")
                 for v in prop.parameters.get(key) or ()), "")  # fmt: skip
    if (prop.parameters.get("VALUE") or [""])[0].upper() == "BINARY":
        return f"{name or 'a file'} (in the calendar, not read)"
    return " ".join(filter(None, (name, prop.text.strip())))


def _person(prop: Property) -> str:
    address = prop.text.strip()
    address = address[7:] if address.lower().startswith("mailto:") else address
    name = (prop.parameters.get("CN") or [""])[0]
    return f"{name} <{address}>" if name and name != address else address


def _zones(calendar: Component) -> dict[str, tzinfo]:
    """The zones that the calendar describes, by the offset of their winter; "" is the usual one."""
    zones: dict[str, tzinfo] = {}
    for component in calendar.components:
        if component.name == "VTIMEZONE" and (name := component.text("TZID")):
            inner = sorted(component.components, key=lambda one: one.name != "STANDARD")
            offsets = (_OFFSET.match(one.text("TZOFFSETTO")) for one in inner)
            offset = next(filter(None, offsets), None)
            if zone := _zone(name) or (_fixed(offset) if offset else None):
                zones[name] = zone
    if usual := _zone(calendar.text("X-WR-TIMEZONE")):
        zones[""] = usual
    return zones


def _fixed(written: re.Match[str]) -> tzinfo | None:
    offset = timedelta(hours=int(written[2]), minutes=int(written[3]))
    return (
        timezone(-offset if written[1] == "-" else offset) if offset < timedelta(hours=24) else None
    )


def _zone(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name.strip("/ ")) if name.isascii() and len(name) < 100 and name else None
    except (LookupError, ValueError, OSError):
        return None


def _moment(prop: Property | None, zones: Zones) -> datetime | date | None:
    match = _TIME.match(prop.raw.strip()) if prop else None
    if prop is None or match is None:
        return None
    year, month, day, hour, minute, second, utc = match.groups()
    try:
        if hour is None:
            return date(int(year), int(month), int(day))
        at = datetime(  # noqa: DTZ001  the zone follows
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0)
        )
    except ValueError:
        return None
    if utc:
        return at.replace(tzinfo=UTC)
    name = (prop.parameters.get("TZID") or [""])[0]
    zone = _zone(name) or zones.get(name) or zones.get("")
    return at.replace(tzinfo=zone) if zone else at


def _ms(prop: Property | None, zones: Zones) -> int | None:
    at = _moment(prop, zones)
    if at is None:
        return None
    if not isinstance(at, datetime):
        at = datetime(at.year, at.month, at.day)  # noqa: DTZ001  a day is that of this machine
    try:
        return round(at.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def _shown(prop: Property | None, zones: Zones) -> str:
    at = _moment(prop, zones)
    if at is None:
        return ""
    return at.isoformat(" ", "minutes") if isinstance(at, datetime) else at.isoformat()


def _is_same_day(start: Property | None, end: Property | None) -> bool:
    """Whether it lasts one whole day: the end of a day is the next one."""
    first, last = _moment(start, {}), _moment(end, {})
    if first is None or last is None or isinstance(first, datetime) or isinstance(last, datetime):
        return first == last
    return last - first <= timedelta(days=1)
