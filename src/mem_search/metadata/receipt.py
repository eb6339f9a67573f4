"""A confirmation of a payment."""

from __future__ import annotations

from mem_search.metadata.common import DocumentMetadata, Money, Text


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
