"""A request for payment."""

from __future__ import annotations

from mem_search.metadata.common import DocumentMetadata, Money, Text


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
