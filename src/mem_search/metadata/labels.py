"""Facts after labels: ``Amount due: 45.00 EUR``, in a line, a column, or on the line below.

A field has the labels of several languages. Values are read strictly (``values``), so a label at
the beginning of a sentence gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Self

from mem_search.metadata import values
from mem_search.patterns import pattern

HEAD: Final = 20_000
"""Characters that are read: what a document is about stands at its beginning."""
TOP: Final = 15
"""Lines of a letterhead with an address and a date."""
MAX_VALUE_CHARS: Final = 80
"""Characters of a value in words, and of a heading."""
_LINES: Final = 400
_MAX_LINE_CHARS: Final = 300

_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "amount": (
        "amount due", "total amount due", "total due", "balance due", "grand total",
        "invoice total", "order total", "total amount", "total paid", "amount paid", "total price",
        "total charged", "amount charged", "amount payable", "total", "amount", "gesamtbetrag",
        "rechnungsbetrag", "endbetrag", "gesamtsumme", "zu zahlen", "zahlbetrag", "summe",
        "betrag", "montant total", "total ttc", "montant dû", "montant à payer", "net à payer",
        "montant", "importe total", "total a pagar", "importe", "totale", "importo totale",
        "totaal", "totaalbedrag", "totaal te betalen", "te betalen", "factuurbedrag",
        "totale da pagare", "totale fattura", "valor total", "total a pagar", "do zapłaty", "razem",
        "att betala", "at betale", "maksettava",
    ),
    "tax_amount": (
        "tax", "sales tax", "vat", "gst", "mwst", "mwst.", "ust", "ust.", "umsatzsteuer",
        "mehrwertsteuer", "tva", "iva", "btw",
    ),
    "due_date": (
        "due date", "payment due", "payment due date", "due", "due on", "due by", "pay by",
        "payable by", "respond by", "fällig am", "fällig", "fälligkeit", "fälligkeitsdatum",
        "zahlbar bis", "zahlbar bis zum", "zahlungsziel", "date d'échéance", "échéance",
        "à payer avant le", "fecha de vencimiento", "vencimiento", "scadenza", "vervaldatum",
    ),
    "document_date": (
        "date", "invoice date", "date of issue", "issue date", "issued", "issued on",
        "bill date", "billing date", "statement date", "receipt date", "order date",
        "date of purchase", "purchase date", "letter date", "notice date", "date paid",
        "rechnungsdatum", "datum", "ausstellungsdatum", "bestelldatum", "kaufdatum",
        "date de facturation", "date de facture", "date d'émission", "fecha",
        "fecha de factura", "fecha de emisión", "data", "data fattura", "factuurdatum",
    ),
    "invoice_number": (
        "invoice number", "invoice no", "invoice #", "invoice id", "invoice", "receipt number",
        "receipt no", "receipt #", "receipt", "bill number", "bill no", "rechnungsnummer",
        "rechnungs-nr", "rechnungsnr", "rechnung nr", "rechnung", "belegnummer", "beleg-nr",
        "facture n°", "facture no", "numéro de facture", "n° de facture", "factura nº",
        "factura no", "número de factura", "numero fattura", "fattura n", "factuurnummer",
    ),
    "customer_id": (
        "customer number", "customer no", "customer id", "client id", "client number",
        "account number", "account no", "member id", "kundennummer", "kunden-nr", "kundennr",
        "vertragsnummer", "numéro de client", "n° client", "número de cliente", "codice cliente",
        "klantnummer",
    ),
    "payment_method": (
        "payment method", "method of payment", "paid with", "paid by", "payment type",
        "zahlungsart", "zahlungsmethode", "bezahlt mit", "mode de paiement",
        "moyen de paiement", "payé par", "método de pago", "forma de pago",
        "metodo di pagamento", "betaalmethode",
    ),
    "service_period": (
        "service period", "billing period", "statement period", "period", "for the period",
        "leistungszeitraum", "abrechnungszeitraum", "rechnungszeitraum",
        "période de facturation", "période", "período de facturación", "periodo di fatturazione",
    ),
    "vendor": (
        "vendor", "merchant", "seller", "sold by", "supplier", "verkäufer", "händler",
        "verkauft von", "vendeur", "vendu par", "vendedor", "vendido por", "venditore",
    ),
    "sender": ("from", "sender", "absender", "von", "expéditeur", "remitente", "mittente"),
    "recipients": (
        "to", "recipient", "bill to", "billed to", "invoice to", "addressee", "empfänger", "an",
        "rechnungsempfänger", "destinataire", "facturé à", "destinatario", "facturar a",
    ),
    "event_name": ("event", "event name", "show", "veranstaltung", "événement", "evento"),
    "event_date": (
        "event date", "date of event", "date of travel", "travel date", "departure date",
        "date and time", "veranstaltungsdatum", "reisedatum", "date de l'événement",
        "fecha del evento",
    ),
    "location": (
        "venue", "location", "place", "veranstaltungsort", "ort", "lieu", "lugar", "luogo",
    ),
    "seat_number": ("seat", "seat number", "seat no", "seats", "sitz", "sitzplatz", "platz",
                    "siège", "place n°", "asiento", "posto"),
    "attendee_names": (
        "attendee", "attendees", "passenger", "passengers", "passenger name", "guest", "guests",
        "ticket holder", "teilnehmer", "fahrgast", "reisender", "passagier", "passager",
        "participant", "pasajero", "asistente", "passeggero",
    ),
}  # fmt: skip
_FIELD_OF: Final = {label: field for field, labels in _LABELS.items() for label in labels}
_WEAK: Final = frozenset(
    "total amount summe betrag montant importe totale totaal due date datum fecha data invoice"
    " receipt rechnung issued period tax".split()
)
"""Labels that stand for something else as often; one that says more goes before."""
_LABEL: Final = pattern(
    rf"(?:{'|'.join(re.escape(each) for each in sorted(_FIELD_OF, key=len, reverse=True))})"
    r"(?![^\W\d_])",
    re.IGNORECASE,
)
_WHOLE: Final = sorted(set(_LABELS["amount"]) - _WEAK, key=len, reverse=True)
_STATED: Final = pattern(
    rf"(?<![^\W\d_])(?:{'|'.join(map(re.escape, _WHOLE))})(?![^\W\d_])"
    r"(?:\s(?:of|is|von|ist|de|es))?\s?:?\s?",
    re.IGNORECASE,
)
"""A label of the whole amount within a line."""
_CELLS: Final = pattern(r"\t+| {3,}|\s*\|\s*")
_AFTER_LABEL: Final = pattern(
    r"\.?(?:\s?\((?:incl|inkl|including|excl|in\s)?[^()\n]{0,20}\))?(?:\s?\d{1,2}(?:[.,]\d)?\s?%)?"
    r"\s*(?P<sign>[:#№=]|n[o°º]\.?|nr\.?|is)?\s*[:#]?\s*",
    re.IGNORECASE,
)
_CODE: Final = pattern(r"#?([A-Za-z0-9][A-Za-z0-9/_.\-]{0,30})(?![\w/])")
_SEAT: Final = pattern(r"([A-Z]{0,3}\s?\d{1,4}\s?[A-Z]?)(?!\w)")

_WEEKDAY: Final = pattern(r"[^\W\d_]{2,12}\.?,\s(?=\d|[^\W\d_]{3,10}\.?\s\d)")


@dataclass(frozen=True, slots=True)
class Text:
    """The head of a document, with its lines cut into cells."""

    head: str
    lines: list[str]
    order: str
    dollars: str

    @classmethod
    def of(cls, text: str) -> Self:
        """The head of ``text``."""
        head = text[:HEAD]
        lines = [line[:_MAX_LINE_CHARS].strip() for line in islice(head.splitlines(), _LINES)]
        return cls(head, lines, values.order_of(head), values.dollars_of(head))

    def money(self, value: str) -> values.Sum | None:
        return values.money(value, self.dollars)

    def day(self, value: str) -> str:
        """The day that ``value`` begins with, behind a weekday or not; "" for none."""
        weekday = _WEEKDAY.match(value)
        match = values.DAY.match(value, weekday.end() if weekday else 0)
        return values.day(match, self.order) if match else ""


def labelled(read: Text, *, is_mail: bool) -> dict[str, Any]:
    """The facts after labels. Of two values for one field the one with the stronger label counts,
    then the first; of totals the last.
    """
    ranked: dict[str, tuple[int, Any]] = {}
    for place, label, value in _cells(read):
        field = _FIELD_OF[label]
        if field in ("sender", "recipients") and (is_mail or place >= TOP):
            continue
        what = _value(read, field, label, value)
        if what is None:
            continue
        rank = 0 if label in _WEAK else 1
        known = ranked.get(field)
        if known is None or rank > known[0] or (rank == known[0] and field == "amount"):
            ranked[field] = rank, what
    if "amount" not in ranked and (stated := [*_stated(read)]):
        ranked["amount"] = 0, stated[-1]
    facts: dict[str, Any] = {}
    for field, (_, what) in ranked.items():
        if isinstance(what, values.Sum):
            facts[field] = what.amount
            if what.currency and field == "amount":
                facts["currency"] = what.currency
        else:
            facts[field] = what
    return facts


def _stated(read: Text) -> Iterator[values.Sum]:
    """Amounts with a currency after a label within a line: ``your amount due is 87.40 EUR``."""
    for line in read.lines:
        for label in _STATED.finditer(line):
            total = read.money(line[label.end() :])
            if total is not None and total.currency and total.amount >= 0:
                yield total


def _cells(read: Text) -> Iterator[tuple[int, str, str]]:
    """(line, label, the text behind it) for each label at the beginning of a line or a cell.

    The value may stand in the next cell, or in the next line when the label stands alone.
    """
    for place, line in enumerate(read.lines):
        cells = [cell for cell in _CELLS.split(line) if cell]
        for at, cell in enumerate(cells):
            cell = cell.lstrip("*-•#> ")
            match = _LABEL.match(cell)
            if match is None:
                continue
            label = match[0].lower()
            after = _AFTER_LABEL.match(cell, match.end())
            assert after is not None  # every part of it may be empty
            value = cell[after.end() :].strip("* ")
            is_apart = bool(after["sign"]) or not value
            if not value and at + 1 < len(cells):
                value = cells[at + 1]
            elif not value and len(cells) == 1 and place + 1 < len(read.lines):
                value = read.lines[place + 1]
            if is_apart or _FIELD_OF[label] not in _FREE:
                yield place, label, value


_FREE: Final = frozenset(
    "sender recipients event_name location vendor attendee_names payment_method service_period"
    " seat_number".split()
)
"""Fields of any words: a colon or a column must part the label from them, else it is a sentence."""


def _value(read: Text, field: str, label: str, value: str) -> Any:
    """The value of a field at the beginning of ``value``; None when there is none."""
    match field:
        case "amount" | "tax_amount":
            total = read.money(value)
            return total if total is not None and total.amount >= 0 else None
        case "due_date" | "document_date" | "event_date":
            return read.day(value) or None
        case "invoice_number" | "customer_id":
            code = _CODE.match(value)
            found_code = code[1].rstrip(".-") if code else ""
            is_long = label not in _WEAK or len(found_code) > 3
            return found_code if is_long and any(map(str.isdigit, found_code)) else None
        case "seat_number":
            seat = _SEAT.match(value)
            return seat[1] if seat else None
        case _:
            words = " ".join(value.split()).rstrip(" ,;")
            if not 2 <= len(words) <= MAX_VALUE_CHARS or not any(map(str.isalpha, words)):
                return None
            if field in ("sender", "recipients", "attendee_names"):
                names = [each.strip() for each in words.split(",")] if "@" not in words else [words]
                return [each for each in names if each] or None
            return words
