"""What the texts of documents state: whole documents in, all their facts out."""

from __future__ import annotations

from typing import Any

import pytest

from mem_search.metadata import MODELS, faults, model_of
from mem_search.metadata.extraction import facts, with_facts
from mem_search.text.search_fields import DOCUMENT_FIELDS, holding

ENGLISH_INVOICE = """Quay Lamps Ltd
12 Harbour Street, Bristol, BS1 4DJ
Tel: +44 117 496 0123

INVOICE

Invoice No: QL-2031          Date: 3 March 2026
Bill to: Ann Lee
Customer no. C-881
Service period: February 2026

Lamp repair        2    40.00
Subtotal                80.00
VAT (20%)               16.00
Total due: £96.00
Due date: 17/03/2026
Payment method: bank transfer
"""
GERMAN_INVOICE = """Stadtwerke Musterstadt GmbH
Hauptstraße 12
12345 Musterstadt
Rechnung
Rechnungsnummer: 2026-0815
Rechnungsdatum: 05.02.2026
Kundennummer 4711
Gesamtbetrag (inkl. 19% MwSt.): 1.234,56 €
Zahlbar bis zum 19.02.2026
"""
FRENCH_INVOICE = """Lumière SARL
14 rue des Lilas
69003 Lyon
Facture n° F-2026-12
Date de facturation : 2 février 2026
Montant total : 1 234,50 €
Date d'échéance : 01/03/2026
Livraison : 28/02/2026
"""
LETTER = """Department of the Treasury
Internal Revenue Service
P.O. Box 149342
Austin, TX 78714

March 4, 2024

Dear Taxpayer:
We changed your 2022 return. Please respond by April 15, 2024 or call 800-829-1040.

Sincerely yours,
J. Doe
"""
TICKET = """E-Ticket
Event: Harbour Jazz Night
Venue: Old Mill Hall
Event date: Friday, 12 June 2026
Seat: B 12
Attendee: Ann Lee, Bob Ray
Total: 45,00 EUR
"""
RECEIPT_MAIL = """Thank you for your purchase.
Order total: $23.45
Payment method: Visa ending in 1234
See https://pharmacy.example/orders/1.
"""


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        (
            ENGLISH_INVOICE,
            {
                "document_type": "invoice", "invoice_number": "QL-2031",
                "document_date": "2026-03-03", "due_date": "2026-03-17", "amount": 96.0,
                "tax_amount": 16.0, "currency": "GBP", "customer_id": "C-881",
                "service_period": "February 2026", "payment_method": "bank transfer",
                "vendor": "Quay Lamps Ltd", "recipients": ["Ann Lee"],
                "organisations": ["Quay Lamps Ltd"], "phones": ["+44 117 496 0123"],
                "addresses": ["12 Harbour Street, Bristol, BS1 4DJ"],
            },
        ),
        (
            GERMAN_INVOICE,
            {
                "document_type": "invoice", "invoice_number": "2026-0815",
                "document_date": "2026-02-05", "due_date": "2026-02-19", "amount": 1234.56,
                "currency": "EUR", "customer_id": "4711",
                "vendor": "Stadtwerke Musterstadt GmbH",
                "organisations": ["Stadtwerke Musterstadt GmbH"],
                "addresses": ["Hauptstraße 12, 12345 Musterstadt"],
            },
        ),
        (
            FRENCH_INVOICE,
            {
                "document_type": "invoice", "invoice_number": "F-2026-12",
                "document_date": "2026-02-02", "due_date": "2026-03-01", "amount": 1234.5,
                "currency": "EUR", "vendor": "Lumière SARL", "organisations": ["Lumière SARL"],
                "addresses": ["14 rue des Lilas, 69003 Lyon"],
            },
        ),
        (
            LETTER,
            {
                "document_type": "letter", "document_date": "2024-03-04",
                "due_date": "2024-04-15",
                "sender": ["Department of the Treasury", "Internal Revenue Service"],
                "organisations": ["Department of the Treasury", "Internal Revenue Service"],
                "addresses": ["P.O. Box 149342, Austin, TX 78714"], "phones": ["800-829-1040"],
            },
        ),
        (
            TICKET,
            {
                "document_type": "event_ticket", "event_name": "Harbour Jazz Night",
                "event_date": "2026-06-12", "location": "Old Mill Hall", "seat_number": "B 12",
                "attendee_names": ["Ann Lee", "Bob Ray"], "amount": 45.0, "currency": "EUR",
            },
        ),
    ],
)  # fmt: skip
def test_a_document_states_its_facts(text: str, stated: dict[str, Any]) -> None:
    found = facts("scan 1", text, kind="file", given={})
    assert found == stated
    assert faults(found["document_type"], found) == []


