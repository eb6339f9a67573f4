"""What a text states, found by rules: deterministic, linear in time, precise rather than complete.

A fact is taken where a label names it (``Amount due: 45.00 EUR``), where its form is clear (a
telephone number, a postal address, a legal form), or from the head of a letter. What the metadata
says already is not looked for, so the document, its source and people always win. The facts are
kept apart, under ``FROM_TEXT``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from mem_search.metadata import MODELS, document_type_of, values
from mem_search.metadata.labels import HEAD, MAX_VALUE_CHARS, TOP, Text, labelled
from mem_search.metadata.types import Letter
from mem_search.patterns import pattern
from mem_search.text.addresses import addresses
from mem_search.text.search_fields import FROM_MODEL, FROM_TEXT, SAME_FACT

_HEADING_LINES: Final = 8
_MAX_VALUES: Final = 10
"""Values of one list."""

_DUE: Final = pattern(
    r"\b(?:due|payable|pay|payment|respond|fällig|zahlbar|überweisen|payer|pagar)\b[^\n.;:]{0,30}?"
    r"\b(?:on|by|before|until|am|bis|bis zum|zum|avant le|antes del|le)\s",
    re.IGNORECASE,
)
_PLACE_AND_DATE: Final = pattern(
    r"(?:[A-ZÄÖÜÉ][\w .'’-]{1,30},?\s)?(?:(?:den|le|am|the|on)\s)?"
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s)?",
)
_SALUTATION: Final = pattern(
    r"(?:dear|sehr geehrte[rs]?|liebe[r]?|guten tag|cher|chère|madame|monsieur|estimad[oa]s?"
    r"|muy señor|gentile|egregio|geachte|beste)\b.{0,80}\Z",
    re.IGNORECASE,
)
_CLOSING: Final = pattern(
    r"(?:sincerely|yours (?:sincerely|faithfully|truly)|sincerely yours|kind regards"
    r"|best regards|with regards|respectfully|mit freundlichen grüßen|mit freundlichem gruß"
    r"|freundliche grüße|hochachtungsvoll|cordialement|bien cordialement|veuillez agréer"
    r"|je vous prie|atentamente|saludos cordiales|un cordial saludo|cordiali saluti"
    r"|distinti saluti|met vriendelijke groet)",
    re.IGNORECASE,
)


def with_facts(metadata: Mapping[str, Any], title: str, text: str, *, kind: str) -> dict[str, Any]:
    """``metadata`` with what ``text`` states under ``FROM_TEXT``, without what it said before.

    A fact that the metadata has under any of its names is left out, also of what a model said.
    """
    kept = {name: value for name, value in metadata.items() if name != FROM_TEXT}
    given = {name for name, value in kept.items() if value not in (None, "", [])}
    stated = _left(facts(title, text, kind=kind, given=kept), given)
    from_model = kept.get(FROM_MODEL)
    if isinstance(from_model, dict):
        remaining = _left(from_model, given | stated.keys())
        kept = {**kept, FROM_MODEL: remaining} if remaining else {
            name: value for name, value in kept.items() if name != FROM_MODEL
        }  # fmt: skip
    return {**kept, FROM_TEXT: stated} if stated else kept


def _left(stated: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """``stated`` without the facts of which ``given`` has a name."""
    names = set(given)
    taken = {name for same in SAME_FACT if names.intersection(same) for name in same} | names
    return {name: value for name, value in stated.items() if name not in taken}


def facts(title: str, text: str, *, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Field → value, as ``metadata.types`` has them, that the text states.

    ``given`` is what is known already: it may say what type of document this is.
    """
    read, head = Text.of(text), text[:HEAD]
    stated = labelled(read, is_mail=kind == "email")
    _add_dates(read, stated, is_mail=kind == "email")
    document_type = document_type_of({**given, FROM_TEXT: None})
    if not document_type and (document_type := _type_of(title, read, stated, kind)):
        stated["document_type"] = document_type
    _drop_strange(stated, document_type)
    top = [name for line in read.lines[:TOP] if (name := values.letterhead(line))]
    firms = [*values.companies(head)]
    if document_type == "letter" and "sender" not in stated:
        firsts = [*top[:2], *values.companies("\n".join(read.lines[:3]))]
        if firsts:
            stated["sender"] = firsts[:2]
    if document_type in ("invoice", "receipt", "statement") and "vendor" not in stated:
        seller = _seller(read, top, given if kind == "email" else {})
        if seller:
            stated["vendor"] = seller
    for name, listed in (
        ("organisations", [*top, *firms]),
        ("addresses", values.addresses(head)),
        ("phones", values.phones(head)),
        ("urls", values.urls(head)),
    ):
        if several := list(islice(dict.fromkeys(listed), _MAX_VALUES)):
            stated[name] = several
    return stated


def _add_dates(read: Text, stated: dict[str, Any], *, is_mail: bool) -> None:
    """The day by which to pay in a sentence, and the day that stands alone at the top."""
    if "due_date" not in stated:
        for due in _DUE.finditer(read.head):
            if day := read.day(read.head[due.end() : due.end() + 60]):
                stated["due_date"] = day
                break
    if "document_date" not in stated and not is_mail:
        for line in read.lines[: TOP + 5]:
            match = values.DAY.search(line)
            if match and match.end() == len(line.rstrip(" .")):
                before = _PLACE_AND_DATE.match(line)
                if (
                    before
                    and before.end() >= match.start()
                    and (day := values.day(match, read.order))
                ):
                    stated["document_date"] = day
                    break


def _type_of(title: str, read: Text, stated: Mapping[str, Any], kind: str) -> str:
    """The type of document that headings and evidence say; "" for none."""
    top = [line for line in read.lines if line][:_HEADING_LINES]
    heads = "\n".join([title, *(line for line in top if len(line) <= MAX_VALUE_CHARS)]).lower()
    if kind == "email":
        heads = title.lower()
    for name, headings, evidence in _TYPES:
        if headings.search(heads) and (not evidence or any(each in stated for each in evidence)):
            return name
    has = (any(map(pattern.match, read.lines)) for pattern in (_SALUTATION, _CLOSING))
    return Letter.type_name if kind != "email" and all(has) else ""


_TYPES: Final = tuple(
    (
        model.type_name,
        pattern(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, model.headings))})(?![^\W_])"),
        model.evidence,
    )
    for model in MODELS
    if model.headings
)
_OF_TICKETS: Final = ("seat_number", "event_name", "event_date", "attendee_names", "location")
_OF_BILLS: Final = ("invoice_number", "customer_id", "service_period", "payment_method", "vendor",
                    "tax_amount")  # fmt: skip


def _drop_strange(stated: dict[str, Any], document_type: str) -> None:
    """Drop what labels alone do not show: a seat outside of tickets, ``Total`` outside of bills."""
    if document_type != "event_ticket":
        for name in _OF_TICKETS:
            stated.pop(name, None)
    if document_type not in ("invoice", "receipt", "statement"):
        for name in _OF_BILLS:
            stated.pop(name, None)


def _seller(read: Text, top: list[str], given: Mapping[str, Any]) -> str:
    """Who sells: the sender of a mail by name, else the firm or body at the top."""
    header = given.get("from")
    headers = [header] if isinstance(header, str) else header if isinstance(header, list) else []
    for name, _ in addresses(str(each) for each in headers):
        if name:
            return name[:MAX_VALUE_CHARS]
    firms = values.companies("\n".join(read.lines[:TOP]))
    return next(iter([*firms, *top]), "")
