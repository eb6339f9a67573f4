"""One summary of a session that lies in several files, of which each tells a part. Pure.

An agent that goes on with a session in another folder, or on another machine, writes a second file
under the same id. The files share no line, or some; which one is read first says nothing. So the
summary keeps what each file told, as long as no other file tells all of it, and is made of these
parts: what was asked is from the one that began first, the rest in the order in which they ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mem_search.model import Draft
from mem_search.model.records import READING
from mem_search.patterns import pattern
from mem_search.text.embedded_data import begins_alike
from mem_search.text.shortening import cut

SUMMARY: Final = "session_summary"

MAX_FIELD_CHARS: Final = 12_000
"""Of a field of the summary of all parts; that of one file has at most 8,000."""
MAX_FILES: Final = 200
"""Names of files in a field, as in the summary of one file."""

_TEXTS: Final = ("investigated", "learned", "completed", "notes")
_FILES: Final = ("files_read", "files_edited")
_FIELDS: Final = ("request", *_TEXTS, "next_steps", *_FILES, "extracted", "branch")
_BULLET: Final = "- "
_ITEM: Final = pattern(r"\n(?=- )")


@dataclass(frozen=True, slots=True)
class Part:
    """What one file told of a session. ``turns`` are hashes of the ids of its turns; none where an
    earlier version made it. ``is_titled``: the person or the agent gave ``title``.
    """

    began: int
    ended: int
    events: int
    is_copy: bool
    turns: tuple[str, ...]
    title: str
    is_titled: bool
    fields: Mapping[str, Any]

    @classmethod
    def of(
        cls, title: str, times: tuple[int, int], reading: Mapping[str, Any], data: Mapping[str, Any]
    ) -> Part:
        """The part that a record or a draft with this ``reading`` is, if it is of one file."""
        return cls(
            *times,
            reading["events"],
            bool(reading.get("copy")),
            tuple(reading.get("turns", ())),
            title,
            bool(reading.get("titled")),
            {name: data[name] for name in _FIELDS if data.get(name)},
        )

    @property
    def stored(self) -> dict[str, Any]:
        """A JSON value, of which ``Part(**value)`` is the same again."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def place(self) -> tuple[object, ...]:
        """Where it stands among the parts of its session."""
        return self.began, self.ended, sorted(self.turns)

    def covers(self, other: Part) -> bool:
        """Whether this one says all that the ``other`` does."""
        if not (self.turns and other.turns):
            if other.is_copy:  # which has the times of its fork
                return self.events >= other.events
            return self.began <= other.began and other.ended <= self.ended
        mine, its = {*self.turns}, {*other.turns}
        if its < mine:
            return self.events >= other.events
        return its == mine and self._rank >= other._rank and self._concludes_as(other)

    def _concludes_as(self, other: Part) -> bool:
        """Whether this one has the last words of the ``other``, or of what they became."""
        last = _conclusions(other)[-1:]
        return not last or any(begins_alike(last[0], each) for each in _conclusions(self))

    @property
    def _rank(self) -> tuple[object, ...]:
        return self.events, not self.is_copy, -self.began if self.is_copy else self.ended


@dataclass(frozen=True, slots=True)
class KnownSummary:
    """The summary of a session as it is stored, or will be with the batch, and its project.

    ``earlier`` is that of a draft, which is refused with what it names.
    """

    title: str
    created_at: int
    updated_at: int
    project: str
    project_id: int | None
    metadata: Mapping[str, Any]
    earlier: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, draft: Draft) -> KnownSummary:
        """What a draft with a reading will be."""
        kept = {**draft.metadata, READING: draft.reading.stored if draft.reading else {}}
        times = draft.created_at or 0, draft.updated_at or draft.created_at or 0
        return cls(draft.title, *times, draft.project, draft.project_id, kept, tuple(draft.earlier))

    @property
    def parts(self) -> list[Part]:
        """What files told; nothing where the version that made it kept no reading, or hooks did."""
        reading = self.metadata.get(READING) or {}
        if "events" not in reading or reading.get("told"):
            return []
        if parts := reading.get("parts"):
            return [Part(**{**each, "turns": tuple(each["turns"])}) for each in parts]
        times = self.created_at, self.updated_at
        return [Part.of(self.title, times, reading, self.metadata)]