def test_the_shop_of_a_receipt_by_mail_is_its_sender() -> None:
    header = {"from": "City Pharmacy <shop@pharmacy.example>", "date": "2026-01-02"}
    found = facts("Your receipt from City Pharmacy", RECEIPT_MAIL, kind="email", given=header)
    assert found == {
        "document_type": "receipt", "amount": 23.45, "currency": "USD",
        "payment_method": "Visa ending in 1234", "vendor": "City Pharmacy",
        "urls": ["https://pharmacy.example/orders/1"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Total of 45 people came. The date is open. From here to there. Due to rain we left.",
        "Invoice handling needs a rewrite: amount > 100 fails. Total 12 of 15 tests pass.",
        "def total(amount):\n    return amount\ntax = 0.19\ndue = None\ndate: 2",
        "Version 1.234.567 of 3/5/2024, build 10.20.30.40, commit 1234567890, port 8080.",
        "Date: 3/5/2024",  # two days
        "Due date: 31 February 2026",
        "Dear all, a short note.\nThe receipt is on the table.",
        "I walked down 5th Avenue, New York, in 2020. To whom it may concern",
        "A letter about an invoice\nwhich I never got from the bank",
    ],
)
def test_prose_and_code_state_nothing(text: str) -> None:
    assert facts("a letter from the bank", text, kind="note", given={}) == {}


@pytest.mark.parametrize(
    ("line", "amount", "currency"),
    [
        ("Total: $1,234.50", 1234.5, "USD"),
        ("Total: CHF 1'234.50", 1234.5, "CHF"),
        ("Total due 12 EUR", 12.0, "EUR"),
        ("Summe: 12,50", 12.5, None),
        ("| Total | 99,90 € |", 99.9, "EUR"),
        ("Grand total:\n45.00 USD", 45.0, "USD"),
        ("Total: 5.00 EUR\nAmount due: 7.00 EUR\nTotal: 9.00 EUR", 7.0, "EUR"),
        ("Total: $5.00\nAll prices in CAD", 5.0, "CAD"),
        ("Ihr Strom: Rechnungsbetrag 87,40 EUR, fällig am 24.10.2025.", 87.4, "EUR"),
        ("For the meter your amount due is $45.20, to be paid soon", 45.2, "USD"),
        ("The grand total of 12 apples, the subtotal due 5 EUR", None, None),
        ("The amount due is $9.00.\nTotal: $5.00", 5.0, "USD"),
    ],
)
def test_amounts_are_read_as_people_write_them(
    line: str, amount: float | None, currency: str | None
) -> None:
    found = facts("", line, kind="file", given={})
    assert (found.get("amount"), found.get("currency")) == (amount, currency)


def test_what_is_given_wins_under_any_of_its_names() -> None:
    given = {"total_amount": 5, "due": "2027-01-01", "vendor": "Ann's"}
    found = with_facts(given, "Invoice", ENGLISH_INVOICE, kind="file")
    assert {name: found[name] for name in given} == given
    assert not {"amount", "due_date", "vendor"} & found["from_text"].keys()
    assert found["from_text"]["invoice_number"] == "QL-2031"


def test_a_second_reading_changes_nothing_and_forgets_what_is_gone() -> None:
    first = with_facts({}, "Invoice", ENGLISH_INVOICE, kind="file")
    assert with_facts(first, "Invoice", ENGLISH_INVOICE, kind="file") == first
    assert with_facts(first, "Invoice", "Nothing here.", kind="file") == {}


def test_a_model_is_heard_only_where_nobody_else_says_it() -> None:
    said = {"from_model": {"amount": 1.0, "category": "light", "due_date": "2020-01-01"}}
    found = with_facts({**said, "due_date": "2027-01-01"}, "Invoice", ENGLISH_INVOICE, kind="file")
    assert found["from_model"] == {"category": "light"}
    assert found["from_text"]["amount"] == 96.0


def test_a_given_type_decides_what_labels_mean() -> None:
    text = "Seat: 12A\nTotal: 5.00 EUR"
    assert "seat_number" not in facts("", text, kind="file", given={})
    found = facts("", text, kind="file", given={"source_type": "ticket"})
    assert (found["seat_number"], "document_type" in found) == ("12A", False)


def test_every_field_of_the_query_language_is_a_field_of_a_model() -> None:
    known = {name for model in MODELS for name in model.model_fields}
    for name in DOCUMENT_FIELDS:
        paths = [path.partition(".")[2] for path in holding(name) if path.startswith("from_text.")]
        assert paths, name
        assert set(paths) <= known | {"source_type"}, name


def test_types_are_known_by_their_other_names_and_unknown_ones_have_the_common_fields() -> None:
    assert model_of("Boarding pass").type_name == "event_ticket"
    assert faults("google_drive", {"amount": "5", "colour": 3}) == [
        ("metadata.amount", "Input should be a valid number")
    ]
    assert faults("invoice", {"amount": 5, "sender": "Ann", "due_date": "2026-01-31"}) == []
    assert faults("invoice", {"currency": "euro"}) == [
        ("metadata.currency", "is not a currency code; write EUR")
    ]
    assert [place for place, _ in faults("invoice", {"currency": "euro", "tags": ["a", 3]})] == [
        "metadata.currency", "metadata.tags.1",
    ]  # fmt: skip
