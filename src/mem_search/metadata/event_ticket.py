"""A ticket for an event or a journey."""

from __future__ import annotations

from mem_search.metadata.common import DocumentMetadata, Text, Texts


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
