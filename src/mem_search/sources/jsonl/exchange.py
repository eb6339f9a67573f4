"""The exchange format of mem-search: one record a line, as JSON. Reads and writes single lines.

``ExchangeRecord`` is the format. ``records/`` knows the metadata of each kind.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    ValidationError,
)

from mem_search.errors import InputError
from mem_search.model import Draft, Kind, Link, Record
from mem_search.model.forgetting import Tombstone
from mem_search.patterns import pattern
from mem_search.records.base import validation_message
from mem_search.records.registry import installed_kinds
from mem_search.text import dates
from mem_search.text.date_words import from_epoch
from mem_search.text.json_reading import read_json, with_texts


def read_time(value: object) -> int | None:
    """Milliseconds since 1970 of an ISO 8601 string or an epoch number; None stays None.

    A string without an offset is UTC, so that a file means the same on every machine. Raises
    ValueError for anything else, and outside the years 1 to 9999.
    """
    try:
        match value:
            case None:
                return None
            case str():
                at = dates.from_iso(value.upper())
            case int() | float() if not isinstance(value, bool):
                at = from_epoch(value)
            case _:
                raise ValueError
        dates.iso(at)  # a time that cannot be written must not be stored
    except (ValueError, OverflowError, InputError):
        raise ValueError(
            f"{value!r:.60} is not a time; write 2026-01-31T12:00:00Z, or seconds or milliseconds"
            " since 1970"
        ) from None
    return at


NAME: Final = "jsonl"

_UNDER_A_ROOT = pattern(r"[0-9a-f]{12}:([0-9a-f]{40})")
"""The id of a commit in exports from before 2026-11-22 (ADR 0015)."""
_ESCAPED_SURROGATE = pattern(rb"\\u[dD][89a-fA-F]")

Time = Annotated[
    int | None, BeforeValidator(read_time), PlainSerializer(dates.iso, when_used="unless-none")
]
NonEmpty = Annotated[str, Field(min_length=1)]
Id = Annotated[str, Field(coerce_numbers_to_str=True)]
"""An id of another program; many use numbers."""


class ExchangeLink(BaseModel):
    """``to`` is a ref, a source id or a URL."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: Annotated[Id, Field(min_length=1)]
    relation: NonEmpty = "related"


def _installed(kind: Kind) -> Kind:
    # Looked up when a line is read: a plug-in may be importing this module while it is loaded.
    kinds = installed_kinds()
    if kind not in kinds.names:
        *others, last = map(repr, kinds.names)
        raise ValueError(f"input should be {', '.join(others)} or {last}{kinds.without}")
    return kind


class ExchangeRecord(BaseModel):
    """One line. Only ``kind`` and ``text`` are required; the fields are those of a draft.

    ``source`` is where the record came from first, so that an exported record keeps its identity.
    ``session`` names the conversation of a record; the lines of one are in its order. Times are
    milliseconds here; a line may have any time that ``read_time`` accepts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Annotated[Kind, AfterValidator(_installed)]
    source: NonEmpty = NAME
    source_id: Id = ""
    title: str = ""
    text: str
    created_at: Time = None
    updated_at: Time = None
    project: str = ""
    session: Id = ""
    tags: tuple[str, ...] = ()
    url: str = ""
    importance: Annotated[float, Strict(), Field(ge=0, le=1)] | None = None
    metadata: dict[str, Any] = {}
    links: tuple[ExchangeLink, ...] = ()

    def draft(self, source_id: str) -> Draft:
        """The draft of this line, with the identity ``(source, source_id)``."""
        if self.source == "git" and (commit := _UNDER_A_ROOT.fullmatch(source_id)):
            source_id = commit[1]
        links = tuple(Link(link.to, link.relation) for link in self.links)
        return Draft(**{**dict(self), "source_id": source_id, "links": links})

    def content_id(self) -> str:
        """An id made from the content of the line, whatever its order of keys and its spacing."""
        content = self.model_dump(exclude_defaults=True, exclude={"source_id"})
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii"))
        return f"sha256:{digest.hexdigest()[:20]}"


def export_line(record: Record, links: Sequence[Link]) -> str:
    """``record`` as a line without line end; importing it gives the same record."""
    metadata = dict(record.metadata)
    if bool(metadata.get("archived")) != record.archived:
        metadata["archived"] = record.archived
    # Not validated again: a stored record is valid, and milliseconds could be read as seconds.
    line = ExchangeRecord.model_construct(
        kind=record.kind,
        source=record.source,
        source_id=record.source_id,
        title=record.title,
        text=record.text,
        created_at=record.created_at,
        updated_at=record.updated_at,
        project=record.project,
        session=record.session,
        tags=record.tags,
        url=record.url,
        importance=record.importance,
        metadata=dict(sorted(metadata.items())),
    )
    values = line.model_dump(exclude_defaults=True)
    if links:
        values["links"] = [{"to": link.to, "relation": link.relation} for link in links]
    return json.dumps(values, ensure_ascii=False, allow_nan=False)


_TOMBSTONE: Final = pattern(
    rb'\s*\{"forgotten": "([0-9a-f]{32})", "key": "([0-9a-f]{64})", "at": ([0-9]{1,14})\}\s*'
)


def export_tombstone(tombstone: Tombstone) -> str:
    """A line without line end that refuses a forgotten record where it is imported (ADR 0021)."""
    said = {
        "forgotten": tombstone.digest.hex(),
        "key": tombstone.key.hex(),
        "at": tombstone.forgotten_at,
    }
    return json.dumps(said)


def parse_tombstone(line: bytes) -> Tombstone | None:
    """The tombstone of a line that ``export_tombstone`` wrote; None for any other line."""
    match = _TOMBSTONE.fullmatch(line)
    if match is None:
        return None
    digest, key, at = match.groups()
    return Tombstone(bytes.fromhex(key.decode()), bytes.fromhex(digest.decode()), int(at))


def parse_line(line: bytes) -> ExchangeRecord:
    """The record of one line; raises ValueError saying which field is wrong and why."""
    try:
        value = read_json(line)
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 ({error.reason} at byte {error.start + 1})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg} at character {error.pos + 1})") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    if _ESCAPED_SURROGATE.search(line):
        value = with_texts(value, _without_surrogates, names=True)
    # In a line written by hand or by another program, null means the same as no key.
    values = {key: item for key, item in value.items() if item is not None}
    try:
        return ExchangeRecord.model_validate(values)
    except ValidationError as error:
        raise ValueError(_explain(error)) from None


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        model = ExchangeLink if field.startswith("links.") else ExchangeRecord
        return f"{field}: unknown key; choose one of {', '.join(model.model_fields)}"
    return f"{field}: {validation_message(first)}"


def _without_surrogates(text: str) -> str:
    """``text`` without lone surrogates (halves of characters), which cannot be stored."""
    return text.encode("utf-8", "ignore").decode("utf-8")
