"""The base class of kinds, which a kind fills in with data.

A kind says which metadata it knows (a pydantic model), which of it is in the canonical
text (``sections``) and which of it can be filtered by (``filterable``). How words are cleaned
and how sections reach the text is ``canonical_text.py``; storing and searching are elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mem_search.errors import InputError
from mem_search.metadata import document_type_of
from mem_search.model import Citation, Draft, Kind, Link, Record
from mem_search.model.records import ONLY_COPY, READING, WHOLE_TEXT
from mem_search.records import citation_fields
from mem_search.records.canonical_text import (
    Canonical,
    Section,
    clean,
    cut,
    drop_unstorable,
    fold,
    listed,
    normalise,
    shown,
)
from mem_search.text.addresses import addresses
from mem_search.text.dates import FIRST_TIME, LAST_TIME
from mem_search.text.search_fields import FROM_MODEL, FROM_TEXT

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

TITLE_LENGTH = 100

MAX_CHARS: Final = {"source": 256, "source_id": 4096, "project": 256, "session": 1024, "url": 8192}
"""Characters of a name. Paths have up to 4096 bytes, names of files 255, Message-IDs 998."""
MAX_TAG_CHARS: Final = 256
MAX_RELATION_CHARS: Final = 256
MAX_VALUES: Final = {"tags": 1_000, "metadata": 1_000, "links": 10_000}
"""Values of a field; each tag and each link is a row of the store."""
MAX_TITLE_CHARS: Final = 1000
"""A title is indexed with every passage of its record, so a longer one moves into the text."""

_LONG: Final = 10**18
_SAID: Final = {
    "string_type": "input should be a string",
    "tuple_type": "input should be a list",
    "list_type": "input should be a list",
    "dict_type": "input should be an object",
    "model_type": "input should be an object",
}


class Metadata(BaseModel):
    """Metadata that a record of any kind may have; unknown keys are kept unchanged."""

    model_config = ConfigDict(defer_build=True, extra="allow", frozen=True, strict=True)

    archived: bool | None = None
    branch: str | None = None
    worktree: str | None = None
    author: str | None = None
    commit: str | None = None
    agent: str | None = None
    platform: str | None = None
    content_id: str | None = None
    whole_text: str | None = None
    only_copy: str | None = None
    from_text: dict[str, Any] | None = None
    from_model: dict[str, Any] | None = None
    instruction_like: list[str] | None = None


M = TypeVar("M", bound=Metadata)

_UNSEEN = ("archived", "content_id", WHOLE_TEXT, ONLY_COPY, FROM_TEXT, FROM_MODEL)
"""Fields that no listing shows as they are."""

_COMMON_FACETS = ("branch", "worktree", "author", "commit", "agent", "platform")


class BaseKind(Generic[M]):
    """A ``RecordKind`` whose subclasses are data: see ``contracts.RecordKind``.

    ``sign`` is its icon, ``signs`` those of some types (metadata ``type``), and ``model`` its
    metadata. With ``quoted`` a listing shows so many characters of the text instead of the title.
    ``sections`` are metadata fields written into the text, in that order; ``filterable`` pairs a
    metadata field with its facet's name.
    """

    name: Kind
    plural: str
    label: str
    aliases: tuple[str, ...] = ()
    asked_as: ClassVar[Mapping[str, str]] = {}
    may_be_asked_as: ClassVar[Mapping[str, str]] = {}
    chat = False
    session = False
    threaded = False
    cites = False
    coding = False
    documents = False
    sparse_weight = 0.0
    source_type = "api_import"
    agent_source_type = ""
    origin = "external"
    csl_type = "document"
    genre = ""
    sign: str
    signs: ClassVar[Mapping[str, str]] = {}
    quoted: int = 0
    model: type[M]
    sections: ClassVar[tuple[Section, ...]] = ()
    filterable: ClassVar[tuple[tuple[str, str], ...]] = ()

    def compose(self, draft: Draft) -> Draft:
        draft = _tagged(draft)
        _check_names(draft)
        metadata = _with_authors(clean(draft.metadata, "metadata"))
        known = self.known(metadata)
        title = fold(drop_unstorable(draft.title))
        text = normalise(draft.text)
        if len(title) > MAX_TITLE_CHARS:
            text = f"{title}\n\n{text}".strip()
            title = cut(title, MAX_TITLE_CHARS)
        canonical = Canonical(text)
        for section in self.sections:
            canonical.complete(section, _items(known, section))
        # A record that is only a title must still have a passage to be found by.
        text = canonical.text if canonical.text.strip() else title
        if not text:
            raise InputError(f"{self.name} has neither text nor title; give it text", field="text")
        _check_numbers(draft)
        return replace(
            draft,
            source_id=drop_unstorable(draft.source_id),
            text=text,
            title=title,
            project=drop_unstorable(draft.project).strip(),
            session=drop_unstorable(draft.session).strip(),
            url=drop_unstorable(draft.url).strip(),
            tags=tuple(listed([drop_unstorable(tag) for tag in draft.tags])),
            metadata=metadata,
            links=tuple(
                Link(drop_unstorable(link.to), drop_unstorable(link.relation))
                for link in draft.links
            ),
        )

    def own_text(self, record: Record) -> str:
        known, text = self.known(record.metadata), f"\n\n{record.text}"
        for section in reversed(self.sections):
            for block in section.blocks(_items(known, section)):
                head, separator, tail = text.rpartition(f"\n\n{block}")
                if separator and tail[:1] in ("", "\n"):
                    text = head + tail
        return text.removeprefix("\n\n")

    def whole_text(self, record: Record) -> str:
        return str(record.metadata.get(WHOLE_TEXT) or record.text)

    def facets(self, draft: Draft) -> Iterable[tuple[str, str]]:
        known = self.known(draft.metadata)
        fields = [*self.filterable, *((name, name) for name in _COMMON_FACETS)]
        pairs = [
            (facet, value) for field, facet in fields for value in listed(getattr(known, field))
        ]
        if self.documents and (said := document_type_of(draft.metadata)):
            pairs.append(("type", said))
        pairs += (("author", value) for value in listed((known.model_extra or {}).get("authors")))
        return list(dict.fromkeys(pairs))

    def icon(self, record: Record) -> str:
        return self.signs.get(str(record.metadata.get("type")).strip().lower(), self.sign)

    def title(self, record: Record) -> str:
        if self.quoted and (words := fold(record.text) or record.title):
            return f'"{cut(words, self.quoted)}"'
        line = record.title or next((ln for ln in record.text.splitlines() if ln.strip()), "")
        return cut(fold(line), TITLE_LENGTH) or f"{self.label} {record.number}"

    def detail(self, record: Record) -> Iterable[tuple[str, str]]:
        known = self.known(record.metadata)
        canonical = Canonical(record.text)
        # Fields that the text contains are not repeated, which would cost tokens.
        shown_fields = {
            field
            for section in self.sections
            if canonical.shows(section, _items(known, section))
            # Two fields in one line, such as files read and modified, are not told apart there.
            and sum(getattr(known, field) not in (None, []) for field in section.fields) == 1
            for field in section.fields
        }
        for name, label, value in _filled(known):
            if name not in shown_fields and (text := shown(value)):
                yield label, text
        for key, value in (known.model_extra or {}).items():
            if key != READING and (text := shown(value)):
                yield key.replace("_", " ").capitalize(), text
        for said, how in ((known.from_text, "in the text"), (known.from_model, "by a model")):
            for key, value in (said or {}).items():
                if text := shown(value):
                    yield f"{key.replace('_', ' ').capitalize()} ({how})", text

    def citation(self, record: Record) -> Citation:
        metadata = record.metadata
        # Most records have none of these fields, so fifteen look-ups are saved.
        silent = citation_fields.NAMES.isdisjoint(metadata)

        def first_time(names: Iterable[str]) -> int | None:
            return None if silent else citation_fields.first_time(metadata, *names)

        published_at = first_time(citation_fields.PUBLISHED)
        is_partial = not silent and published_at is None
        return Citation(
            source_id=str(record.ref),
            source_type=record.kind,
            source_title=record.title or self.title(record),
            url=record.url,
            author="" if silent else citation_fields.words(metadata, *citation_fields.AUTHORS),
            published_at=published_at,
            created_at=record.created_at,
            accessed_at=max(
                filter(None, (first_time(citation_fields.ACCESSED), record.opened_at)),
                default=None,
            ),
            published_in=(
                citation_fields.first_month(metadata, *citation_fields.PUBLISHED)
                if is_partial
                else ()
            ),
        )

    def known(self, metadata: Mapping[str, Any]) -> M:
        """The typed view of ``metadata``; raises InputError naming ``metadata.<key>``."""
        try:
            return self.model.model_validate(dict(metadata))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = ".".join(str(part) for part in ("metadata", *first["loc"]))
            raise InputError(
                f"{path} of this {self.name}: {validation_message(first)}",
                field=f"metadata.{first['loc'][0]}" if first["loc"] else "metadata",
            ) from None


def validation_message(error: ErrorDetails) -> str:
    """What is wrong with a value, in the words of JSON instead of pydantic's."""
    if message := _SAID.get(error["type"]):
        return f"{message}, not {json_type(error['input'])}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}"