def joined(draft: Draft, known: KnownSummary) -> tuple[Draft, KnownSummary]:
    """The summary ``draft`` of one file, with what others told that are ``known``; what is known
    then. A draft that says less than one of them stays as it is: it is a shorter copy.
    """
    reading, now = draft.reading, KnownSummary.of(draft)
    if reading is None or reading.is_told:
        return draft, known
    [mine] = now.parts
    others = [each for each in known.parts if not mine.covers(each)]
    if not others:
        return draft, now
    if any(each.covers(mine) for each in others):
        return draft, known
    parts = sorted([*others, mine], key=lambda part: part.place)
    titles = [each.title for each in sorted(parts, key=_end) if each.is_titled]
    if parts[0] is not mine:  # a session is of the project that it began in
        draft = replace(
            draft, metadata=known.metadata, project=known.project,
            project_id=known.project_id or 0, place=None,
        )  # fmt: skip
    kept = {name: value for name, value in draft.metadata.items() if name not in _FIELDS}
    draft = replace(
        draft,
        text="",  # the kind writes it from the fields
        title=titles[-1] if titles else parts[0].title,
        created_at=min(part.began for part in parts),
        updated_at=max(part.ended for part in parts),
        metadata={**kept, **_together(parts)},
        earlier=tuple(dict.fromkeys([*known.earlier, *now.earlier])),
        reading=replace(
            reading,
            events=max(part.events for part in parts),
            is_copy=all(part.is_copy for part in parts),
            parts=tuple(part.stored for part in parts),
        ),
    )
    return draft, KnownSummary.of(draft)


def _conclusions(part: Part) -> list[str]:
    """What the agent said last, without the titles of steps below it."""
    said = str(part.fields.get("completed", "")).split("\n\n")
    return [each for each in said if each.strip() and not each.startswith(_BULLET)]


def _end(part: Part) -> tuple[int, int]:
    return part.ended, part.began


def _together(parts: Sequence[Part]) -> dict[str, Any]:
    """The fields of all parts: each thing once, what is open as the last one says it."""
    fields: dict[str, Any] = {}
    if asked := next((each for part in parts if (each := part.fields.get("request"))), ""):
        fields["request"] = asked
    by_end = sorted(parts, key=_end)
    for name in _TEXTS:
        if said := [each for part in by_end if (each := part.fields.get(name))]:
            fields[name] = _once(said)
    for part in by_end:
        if part.fields.get("completed") or part.fields.get("next_steps"):
            fields["next_steps"] = part.fields.get("next_steps")
        fields["branch"] = part.fields.get("branch") or fields.get("branch")
    for name in _FILES:
        fields[name] = [*dict.fromkeys(f for part in by_end for f in part.fields.get(name, ()))]
        del fields[name][MAX_FILES:]
    fields["extracted"] = all(part.fields.get("extracted") for part in parts)
    return {name: value for name, value in fields.items() if value}


def _once(texts: Sequence[str]) -> str:
    """The texts, without paragraphs and items of lists that came before."""
    most = MAX_FIELD_CHARS // len(texts)
    pieces = [
        piece
        for text in texts
        for paragraph in cut(text, most).split("\n\n")
        for piece in (_ITEM.split(paragraph) if paragraph.startswith(_BULLET) else [paragraph])
    ]
    whole, last = "", ""
    for piece in dict.fromkeys(pieces):
        is_list = piece.startswith(_BULLET) and last.startswith(_BULLET)
        whole += ("\n" if is_list else "\n\n") * bool(whole) + piece
        last = piece
    return whole
