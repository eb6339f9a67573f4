"""A store whose callers cannot store a secret: every argument is redacted on its way in.

``redacted`` wraps each part of a store. Arguments of all methods are redacted, of reads as well:
what was stored under a redacted name is found by the name as it was given. So a new table, method
or field needs no line here. The URL of a webhook has to work after a restart, and is itself a
secret for many services; it is stored encrypted with the key of the home.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from mem_search.model import Draft, Link, Location
from mem_search.model.ingest import PreparedDraft, StoredLocation
from mem_search.model.webhooks import Message
from mem_search.storage.store import Store
from mem_search.text import secret_rules
from mem_search.text.redaction import MARKER, Redaction

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

T = TypeVar("T")

PLAIN: Final = frozenset(
    {
        "close",
        "copy",
        "graph",
        "indexing",
        "location",
        "mend",
        "odd_rows",
        "open_search",
        "put_right",
        "records",
        "redacting",
        "replica",
        "rest",
        "statistics",
        "unwritable",
        "watch",
        "writer",
    }
)
"""Parts that store nothing from outside: they read, write vectors, or redact themselves."""

_SEALED: Final = "sealed:"
_SEALED_PARAMS: Final = "sealed"
_URL: Final = "webhook_url"
_QUICK: Final = (int, float, bytes, type(None), StoredLocation)


def redacted(store: Store, key: bytes) -> Store:
    """``store`` behind redaction. ``key`` has 32 bytes: with another, stored URLs are lost."""
    return cast(Store, _RedactedStore(store, Redaction(key), SecretBox(key)))


def clean(value: T, redaction: Redaction) -> T:
    """``value`` without secrets in its names and messages, also in dataclasses inside.

    The text, title and metadata of a draft stay: ``ingest.prepare`` redacts them.
    """
    return cast(T, _clean(value, redaction, None))


def stored_location(location: Location, redaction: Redaction) -> StoredLocation:
    """``location`` under the names that the store has for it; parts of a store take it as it is."""
    kept = clean(location, redaction)
    return StoredLocation(kept.source, kept.path, kept.label, kept.options, kept.upload)


def with_names(cursor: Mapping[str, Any], root: Path, redaction: Redaction) -> Mapping[str, Any]:
    """A stored ``cursor`` with the names of what is below ``root``, where those hold secrets.

    A source compares the cursor with what it sees. A redacted name would be a file that is gone
    beside one that is new, and both are one record.
    """
    ends = [(key.partition(MARKER)[0], key.rpartition("]")[2]) for key in _marked(cursor)]
    names: dict[str, str] = {}
    for folder, folders, files in os.walk(root) if ends and root.is_dir() else ():
        for path in (Path(folder, name) for name in (*folders, *files)):
            names |= _stored_names((path.relative_to(root).as_posix(), str(path)), ends, redaction)
    names |= _stored_names((root.name, str(root)), ends, redaction)
    return cast(Mapping[str, Any], _renamed(cursor, names)) if names else cursor


def _stored_names(
    given: Iterable[str], ends: Iterable[tuple[str, str]], redaction: Redaction
) -> dict[str, str]:
    return {
        redaction.name(name): name
        for name in given
        if any(name.startswith(first) and name.endswith(last) for first, last in ends)
    }


def _marked(value: Any) -> Iterator[str]:
    """The keys in a cursor that have a marker: names stand there, and few else are as many."""
    if isinstance(value, Mapping):
        yield from (key for key in value if MARKER in key)
        for each in value.values():
            yield from _marked(each)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {names.get(name, name): _renamed(each, names) for name, each in value.items()}


class SecretBox:
    """Encrypts with the key of the home (Fernet: AES-128-CBC and HMAC-SHA256)."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def close(self, text: str) -> str:
        """``text`` encrypted; empty text stays empty."""
        return _SEALED + self._fernet.encrypt(text.encode()).decode() if text else ""

    def open(self, text: str) -> str:
        """What was encrypted; what was not is as it is, what another key sealed is empty."""
        from cryptography.fernet import InvalidToken

        if not text.startswith(_SEALED):
            return text
        try:
            return self._fernet.decrypt(text.removeprefix(_SEALED)).decode()
        except InvalidToken:
            return ""

    @cached_property
    def _fernet(self) -> Fernet:
        from cryptography.fernet import Fernet  # only homes with webhooks need it

        return Fernet(base64.urlsafe_b64encode(self._key))


