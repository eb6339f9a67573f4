"""The format of a file, as people call it."""

from __future__ import annotations

import pytest

from mem_search.records.file import filetypes


@pytest.mark.parametrize(
    ("path", "media_type", "scanned", "types"),
    [
        ("a/lease.PDF", "", False, ["pdf"]),
        ("scan.pdf", "application/pdf", True, ["pdf", "scan"]),
        ("minutes.docx", "", False, ["docx", "document"]),
        ("budget.csv", "text/csv", False, ["csv", "spreadsheet"]),
        ("photo", "image/jpeg", True, ["jpeg", "image", "scan"]),
        ("attachment 1", "application/pdf", False, ["pdf"]),
        ("attachment 1", "application/octet-stream", False, []),
        ("Makefile", "", False, []),
        ("v1.0 final version", "", False, []),
        ("", "", False, []),
    ],
)
def test_a_format_is_known_by_the_name_or_the_media_type(
    path: str, media_type: str, scanned: bool, types: list[str]
) -> None:
    assert filetypes(path, media_type, scanned=scanned) == types
