"""Words of PDFs: hyphens at the ends of lines, and letters of Arabic ligatures."""

from __future__ import annotations

from pathlib import Path

import pytest

from mem_search.extractors import extract

_GLYPHS = """1 begincodespacerange <00> <FF> endcodespacerange
3 beginbfchar <41> <062E> <42> <06440627> <43> <0644> endbfchar"""
_TO_UNICODE = (
    f"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n{_GLYPHS}\nendcmap end"
)


def pdf(content: str) -> bytes:
    """A page that shows ``content`` in the fonts F1 (Helvetica) and F2 (three Arabic glyphs)."""

    def stream(text: str) -> str:
        return f"<</Length {len(text)}>>stream\n{text}\nendstream"

    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents 4 0 R"
        "/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
        "/F2<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 5 0 R>>>>>>>>",
        stream(content),
        stream(_TO_UNICODE),
    ]
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(f"{len(body):010} 00000 n \n")
        body += f"{number} 0 obj\n{text}\nendobj\n"
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(places)
    end = f"trailer\n<</Root 1 0 R/Size {len(objects) + 1}>>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}{table}{end}".encode("cp1252")


def text_of(folder: Path, content: str) -> str:
    file = folder / "a.pdf"
    file.write_bytes(pdf(content))
    return extract(file, file.name).text


def lines(*said: str) -> str:
    return "BT /F1 12 Tf 20 150 Td " + " 0 -16 Td ".join(f"({each}) Tj" for each in said) + " ET"


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        (("In June the price-", "determining factors rose"), "the price-determining factors"),
        (("It needs an engine over-", "haul of the tender"), "engine overhaul of"),
        (("The mem-", "bers voted for a slip"), "The members voted"),
        (("Die Hafengebüh-", "ren steigen im Mai"), "Die Hafengebühren steigen"),
        (("The policy AB-", "5521 is valid until May"), "policy AB-5521 is"),
        (("A state-of-the-", "art lamp in the tower"), "state-of-the-art lamp"),
        (("A kro-mat, and a kro-", "mat again in the tower"), "and a kro-mat again"),
        (("A kromat, and a kro-", "mat again in the tower"), "and a kromat again"),
        (("Die Über-", "größe von Köln"), "Die Übergröße von"),
        (("They measured bio-", "markers in the blood"), "measured bio\u00admarkers in"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_stays_where_it_belongs_to_the_word(
    cut: tuple[str, ...], whole: str, tmp_path: Path
) -> None:
    assert whole in text_of(tmp_path, lines(*cut))


def test_the_letters_of_an_arabic_ligature_are_in_their_order(tmp_path: Path) -> None:
    # As it is drawn, from left to right: lam, the ligature of lam and alef, kha.
    shown = "BT /F2 12 Tf 100 150 Td (CBA) Tj ET BT /F1 12 Tf 20 100 Td (lamp) Tj ET"
    assert "خلال" in text_of(tmp_path, shown)