@dataclass(frozen=True, slots=True)
class Sealed:
    """Parameters to be stored encrypted, while they cannot be redacted yet."""

    params: Mapping[str, Any]

    @staticmethod
    def hold(params: Mapping[str, Any]) -> bool:
        """Whether stored ``params`` are such ones."""
        return isinstance(given := params.get(_SEALED_PARAMS), str) and given.startswith(_SEALED)

    @staticmethod
    def opened(params: Mapping[str, Any], secret_box: SecretBox) -> dict[str, Any]:
        """The parameters in stored ``params``; none for those that another key sealed."""
        return dict(json.loads(secret_box.open(params[_SEALED_PARAMS]) or "{}"))

    def closed(self, secret_box: SecretBox) -> dict[str, str]:
        return {_SEALED_PARAMS: secret_box.close(json.dumps(dict(self.params)))}


class _RedactedStore:
    def __init__(self, store: Store, redaction: Redaction, secret_box: SecretBox) -> None:
        self._store, self._redaction, self._secret_box = store, redaction, secret_box

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._store, name)
        if name not in PLAIN:
            part = _RedactedPart(part, self._redaction, self._secret_box)
            setattr(self, name, part)
        return part

    def part(self, of: Callable[[Any], T]) -> T:
        """What a feature stores, redacted on its way in as everything else."""
        return cast(T, _RedactedPart(self._store.part(of), self._redaction, self._secret_box))


class _RedactedPart:
    def __init__(self, part: object, redaction: Redaction, secret_box: SecretBox) -> None:
        self._part, self._redaction, self._secret_box = part, redaction, secret_box

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Awaitable[Any]] = getattr(self._part, name)

        def cleaned(args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, Any]:
            return (
                tuple(_clean(each, self._redaction, self._secret_box) for each in args),
                {
                    key: self._secret_box.close(value)
                    if key == _URL
                    else _clean(value, self._redaction, self._secret_box)
                    for key, value in named.items()
                },
            )

        async def call(*args: Any, **named: Any) -> Any:
            given = (*args, *named.values())
            if any(map(_needs_rules, given)):
                await secret_rules.ready()  # not in a thread that others wait for
            if not all(isinstance(each, _QUICK) for each in given):
                args, named = await asyncio.to_thread(cleaned, args, named)
            return _opened(await method(*args, **named), self._secret_box)

        setattr(self, name, call)
        return call


def _needs_rules(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) >= secret_rules.MIN_RUN_CHARS
    return not isinstance(value, (*_QUICK, Sealed))


def _clean(value: Any, redaction: Redaction, secret_box: SecretBox | None) -> Any:
    match value:
        case str():
            # The reply of a background search is JSON, and has to stay JSON.
            if value.startswith("{") and (document := _document(value)) is not None:
                cleaned = redaction.values(document)
                return value if cleaned == document else json.dumps(cleaned, ensure_ascii=False)
            return redaction.name(value)
        case int() | float() | bytes() | None | PreparedDraft() | StoredLocation():
            return value
        case Sealed() if secret_box is not None:
            return value.closed(secret_box)
        case Draft():
            return replace(
                value,
                source=redaction.name(value.source),
                source_id=redaction.name(value.source_id),
                earlier=tuple((kind, redaction.name(name)) for kind, name in value.earlier),
                former=tuple(map(redaction.name, value.former)),
                reading=_clean(value.reading, redaction, secret_box),
                project=redaction.name(value.project),
                session=redaction.name(value.session),
                url=redaction.name(value.url),
                tags=tuple(map(redaction.name, value.tags)),
                links=tuple(
                    Link(redaction.name(link.to), redaction.name(link.relation))
                    for link in value.links
                ),
            )
        case Mapping():
            return redaction.values(value)
        case list() | tuple() | set() | frozenset():
            return type(value)(_clean(each, redaction, secret_box) for each in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _clean_fields(value, redaction, secret_box)
        case _ if callable(value):
            return lambda *args: _clean(value(*args), redaction, secret_box)
        case _:
            return value


def _clean_fields(value: Any, redaction: Redaction, secret_box: SecretBox | None) -> Any:
    changed = {}
    for field in fields(value):
        given = getattr(value, field.name)
        is_url = field.name == _URL or (field.name == "url" and isinstance(value, Message))
        if is_url and secret_box:
            made = given if given.startswith(_SEALED) else secret_box.close(given)
        else:
            made = _clean(given, redaction, secret_box)
        if made is not given and made != given:
            changed[field.name] = made
    return replace(value, **changed) if changed else value


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _opened(value: Any, secret_box: SecretBox) -> Any:
    """``value`` with what ``secret_box`` closed in it; only strings that stand alone."""
    match value:
        case str():
            return secret_box.open(value) if value.startswith(_SEALED) else value
        case list() | tuple() if type(value) in (list, tuple):
            return type(value)(_opened(each, secret_box) for each in value)
        case dict():
            return {key: _opened(each, secret_box) for key, each in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            changed = {
                name: secret_box.open(given)
                for name in (_URL, "url")
                if isinstance(given := getattr(value, name, None), str)
                and given.startswith(_SEALED)
            }
            return replace(value, **changed) if changed else value
        case _:
            return value
