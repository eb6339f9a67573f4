"""Facts in a question: amounts, days by which something is due, and what something cost."""

from __future__ import annotations

import pytest

from mem_search.records.registry import installed_kinds
from mem_search.text.plain_words import find

KNOWN = installed_kinds().vocabulary


def facts(text: str) -> list[str]:
    """The fields that the facts of ``text`` are read as; what only raises ends in ``?``."""
    assert not find(text, KNOWN) or KNOWN.asks.search(text), "the quick look would pass it over"
    return [
        each.field + ("" if each.sure else "?") for each in find(text, KNOWN) if each.part == "fact"
    ]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("invoices over 100 euros", ["amount>100", "currency:EUR?"]),
        ("what cost more than $50", ["amount>50", "currency:USD?"]),
        ("invoice over $2k", ["amount>2000", "currency:USD?"]),
        ("receipts of at least 1,200.50 EUR", ["amount>=1200.50", "currency:EUR?"]),
        ("receipts between 20 and 50 euros", ["amount>=20", "amount<=50", "currency:EUR?"]),
        ("bills under £30", ["amount<30", "currency:GBP?"]),
        ("invoices over 200", ["amount>200"]),
        ("Rechnungen über 1.200,50 Euro", ["amount>1200.50", "currency:EUR?"]),
        ("Quittungen unter 50 €", ["amount<50", "currency:EUR?"]),
        ("factures de plus de 100 euros", ["amount>100", "currency:EUR?"]),
        ("facturas de más de 1 000 euros", ["amount>1000", "currency:EUR?"]),
    ],
)
def test_an_amount_is_compared(text: str, read: list[str]) -> None:
    assert facts(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("overdue invoices", "due_date<today"),
        ("invoices due next week", 'due_date:"next week"'),
        ("bills due before 3 March 2026", 'due_date<"3 March 2026"'),
        ("bill due by Friday", 'due_date<="this Friday"'),
        ("invoice due in March", 'due_date:"this March"'),
        ("Rechnung fällig bis Freitag", 'due_date<="this friday"'),
        ("facture à payer avant le 3 mars 2026", 'due_date<"3 march 2026"'),
        ("factura que vence la próxima semana", 'due_date:"next week"'),
    ],
)
def test_a_day_by_which_something_is_due_is_compared(text: str, read: str) -> None:
    assert facts(text) == [read]


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("how much was the dentist", "dentist"),
        ("how much did the vet charge", "vet"),
        ("wie viel hat der Zahnarzt gekostet", "Zahnarzt"),
        ("combien a coûté le dentiste", "dentiste"),
        ("cuánto costó el dentista", "dentista"),
    ],
)
def test_a_question_for_a_price_raises_what_states_an_amount(text: str, who: str) -> None:
    assert facts(text) == ["has:amount?"]
    assert [each.phrase for each in find(text, KNOWN) if each.part == "person"] == [who]


@pytest.mark.parametrize(
    "text",
    [
        "invoices over 200 pages",
        "requests over 200 ms",
        "how much memory does the worker use",
        "more than 100 users",
        "over 50% of the mails",
        'invoices "over 100 euros"',
        "why are invoices over 100 euros rejected",
        "the due date of the milestone",
    ],
)
def test_other_numbers_and_words_stay_words(text: str) -> None:
    assert facts(text) == []


def test_an_amount_is_no_part_of_a_name() -> None:
    read = [(each.phrase, each.field) for each in find("mail from Tern more than 200 euros", KNOWN)]
    assert ("Tern", "from") in read