def json_type(value: object) -> str:
    """What a value is in JSON: ``a list``."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
        case str():
            return "a string"
        case _:
            return "null"


def _with_authors(metadata: dict[str, Any]) -> dict[str, Any]:
    """``metadata`` with a list of authors under ``authors``; ``author`` is one name."""
    if not isinstance(given := metadata.get("author"), list):
        return metadata
    known = metadata.get("authors", [])
    known = known if isinstance(known, list) else [known]
    kept = {name: value for name, value in metadata.items() if name != "author"}
    return {**kept, "authors": [*known, *(each for each in given if each not in known)]}


def people(header: str | list[str] | None) -> list[str]:
    """Addresses in lower case, and display names as they are written."""
    mailboxes = addresses(listed(header))
    return listed([part for name, address in mailboxes for part in (address.lower(), name)])


def _tagged(draft: Draft) -> Draft:
    """``draft`` with the tags that its metadata has: a tag is one wherever it is said.

    In a text they are comma-separated. What is no list of texts stays in the metadata.
    """
    said = draft.metadata.get("tags")
    values = said.split(",") if isinstance(said, str) else said
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        return draft
    others = {name: value for name, value in draft.metadata.items() if name != "tags"}
    tags = [*draft.tags, *(tag for each in values if (tag := each.strip()))]
    return replace(draft, tags=tuple(dict.fromkeys(tags)), metadata=others)


def _check_names(draft: Draft) -> None:
    for field, most in MAX_CHARS.items():
        check_length(field, getattr(draft, field), most)
    for field, most in MAX_VALUES.items():
        check_count(field, len(getattr(draft, field)), most)
    for number, tag in enumerate(draft.tags):
        check_length("tags", tag, MAX_TAG_CHARS, f"tags.{number}")
    for number, link in enumerate(draft.links):
        check_length("links", link.to, MAX_CHARS["url"], f"links.{number}.to")
        check_length("links", link.relation, MAX_RELATION_CHARS, f"links.{number}.relation")


def check_count(field: str, count: int, most: int) -> None:
    """Raise InputError when ``field`` has more than ``most`` values."""
    if count > most:
        raise InputError(
            f"{field} has {count:,} values; at most {most:,} are possible", field=field
        )


def check_length(field: str, value: str, most: int, place: str = "") -> None:
    """Raise InputError when ``value`` has more than ``most`` characters.

    ``place`` is where in ``field`` it is, such as ``tags.3``.
    """
    if len(value) > most:
        raise InputError(
            f"{place or field} has {len(value):,} characters; at most {most:,} are possible",
            field=field,
        )


def _check_numbers(draft: Draft) -> None:
    for field in ("created_at", "updated_at"):
        at = getattr(draft, field)
        if at is not None and not FIRST_TIME <= at <= LAST_TIME:
            shown = at if abs(at) < _LONG else "a number of more than 18 digits"
            raise InputError(
                f"{field} is {shown}; it is milliseconds since 1970, of a year from 1 to 9999",
                field=field,
            )
    if draft.importance is not None and not 0 <= draft.importance <= 1:
        raise InputError(
            f"importance is {draft.importance}; it lies between 0 and 1", field="importance"
        )


def _items(known: Metadata, section: Section) -> list[str]:
    values = [listed(getattr(known, field)) for field in section.fields]
    return list(dict.fromkeys(item for items in values for item in items))


def _filled(known: Metadata) -> Iterator[tuple[str, str, object]]:
    """(name, label, value) of fields with a value: the kind's own, then those of every kind."""
    fields = type(known).model_fields
    common = Metadata.model_fields
    for name in [*(name for name in fields if name not in common), *common]:
        value = getattr(known, name)
        if name not in _UNSEEN and value is not None:
            yield name, fields[name].title or name.replace("_", " ").capitalize(), value
