"""Make a draft ready to store. Pure; ``prepare_process`` says in which process or thread it runs.

Redaction comes first, over every string of the draft, so that no secret reaches the database,
the full-text index, the model or a log.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from mem_search.errors import InputError
from mem_search.ingest.edges import edges_of, names_of
from mem_search.metadata import document_type_of
from mem_search.metadata.extraction import with_facts
from mem_search.model import Draft, Passage
from mem_search.model.ingest import OCR_PAGE_NUMBERS, PreparedDraft
from mem_search.model.projects import folder_name
from mem_search.model.records import HOLDINGS, ONLY_COPY
from mem_search.patterns import pattern
from mem_search.records.base import check_count, check_length
from mem_search.records.canonical_text import listed
from mem_search.records.origin import INSTRUCTION_LIKE
from mem_search.records.registry import installed_kinds
from mem_search.storage.rules.quotes import leaves
from mem_search.text import dates, instructions, passages, shared_phrases, stems, words
from mem_search.text.embedded_data import without_data
from mem_search.text.json_reading import with_texts
from mem_search.text.outline import Layout
from mem_search.text.redaction import redact, redacted_values
from mem_search.text.search_fields import DATED_BY, FILE_DATE, FROM_MODEL, FROM_TEXT, names_in
from mem_search.text.sketch import sketch
from mem_search.text.word_forms import RULES as WORD_RULES
from mem_search.text.word_forms import has_forms, seen

log = logging.getLogger(__name__)

SAMPLE = 4000
"""Characters that are checked: the head of a text shows what it is."""

MAX_FACET_CHARS = 4096
MAX_FACETS = 10_000
"""Characters of a value that records are filtered by; the longest are paths."""

MAX_INSTRUCTION_CHARS = 6_000_000
"""Characters of a record that are looked at, half at either end: 20 s of its 120."""

_MIN_INSTRUCTION_CHARS = 12
"""Characters; names, numbers and dates are shorter."""

_DATED = ("files", "mail", "upload", "web")
"""Sources whose times are those of files and messages, not what somebody says of the document."""

_DAY = pattern(r"\d{4}-\d\d-\d\d")

MIN_CODE_SHARE = 0.2
"""Share of lines that look like code; prose with a code snippet stays prose."""

_CODE_LINE = pattern(
    r"""^\s*(?:
        (?:async\s+)?(?:def|class|fn|func|function|struct|impl|interface|enum|trait|module)\s+\w
        | (?:import|from|use|package|namespace|\#include|\#define|using|require)\b[^.!?]*$
        | (?:public|private|protected|static|const|let|var|export|pub)\s+\w
        | (?:return|raise|throw|yield|await|assert|del|echo|local)\b.*[^.!?]$
        | (?:if|elif|else|for|while|with|try|except|switch|case|match)\b.*[:{]\s*$
        | [\w.\[\]'", ]{1,60}(?:[-+*/|&%]|:\ ?[\w.\[\]]{1,40}\ )?=[^=]
        | [\w.]+\(
        | @\w[\w.]*(?:\(.*)?$
        | .*[{};]\s*$
        | [)\]}]+[,;]?\s*$
        | (?:\#|//)\s*\w.*
    )""",
    re.VERBOSE,
)


def is_code(text: str) -> bool:
    """Whether ``text`` is source code: whether enough of its lines look like statements."""
    lines = [line for line in text[:SAMPLE].splitlines() if line.strip()]
    if not lines:
        return False
    return sum(bool(_CODE_LINE.match(line[:160])) for line in lines) >= MIN_CODE_SHARE * len(lines)


def outcome(draft: Draft) -> PreparedDraft | str:
    """The prepared draft, or why it cannot be stored: one bad draft does not stop the others."""
    try:
        return prepare(draft)
    except InputError as error:
        is_named = not error.field or error.message.startswith(error.field)
        return error.message if is_named else f"{error.field}: {error.message}"
    except MemoryError:
        raise
    except Exception as error:
        # A bug in a kind, perhaps a third party's; the log has the traceback.
        log.exception("a draft of the kind %s cannot be prepared", draft.kind)
        return f"internal error in the kind {draft.kind}: {type(error).__name__}: {error}"


def prepare(draft: Draft) -> PreparedDraft:
    """Redact, compose, cut into passages. Raises InputError that names the wrong field."""
    kind = installed_kinds().require(draft.kind)
    ours = (INSTRUCTION_LIKE, stems.LANGUAGE)
    given = {name: value for name, value in draft.metadata.items() if name not in ours}
    draft = kind.compose(redacted(replace(draft, metadata=given)))
    source_code = draft.kind == "file" and is_code(draft.text)
    if kind.documents and not source_code:
        stated = with_facts(draft.metadata, draft.title, draft.text, kind=draft.kind)
        draft = dated(replace(draft, metadata=stated))
    draft = replace(draft, metadata=flagged(draft))
    language = stems.language_of(f"{draft.title}\n{draft.text}")
    if language:
        draft = replace(draft, metadata={**draft.metadata, stems.LANGUAGE: language})
    facets = tuple(kind.facets(draft))
    _check_facets(draft, facets)
    names = names_of(draft, facets)
    layout = _layout(draft, is_code=source_code)
    cut = passages.cut(draft.text, "code" if source_code else _field(draft), layout)
    structure = _structure(cut)
    if not (source_code or kind.coding or kind.chat):
        about = passages.summary(draft.text, _stated_summary(draft), len(cut))
        cut += (about,) if about else ()
    texts = [draft.text[passage.start : passage.end] for passage in cut]
    title_parts, people = words.extra_terms(draft.title), names_in(draft.metadata)
    # The hashes go to the full-text index only, so that a commit is found by its hash.
    once = [value.lower() for name, value in facets if name == "commit"]
    if isinstance(quoted := draft.metadata.get(ONLY_COPY), str):
        once += [quoted, words.extra_terms(quoted)]
    if language:
        once.append(stems.mark(language))
    return PreparedDraft(
        draft=draft,
        facets=facets,
        passages=cut,
        parts=tuple(
            " ".join(
                filter(
                    None,
                    [
                        title_parts,
                        each.above,
                        words.extra_terms(each.above),
                        words.extra_terms(text),
                        stems.of_text(f"{draft.title}\n{each.above}\n{text}", language),
                        *((*once, words.extra_terms(people)) if not each.ordinal else ()),
                    ],
                )
            )
            for each, text in zip(cut, texts, strict=True)
        ),
        people=people,
        hashes=tuple(
            _digest(seen("\n".join(filter(None, (draft.title, each.above)))), seen(text))
            for each, text in zip(cut, texts, strict=True)
        ),
        content_hash=content_hash(draft, facets, structure),
        edges=edges_of(draft, facets, names, source_code=source_code),
        names=names,
        sketch=sketch(draft.title, draft.text),
        phrases=shared_phrases.sampled_phrases(draft.text) if draft.kind in HOLDINGS else (),
    )


def dated(draft: Draft) -> Draft:
    """``draft`` at the day that the document states: that of an event, else the one it bears.

    A document that states none has the time of its file or mail, which ``file_date`` keeps where
    the document states another. Mails have the time of their header, and what a person gave as
    the time of a document (``dated_by``) stays.
    """
    metadata = draft.metadata
    type_name, facts = document_type_of(metadata), metadata.get(FROM_TEXT)
    if draft.source not in _DATED or draft.kind == "email" or metadata.get(DATED_BY):
        return draft
    if draft.kind != "file" and not type_name:  # any note may begin with a day
        return draft
    names = ("document_date",) if type_name != "event_ticket" else ("event_date", "document_date")
    places = [metadata, *([facts] if isinstance(facts, Mapping) else [])]
    stated = (_noon(place.get(name)) for name in names for place in places)
    day = next((each for each in stated if each is not None), None)
    before = metadata.get(FILE_DATE)
    read_at = dates.from_iso(before) if isinstance(before, str) else draft.created_at
    others = {name: value for name, value in metadata.items() if name != FILE_DATE}
    if day is None:
        return replace(draft, created_at=read_at, metadata=others) if before else draft
    kept = {FILE_DATE: dates.iso(read_at)} if read_at is not None else {}
    return replace(draft, created_at=day, metadata={**others, **kept})


def _noon(value: object) -> int | None:
    """The middle of a day in UTC, which is that day nearly everywhere; None for what is no day."""
    if not isinstance(value, str) or not _DAY.match(value):
        return None
    try:
        return dates.from_iso(f"{value[:10]}T12:00:00Z")
    except InputError:
        return None


def flagged(draft: Draft) -> Mapping[str, Any]:
    """The metadata of ``draft`` with the rules for instructions that its texts meet, if any."""
    text = "\n".join([draft.title, draft.text, *_values_of(draft)])
    if len(text) > MAX_INSTRUCTION_CHARS:
        half = MAX_INSTRUCTION_CHARS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    flags = instructions.flags_in(text)
    others = {name: value for name, value in draft.metadata.items() if name != INSTRUCTION_LIKE}
    return {**others, INSTRUCTION_LIKE: list(flags)} if flags else others


def _values_of(draft: Draft) -> Iterator[str]:
    """What else of ``draft`` is shown: its tags, and its metadata as far as the text lacks it."""
    yield from draft.tags
    for value in leaves(dict(draft.metadata)):
        if len(value) >= _MIN_INSTRUCTION_CHARS and value not in draft.text:
            yield value


def _check_facets(draft: Draft, facets: Collection[tuple[str, str]]) -> None:
    """Raise InputError for a value that is too long for the index of filters, or too many."""
    if len(facets) > MAX_FACETS:
        field, count = max(
            ((key, len(listed(value))) for key, value in draft.metadata.items()),
            key=lambda each: each[1],
        )
        check_count(f"metadata.{field}", count, MAX_FACETS)
    for name, value in facets:
        if len(value) > MAX_FACET_CHARS:
            fields = (key for key, given in draft.metadata.items() if value in listed(given))
            check_length(f"metadata.{next(fields, name)}", value, MAX_FACET_CHARS)


def _field(draft: Draft) -> str:
    """``ocr`` for the passages of a text that was recognised as a whole, else ``content``."""
    metadata = draft.metadata
    is_recognised = isinstance(metadata.get("ocr"), str)
    return (
        "ocr" if is_recognised and metadata.get("ocr_pages") == metadata.get("pages") else "content"
    )


def _layout(draft: Draft, *, is_code: bool) -> Layout:
    """What the metadata says of the structure of the text."""
    given = draft.metadata
    path = str(given.get("path") or draft.title).lower()
    speakers, read = given.get("participants"), given.get(OCR_PAGE_NUMBERS)
    return Layout(
        has_pages=isinstance(given.get("pages"), int),
        recognised=frozenset(read if isinstance(read, list) else ()),
        speakers=tuple(listed(speakers)) if draft.kind == "conversation" else (),
        is_code=is_code,
        is_table=draft.kind == "file" and path.endswith((".csv", ".tsv")),
    )


def _structure(cut: Sequence[Passage]) -> tuple[object, ...]:
    """What tells passages cut by structure from those of a version that did not; else empty."""
    if any(one.above or one.end <= after.start for one, after in pairwise(cut)):
        return tuple((each.start, each.end, each.field, each.above) for each in cut)
    return ()


def _stated_summary(draft: Draft) -> str:
    """What the document says that the whole of it is about; "" where it says nothing."""
    said = (draft.metadata.get(name) for name in ("abstract", "summary", "description"))
    return next((each for each in said if isinstance(each, str) and each.strip()), "")


def redacted(draft: Draft) -> Draft:
    """The draft with markers for all secrets, private blocks, and files that stand in its texts."""
    return replace(
        draft,
        title=redact(without_data(draft.title))[0],
        text=redact(without_data(draft.text))[0],
        url=redact(draft.url)[0],
        tags=tuple(redact(tag)[0] for tag in draft.tags),
        metadata=redacted_values(with_texts(draft.metadata, without_data)),
        # Redact a URL as that of the record that it names; refs and source ids have no secrets.
        links=tuple(
            replace(link, to=redact(link.to)[0]) if "://" in link.to else link
            for link in draft.links
        ),
    )


def _digest(title: str, text: str) -> bytes:
    joined = f"{title}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).digest()


def content_id(draft: Draft) -> str:
    """An id for a record that has none, made from all that it says."""
    said = repr(replace(draft, source_id=""))
    return f"sha256:{hashlib.sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:20]}"


def content_hash(
    draft: Draft, facets: Iterable[tuple[str, str]], structure: tuple[object, ...]
) -> bytes:
    """The hash of everything stored of a draft except its times and what a language model said
    about it, which no source knows: 16 bytes of BLAKE2b.

    Reports and pages of a version that did not look for citations, or for shared phrases, differ,
    so they are stored anew; so do texts with a ``structure`` of a version that did not cut by it,
    and those with words that another version did not find.
    Of the project the folder counts: what tells it apart comes when another of its name is met.
    """
    metadata = {name: value for name, value in draft.metadata.items() if name != FROM_MODEL}
    parts: tuple[object, ...] = (
        draft.kind, draft.title, draft.text, folder_name(draft.project), draft.session, draft.url,
        draft.importance, metadata, sorted(draft.tags), sorted(facets),
        sorted((link.to, link.relation) for link in draft.links),
    )  # fmt: skip
    if installed_kinds().require(draft.kind).cites:
        parts += ("cites",)
    if draft.kind in HOLDINGS:
        parts += ("phrases",)
    if has_forms(f"{draft.title}\n{draft.text}\n{names_in(draft.metadata)}"):
        parts += (WORD_RULES,)
    if stems.LANGUAGE in metadata:
        parts += (stems.RULES,)
    parts += structure
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
