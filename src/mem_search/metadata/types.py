"""What documents may state: the common fields, and those of an invoice, a letter or a PDF.

A model says what people and programs may give; the same fields hold what rules find in a text
(``extraction``) and what a language model says (``enrichment``). Models with ``is_content`` say
what a document is, the others what form it has.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from mem_search.patterns import pattern

MAX_VALUE_CHARS: Final = 1000
"""Characters of one value; a longer one is a text, and stands there."""
MAX_VALUES: Final = 100
"""Values of one field."""

_DAY: Final = pattern(r"\d{4}-\d\d-\d\d")
_CODE: Final = pattern(r"[A-Z]{3}")


def _day(text: str) -> str:
    """A day, or a day with a time, in ISO 8601."""
    try:
        if _DAY.fullmatch(text):
            date.fromisoformat(text)
        elif _DAY.match(text):
            datetime.fromisoformat(text)
        else:
            raise ValueError
    except ValueError:
        raise PydanticCustomError(
            "value", "is not a date; write 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from None
    return text


def _currency(text: str) -> str:
    """A code of ISO 4217 in capitals."""
    if not _CODE.fullmatch(text):
        raise PydanticCustomError("value", "is not a currency code; write EUR")
    return text


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(max_length=MAX_VALUE_CHARS)]
Day = Annotated[str, AfterValidator(_day)]
"""ISO 8601: ``2026-01-31``."""
Money = Annotated[float, Field(allow_inf_nan=False, ge=-1e12, le=1e12)]
"""In the unit of the currency, not in cents."""
Currency = Annotated[str, AfterValidator(_currency)]
"""ISO 4217: ``EUR``."""
Texts = Annotated[
    Annotated[list[Text], Field(max_length=MAX_VALUES)],
    BeforeValidator(_listed, json_schema_input_type=str | list[str]),
]
"""One text, or a list of them."""


class DocumentMetadata(BaseModel):
    """The common fields; unknown ones are kept unchanged.

    ``type_name`` is what ``source_type`` and ``document_type`` call it, ``also`` other names.
    ``is_content``: the type says what a document is (an invoice) rather than its form (a PDF).
    ``headings`` are words in a title or heading by which a document is recognised, and
    ``evidence`` are fields of which the text must then state one.
    """

    model_config = ConfigDict(defer_build=True, extra="allow", frozen=True, strict=True)

    type_name: ClassVar[str] = ""
    also: ClassVar[tuple[str, ...]] = ()
    is_content: ClassVar[bool] = False
    headings: ClassVar[tuple[str, ...]] = ()
    evidence: ClassVar[tuple[str, ...]] = ()

    document_type: Text | None = None
    document_date: Day | None = None
    sender: Texts | None = None
    recipients: Texts | None = None
    event_name: Text | None = None
    event_date: Day | None = None
    location: Text | dict[str, Any] | None = None
    vendor: Text | None = None
    amount: Money | None = None
    currency: Currency | None = None
    due_date: Day | None = None
    category: Text | None = None
    tags: Texts | None = None
    organisations: Texts | None = None
    addresses: Texts | None = None
    phones: Texts | None = None
    urls: Texts | None = None


class Email(DocumentMetadata):
    """A mail. Headers are stored as ``from``, ``to`` and ``date``, which mean the common fields."""

    type_name = "email"
    also = ("mail", "e-mail")

    subject: Text | None = None
    cc: Texts | None = None
    bcc: Texts | None = None
    reply_to: Texts | None = None
    thread_id: Text | None = None
    message_id: Text | None = None


class Receipt(DocumentMetadata):
    """A receipt. ``amount`` and ``total_amount`` are the same fact."""

    type_name = "receipt"
    also = ("quittung", "kassenbon")
    is_content = True
    headings = (
        "receipt", "payment confirmation", "payment received", "order confirmation",
        "your order", "purchase confirmation", "quittung", "kassenbon", "beleg",
        "zahlungsbestätigung", "bestellbestätigung", "reçu", "ticket de caisse", "recibo",
        "ricevuta", "kwitantie", "領収書",
    )  # fmt: skip
    evidence = ("amount", "payment_method")

    total_amount: Money | None = None
    tax_amount: Money | None = None
    payment_method: Text | None = None
    invoice_number: Text | None = None
    customer_id: Text | None = None


class Letter(DocumentMetadata):
    """A letter. It is recognised by its salutation and its closing, not by a heading."""

    type_name = "letter"
    also = ("brief", "lettre", "carta")
    is_content = True

    reference: Text | None = None
    subject: Text | None = None


class Contract(DocumentMetadata):
    """A contract, a lease, a policy."""

    type_name = "contract"
    also = ("agreement", "lease")
    is_content = True
    headings = (
        "lease agreement", "rental agreement", "residential lease", "employment contract",
        "employment agreement", "service agreement", "purchase agreement", "license agreement",
        "non-disclosure agreement", "insurance policy", "mietvertrag", "arbeitsvertrag",
        "kaufvertrag", "dienstleistungsvertrag", "contrat de location", "contrat de travail",
        "contrato de arrendamiento", "contrato de trabajo",
    )  # fmt: skip

    parties: Texts | None = None
    start_date: Day | None = None
    end_date: Day | None = None


class Statement(DocumentMetadata):
    """A statement; ``service_period`` is the time that it covers, as written."""

    type_name = "statement"
    also = ("account_statement", "bank_statement")
    is_content = True
    headings = (
        "account statement", "bank statement", "statement of account", "billing statement",
        "credit card statement", "kontoauszug", "kreditkartenabrechnung", "relevé de compte",
        "extracto de cuenta", "estratto conto",
    )  # fmt: skip

    service_period: Text | None = None
    customer_id: Text | None = None
    balance: Money | None = None


class EventTicket(DocumentMetadata):
    """A ticket."""

    type_name = "event_ticket"
    also = ("ticket", "boarding_pass")
    is_content = True
    headings = (
        "ticket", "tickets", "e-ticket", "eticket", "boarding pass", "admission", "eintrittskarte",
        "fahrkarte", "bordkarte", "billet", "entrada", "biglietto",
    )  # fmt: skip
    evidence = ("seat_number", "event_name", "event_date", "attendee_names")

    seat_number: Text | None = None
    attendee_names: Texts | None = None


class Invoice(DocumentMetadata):
    """An invoice. ``service_period`` is written as in the document."""

    type_name = "invoice"
    also = ("bill", "rechnung", "facture", "factura")
    is_content = True
    headings = (
        "invoice", "tax invoice", "bill", "rechnung", "zahlungserinnerung", "facture", "factura",
        "fattura", "factuur", "请款单", "請求書",
    )  # fmt: skip
    evidence = ("invoice_number", "amount", "due_date")

    invoice_number: Text | None = None
    customer_id: Text | None = None
    service_period: Text | None = None
    total_amount: Money | None = None
    tax_amount: Money | None = None
    payment_method: Text | None = None


class Pdf(DocumentMetadata):
    """A PDF or an office file. ``ocr_confidence`` is from 0 to 1."""

    type_name = "pdf"
    also = ("docx", "document", "file", "scan")

    author: Text | Texts | None = None
    pages: Annotated[int, Field(ge=0)] | None = None
    keywords: Texts | None = None
    description: Text | None = None
    ocr_confidence: Annotated[float, Field(ge=0, le=1)] | None = None


class Image(DocumentMetadata):
    """A picture or a photograph."""

    type_name = "image"
    also = ("photo", "picture", "screenshot")

    author: Text | Texts | None = None
    description: Text | None = None
    camera: Text | None = None
    ocr_confidence: Annotated[float, Field(ge=0, le=1)] | None = None


class WebPage(DocumentMetadata):
    """A web page."""

    type_name = "website"
    also = ("web", "webpage", "web_page", "bookmark")

    author: Text | Texts | None = None
    site: Text | None = None
    published: Day | None = None
    domain: Text | None = None


class Note(DocumentMetadata):
    """A note."""

    type_name = "note"
    also = ("markdown", "memo")

    folder: Text | None = None
    aliases: Texts | None = None


class Chat(DocumentMetadata):
    """A talk of people, or of a person with a model."""

    type_name = "chat"
    also = ("conversation",)

    participants: Texts | None = None
    channel: Text | None = None
