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
    "source": "Source: claude-code, git, mail, ...",
    "session": "Session by its id.",
    "folder": "Notes in this folder.",
    "domain": "Websites of this domain.",
    "path": "A path, whole or its end; src/ is all below.",
    "filetype": "Files of a format: pdf, docx, document, spreadsheet, image, scan.",
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

FROM_TEXT, FROM_MODEL = "from_text", "from_model"
"""The members of the metadata for what rules found in the text of a record, and for what a language
model said about it. All else is what the document, its source or a person says."""

FILE_DATE, DATED_BY = "file_date", "dated_by"
"""The members for the time of the file or mail of a document that states a day of its own, and for
who gave the time of a document, where that was neither."""

FACT_RULES = "facts-3"
"""The version of the rules that find facts in texts (``mem_search.metadata.extraction``)."""

CITATION_RULES = "citations-1"
"""The version of the rules that find citations in texts (``cites``, ``shared_phrases``)."""

DOCUMENT_FIELDS = {
    "amount": ("number", ("total_amount",), "The total of an invoice, a receipt or a ticket."),
    "tax_amount": ("number", ("vat",), "The tax in it."),
    "currency": ("word", (), "Currency by its code: EUR."),
    "due_date": ("date", ("due",), "The day by which to pay or to answer."),
    "document_date": ("date", ("date", "invoice_date"), "The day that the document bears."),
    "event_date": ("date", (), "The day of the event."),
    "event_name": ("text", (), "A part of the event's name."),
    "location": ("text", ("venue",), "A part of the place."),
    "vendor": ("text", ("merchant",), "A part of the seller's name."),
    "organisation": (
        "text",
        ("organisations", "organization", "organizations"),
        "A part of an organisation's name; a seller is one.",
    ),
    "category": ("word", ("categories",), "Category, as given or as a model says."),
    "document_type": ("word", (), "invoice, receipt, letter, statement, ..."),
    "payment_method": ("text", (), "How it was paid: card, transfer."),
    "invoice_number": ("word", (), "Number of an invoice or a receipt."),
    "customer_id": ("word", (), "Number of the customer."),
    "service_period": ("text", (), "What an invoice is for, in time."),
    "seat_number": ("word", (), "Seat on a ticket."),
    "attendee": ("text", ("attendee_names", "attendees"), "A part of a visitor's name."),
    "phone": ("text", ("phones",), "A part of a telephone number, as it is written."),
    "address": ("text", ("addresses",), "A part of a postal address."),
    "bcc": ("text", (), "A part of the name or address of who gets a hidden copy."),
    "thread_id": ("word", (), "Thread of mails by its id."),
}
"""Field of a document → type of its values, further metadata that holds it, what it asks for.
A ``word`` is the whole value, where ``*`` stands for any letters; of a ``text`` a part is enough.
``number`` and ``date`` can be compared: ``amount>100``."""

FIELDS |= {name: help_text for name, (_, _, help_text) in DOCUMENT_FIELDS.items()}

PEOPLE = {
    "author": ("author", "authors", "byline", "creator", "from"),
    "from": ("from", "sender", f"{FROM_TEXT}.sender", f"{FROM_MODEL}.sender"),
    "to": ("to", "recipient", "recipients", f"{FROM_TEXT}.recipients", f"{FROM_MODEL}.recipients"),
    "cc": ("cc",),
}
"""Field → the metadata that names these people, as sources write it."""

_LISTED_AS = {
    "organisation": "organisations", "attendee": "attendee_names", "phone": "phones",
    "address": "addresses",
}  # fmt: skip
"""Field → the member of the models (``mem_search.metadata``) that lists its values."""

_COUNT_AS = {"organisation": ("vendor",), "document_type": ("source_type",)}
"""Other facts that meet a filter by this one as well."""

SAME_FACT = (
    *((name, *others) for name, (_, others, _) in DOCUMENT_FIELDS.items()),
    ("sender", "from"),
    ("recipients", "to", "recipient"),
)
"""Names of metadata for one fact. What is given under one of them is not looked for in the text."""


def holding(field: str) -> tuple[str, ...]:
    """The paths in the metadata that may hold a field of ``DOCUMENT_FIELDS``."""
    others = _COUNT_AS.get(field, ())
    names = (_LISTED_AS.get(field, field), *others)
    apart = (f"{member}.{name}" for member in (FROM_TEXT, FROM_MODEL) for name in names)
    return (field, *DOCUMENT_FIELDS[field][1], *others, *apart)


NAMED = tuple(dict.fromkeys([name for names in PEOPLE.values() for name in names]))
NAMED += ("bcc", "reply_to", "attachments", "attachment")
"""The metadata by whose names a record is found without a field."""

MAX_NAMES_CHARS = 10_000
"""Characters; a message to more people is found by the first of them."""


def names_in(metadata: Mapping[str, Any]) -> str:
    """The people and the attached files that ``metadata`` names, one a line."""
    names: list[str] = []
    for name in NAMED:
        held = metadata.get(name)
        items = held if isinstance(held, list) else [held]
        for item in items:
            said = item.get("name") if isinstance(item, dict) else item
            if isinstance(said, str) and said.strip() and said not in names:
                names.append(said)
    return "\n".join(names)[:MAX_NAMES_CHARS]


PARAMETERS = (
    "title", "content", "author", "from", "to", "cc", "url", "filetype", "domain", "folder", "path",
    "failed", "has", "is", "meta", "before", "after", "in", *DOCUMENT_FIELDS,
)  # fmt: skip
"""The fields that searches have no other parameter for, by their own name."""
