"""PDFs as programs write them: fonts, turned pages, forms, files inside, passwords."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import hashlib
import struct
from itertools import count

from cases import Case, case

from office_files import docx, form, paragraph, pdf, stream

_PAD = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")


def made(shape: str, data: bytes, *found: str, **more: object) -> Case:
    return case("a.pdf", shape, data, *found, **more)  # type: ignore[arg-type]


def shown(
    content: str,
    *,
    fonts: str = "/F1 5 0 R",
    page: str = "",
    others: str = "",
    objects: tuple[str, ...] = (),
    catalog: str = "",
) -> bytes:
    """A PDF whose one page runs ``content``; further fonts are ``objects`` from number 7 on."""
    data = pdf(stream(content), *objects, page=page, text="", catalog=catalog)
    data = data.replace(b"/Contents 4 0 R", b"/Contents 6 0 R", 1)
    return data.replace(b"/Font<</F1 5 0 R>>", f"/Font<<{fonts}>>{others}".encode(), 1)


def rc4(key: bytes, data: bytes) -> bytes:
    box, at = list(range(256)), 0
    for i in range(256):
        at = (at + box[i] + key[i % len(key)]) % 256
        box[i], box[at] = box[at], box[i]
    i = at = 0
    out = bytearray()
    for byte in data:
        i = (i + 1) % 256
        at = (at + box[i]) % 256
        box[i], box[at] = box[at], box[i]
        out.append(byte ^ box[(box[i] + box[at]) % 256])
    return bytes(out)


def locked(owner: bytes, user: bytes) -> bytes:
    """A PDF of 40-bit RC4 (ISO 32000-1, 7.6.3), which opens with the password of the ``user``."""
    padded = lambda word: (word + _PAD)[:32]  # noqa: E731
    o = rc4(hashlib.md5(padded(owner)).digest()[:5], padded(user))
    rights = struct.pack("<i", -64)
    key = hashlib.md5(padded(user) + o + rights + b"0123456789abcdef").digest()[:5]
    u = rc4(key, _PAD)
    content = b"BT /F1 12 Tf 20 120 Td (Sealed Whimbrel) Tj ET"
    own = hashlib.md5(key + (4).to_bytes(3, "little") + b"\0\0").digest()[:10]
    said = rc4(own, content)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 150]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(said), said),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Filter/Standard/V 1/R 2/P -64/O<%s>/U<%s>>>" % (o.hex().encode(), u.hex().encode()),
    ]  # fmt: skip
    body, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, item)
    table = b"xref\n0 7\n0000000000 65535 f \n" + b"".join(places)
    mark = b"<%s>" % b"0123456789abcdef".hex().encode()
    return (
        body
        + table
        + b"trailer\n<</Root 1 0 R/Size 7/Encrypt 6 0 R/ID[%s %s]>>\nstartxref\n%d\n%%%%EOF"
        % (mark, mark, len(body))
    )


def pages(*contents: str) -> bytes:
    """A PDF of several pages; one without content is empty."""
    numbers, objects = count(6), []
    kids = []
    for content in contents:
        at, inside = next(numbers), next(numbers)
        kids.append(f"{at} 0 R")
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 150]/Contents {inside} 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
            stream(content),
        ]
    data = pdf(*objects, text="")
    return data.replace(
        b"/Kids[3 0 R]/Count 1", f"/Kids[{' '.join(kids)}]/Count {len(kids)}".encode()
    )


def said(words: str, x: int = 20, y: int = 120) -> str:
    return f"BT /F1 12 Tf {x} {y} Td ({words}) Tj ET "


UNICODE = stream(
    "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange 2 beginbfchar <01> <FB03> <02> <006F> endbfchar endcmap"
)
LIGATURES = "<</Type/Font/Subtype/Type1/BaseFont/Times-Roman/FirstChar 1/LastChar 2/Widths[600 500]/Encoding<</Differences[1/ffi/o]>>/ToUnicode 8 0 R>>"
TYPE3 = (
    "<</Type/Font/Subtype/Type3/FontBBox[0 0 750 750]/FontMatrix[0.001 0 0 0.001 0 0]/CharProcs<</a 8 0 R>>/Encoding<</Type/Encoding/Differences[97/a]>>"
    "/FirstChar 97/LastChar 97/Widths[1000]/Resources<<>>{}>>"
)
SQUARE = stream("1000 0 0 0 750 750 d1 0 0 750 750 re f")
CODES = stream(
    "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <61> <0041> endbfchar endcmap"
)
FILE = "<</Type/Filespec/F({0})/UF({0})/EF<</F {1} 0 R>>>>"

PDFS: tuple[Case, ...] = (
    made("turned by 90 degrees", shown(said("Turned Avocet"), page="/Rotate 90"), "Turned Avocet"),
    made("turned by its matrix", shown("BT /F1 12 Tf 0 1 -1 0 150 20 Tm (Upright Bittern) Tj ET"), "Upright Bittern"),
    made("two columns", shown(said("Left Crake", 20) + said("Right Dunlin", 180)), "Left Crake", "Right Dunlin"),
    made("letters moved one by one", shown("BT /F1 12 Tf 20 120 Td [(S)-10(p)20(a)-15(ced)-300(Eider)] TJ ET"), "Spaced Eider"),
    made("invisible text over a scan", shown("BT 3 Tr /F1 12 Tf 20 120 Td (Recognised Fulmar) Tj ET"), "Recognised Fulmar"),
    made("ligature of its own", shown("BT /F2 12 Tf 20 120 Td <0201> Tj ET", fonts="/F2 7 0 R", objects=(LIGATURES, UNICODE)), "offi"),
    made("Type 3 font with its letters", shown("BT /F2 12 Tf 20 120 Td (aaa) Tj ET " + said("Plain Gadwall", y=60), fonts="/F1 5 0 R/F2 7 0 R", objects=(TYPE3.format("/ToUnicode 9 0 R"), SQUARE, CODES)), "AAA", "Plain Gadwall"),
    made("words in a form that is drawn", shown("/X Do", others="/XObject<</X 7 0 R>>", objects=(stream(said("Drawn Hoopoe"), "/Type/XObject/Subtype/Form/BBox[0 0 300 150]/Resources<</Font<</F1 5 0 R>>>>"),)), "Drawn Hoopoe"),
    made("comment in a bubble", pdf("<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents(Bubble Jackdaw)>>", page="/Annots[6 0 R]"), "Bubble Jackdaw"),
    made("text typed on the page", pdf("<</Type/Annot/Subtype/FreeText/Rect[0 0 99 19]/Contents(Typed Kestrel)/DA(/F1 9 Tf)>>", page="/Annots[6 0 R]"), "Typed Kestrel"),
    made("marked text with a remark", pdf("<</Type/Annot/Subtype/Highlight/Rect[0 0 99 19]/QuadPoints[0 0 1 0 0 1 1 1]/Contents(Marked Linnet)>>", page="/Annots[6 0 R]"), "Marked Linnet"),
    made("remark in UTF-16", pdf("<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents<FEFF041F043804400441>>>", page="/Annots[6 0 R]"), "Пирс"),
    made("list of a form", form("/FT/Ch/T(c)/V[(Teal)(Ochre)]/Opt[(Teal)(Ochre)(Rust)]", text="Colours"), "Teal", "Ochre"),
    made("several fields of a form", form("/FT/Tx/T(a)/TU(Boat)/V(Merlin)", "/FT/Tx/T(b)/TU(Owner)/V(<FEFF00D6>)", "/FT/Tx/T(c)/TU(Length)/V(12 m)"), "Boat: Merlin", "Length: 12 m"),
    made("file inside", pdf(FILE.format("terms.docx", 7), stream(docx(paragraph("Nested Osprey")).decode("latin-1")), catalog="/Names<</EmbeddedFiles<</Names[(a) 6 0 R]>>>>"), "Nested Osprey", "terms.docx"),
    made("two files inside, one a picture", pdf(FILE.format("a.txt", 7), stream("Plover within"), FILE.format("b.png", 9), stream("\x89PNG\r\n\x1a\n"), catalog="/Names<</EmbeddedFiles<</Names[(a) 6 0 R(b) 8 0 R]>>>>"), "Plover within", said=("b.png inside it was not read",)),
    made("PDF in a PDF", pdf(FILE.format("in.pdf", 7), stream(pdf(text="Inner Quail").decode("latin-1")), catalog="/Names<</EmbeddedFiles<</Names[(a) 6 0 R]>>>>"), "Inner Quail"),
    made("only the owner has a password", locked(b"owner", b""), "Sealed Whimbrel"),
    made("the reader needs a password", locked(b"owner", b"user"), said=("password",)),
    made("page without text between two", pages(said("First Redshank"), "", said("Third Sanderling")), "First Redshank", "Third Sanderling"),
    made("scan between two pages", pages(said("First Tern"), "q 300 0 0 150 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID \x80 EI Q", said("Third Urial")), "First Tern", "Third Urial", said=("2",)),
    made("words of its information", pdf("<</Title(Tide table of Wren)/Author(Ada Quay)>>", text="Body Veery").replace(b"<</Root 1 0 R", b"<</Info 6 0 R/Root 1 0 R"), "Body Veery", "Tide table of Wren", "Ada Quay"),
    made("bad table of its objects", pdf(text="Found Yellowhammer").replace(b"xref\n0", b"xrfe\n0"), "Found Yellowhammer"),
    made("text before it", b"Content-type: application/pdf\r\n\r\n" + pdf(text="Late Zebra"), "Late Zebra"),
    made("cut off", pdf(text="Lost")[:90], said=("damaged",)),
)  # fmt: skip
