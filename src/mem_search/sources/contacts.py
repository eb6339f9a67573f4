"""The source `contacts`: address books (vCard, `.vcf`); each person is a note.

Its text has the name, and each number, address and remark with its label. Pictures are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mem_search.contracts import FileFormat
from mem_search.model import Draft, LedgerEntry
from mem_search.regular_file import read_regular_file
from mem_search.sources.conversations import moment
from mem_search.sources.whole_files import WholeFile, WholeFiles, head
from mem_search.text.content_lines import Component, Property, components

NAME: Final = "contacts"

_MAX_BYTES: Final = 200 * 2**20
"""Of one address book; pictures of people make most of it."""

_LABELS: Final = {
    "ORG": "Organisation", "TITLE": "Position", "ROLE": "Role", "NICKNAME": "Nickname",
    "TEL": "Phone", "EMAIL": "E-mail", "ADR": "Address", "URL": "Website", "IMPP": "Messenger",
    "X-SOCIALPROFILE": "Profile", "BDAY": "Birthday", "ANNIVERSARY": "Anniversary",
    "X-ANNIVERSARY": "Anniversary", "X-ABDATE": "Date", "RELATED": "Related",
    "X-ABRELATEDNAMES": "Related", "X-SPOUSE": "Spouse", "X-JABBER": "Messenger",
    "X-SKYPE": "Messenger", "X-PHONETIC-FIRST-NAME": "Spoken", "X-PHONETIC-LAST-NAME": "Spoken",
    "NOTE": "Note", "LANG": "Language", "GENDER": "Gender",
}  # fmt: skip
_FIELDS: Final = (";", ("N", "ADR", "ORG"))
_DATES: Final = ("BDAY", "ANNIVERSARY", "X-ANNIVERSARY", "X-ABDATE")


class Contacts(WholeFiles):
    """The source id is the UID, else a hash of the name, the numbers and the addresses."""

    name = NAME
    follows = True
    file_format = FileFormat((".vcf", ".vcard"), ("text/vcard", "text/x-vcard", "text/directory"))

    def recognises(self, path: Path) -> bool:
        if path.suffix.lower() in (".vcf", ".vcard"):
            return b"BEGIN:VCARD" in head(path, 4096).replace(b"\0", b"").upper()
        return False

    def drafts(self, file: WholeFile) -> Iterator[Draft | LedgerEntry]:
        data = read_regular_file(file.path, _MAX_BYTES)
        stated = data.replace(b"\0", b"").upper().count(b"BEGIN:VCARD")
        seen: dict[str, int] = {}
        cards = 0
        for number, card in enumerate(_cards(data), 1):
            cards += 1
            if draft := _draft(card, seen):
                yield draft
            else:
                yield LedgerEntry(f"{file.name}:{number}", "left", "the contact says nothing")
            if not card.is_whole:
                why = f"contact {number} is cut off: its END:VCARD is missing"
                yield LedgerEntry(f"{file.name}:{number}", "failed", why)
        if cards != stated:
            why = f"{stated - cards} of {stated} contacts were not read: their lines are damaged"
            yield LedgerEntry(f"{file.name}:count", "failed", why)


def _cards(data: bytes) -> Iterator[Component]:
    """The cards, also those that a card has as its agent or that lie in another component."""
    for each in components(data):
        waiting = [each]
        while waiting:
            component = waiting.pop()
            waiting += reversed(component.components)
            if component.name == "VCARD":
                yield component


def _draft(card: Component, seen: dict[str, int]) -> Draft | None:
    name = card.text("FN") or _name(card) or card.text("NICKNAME", "ORG", "EMAIL", "TEL")
    labels = {each.name: each.text for each in card.all("X-ABLABEL")}
    lines = [name, *filter(None, (_line(each) for each in card.properties))]
    if not any(lines):
        return None
    mails = [each.text.strip() for each in card.all("EMAIL")]
    phones = [each.text.strip().removeprefix("tel:") for each in card.all("TEL")]
    identity = card.text("UID")
    if not identity:
        said = "\n".join((name, *mails, *phones))
        identity = hashlib.blake2b(said.encode(), digest_size=12).hexdigest()
    seen[identity] = count = seen.get(identity, 0) + 1
    metadata: dict[str, Any] = {
        "type": "contact",
        "email": mails,
        "phone": phones,
        "organisation": ", ".join(filter(None, (p for o in card.all("ORG") for p in o.parts()))),
        "labels": list(labels.values()),
    }
    changed = moment(card.text("REV"))
    tags = [tag for each in card.all("CATEGORIES") for tag in each.parts(",")]
    return Draft(
        kind="note",
        source=NAME,
        source_id=identity if count == 1 else f"{identity}#{count}",
        text="\n".join(dict.fromkeys(filter(None, lines))),
        title=name,
        created_at=changed,
        tags=tuple(dict.fromkeys(filter(None, tags))),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _name(card: Component) -> str:
    names = card.all("N")
    if not names:
        return ""
    family, given, more, before, after, *_ = [*names[0].parts(), "", "", "", "", ""]
    return " ".join(filter(None, (before, given, more, family, after)))


def _line(prop: Property) -> str:
    label = _LABELS.get(prop.name)
    if not label or prop.is_binary:
        return ""
    value = prop.text.strip()
    if prop.name in _FIELDS[1]:
        value = ", ".join(filter(None, prop.parts()))
    elif prop.name in _DATES and value.isdecimal() and len(value) == 8:
        value = f"{value[:4]}-{value[4:6]}-{value[6:]}"
    elif prop.name == "GENDER":
        value = {"M": "male", "F": "female"}.get(value.upper(), value)
    kinds = ", ".join(each.lower() for each in prop.types if each.lower() != "internet")
    return f"{label}{f' ({kinds})' if kinds else ''}: {value}" if value else ""
