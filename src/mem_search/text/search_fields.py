"""The fields of the query language: name → what it asks of a record, and whom metadata names.

The query language, the parameters of HTTP and the options of the command line read this one table.
It imports nothing, because every search of the command line loads it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes long
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FIELDS = {
    "type": "Type of observation (bugfix, decision, ...), or a kind.",
    "kind": "Kind of record, by name, plural or label.",
    "project": "Project by name.",
    "tag": "Has this tag.",
    "file": "A path, whole or its end.",
    "concept": "Has this concept.",
    "source": "Source: claude-mem, git, mail, ...",
    "session": "Session by its id.",
    "folder": "Notes in this folder.",
    "domain": "Websites of this domain.",
    "path": "A path, whole or its end; src/ is all below.",
    "url": "A part of the URL.",
    "title": "These words in the title.",
    "content": "These words in the text.",
    "author": "A part of an author's name or address; a sender is an author.",
    "from": "A part of the sender's name or address.",
    "to": "A part of a recipient's name or address.",
    "cc": "A part of the name or address of who gets a copy.",
    "failed": "true: what failed; false: all else; or words of the command or error.",
    "has": "Has something of this name: attachment, url, tag, any metadata.",
    "is": "archived, active, superseded, current, a kind, or a type.",
    "scope": "In the scope with this name.",
    "meta": "Metadata of any name: status:open, amount>100, due<=2025-10-03.",
    "before": "Before this date, without it.",
    "after": "After this date, without it.",
    "since": "Not before this date.",
    "until": "Not after this date.",
    "in": "Within this date: yesterday, 2025, 'May 2024'.",
}

PEOPLE = {
    "author": ("author", "authors", "byline", "creator", "from"),
    "from": ("from", "sender"),
    "to": ("to", "recipient", "recipients"),
    "cc": ("cc",),
}
"""Field → the metadata that names these people, as sources write it."""

NAMED = tuple(dict.fromkeys([name for names in PEOPLE.values() for name in names]))
NAMED += ("bcc", "reply_to", "attachments", "attachment")
"""The metadata by whose names a record is found without a field."""

LONGEST_NAMES = 10_000
"""Characters; a message to more people is found by the first of them."""


def names_in(metadata: Mapping[str, Any]) -> str:
    """The people and the attached files that ``metadata`` names, one a line."""
    found: list[str] = []
    for name in NAMED:
        held = metadata.get(name)
        items = held if isinstance(held, list) else [held]
        for item in items:
            said = item.get("name") if isinstance(item, dict) else item
            if isinstance(said, str) and said.strip() and said not in found:
                found.append(said)
    return "\n".join(found)[:LONGEST_NAMES]


PARAMETERS = (
    "title", "content", "author", "from", "to", "cc", "url", "domain", "folder", "path", "failed",
    "has", "is", "meta", "before", "after", "in",
)  # fmt: skip
"""The fields that searches have no other parameter for, by their own name."""
