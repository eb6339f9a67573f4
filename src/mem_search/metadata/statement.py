"""A statement of an account."""

from __future__ import annotations

from mem_search.metadata.common import DocumentMetadata, Money, Text


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
