"""A letter, often scanned."""

from __future__ import annotations

from mem_search.metadata.common import DocumentMetadata, Text


class Letter(DocumentMetadata):
    """A letter. It is recognised by its salutation and its closing, not by a heading."""

    type_name = "letter"
    also = ("brief", "lettre", "carta")
    is_content = True

    reference: Text | None = None
    subject: Text | None = None
