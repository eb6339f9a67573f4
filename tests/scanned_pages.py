"""PDFs of scanned pages, for tests."""

from collections.abc import Mapping
from types import MappingProxyType


def scanned(
    pages: int, *, text: str = "", texts: Mapping[int, str] = MappingProxyType({})
) -> bytes:
    """A PDF whose pages show a picture of two pixels, and each the text, or that of its number."""
    kids = " ".join(f"{5 + 2 * n} 0 R" for n in range(pages))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {pages}>>",
        "<</Type/XObject/Subtype/Image/Width 2/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray"
        "/Length 2>>stream\n\x20\x7f\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number in range(pages):
        said = texts.get(number, text)
        drawing = f"q 100 0 0 50 0 0 cm /I Do Q BT /F 9 Tf 5 5 Td ({said}) Tj ET"
        objects += [
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 50]/Resources<</XObject<</I 3 0 R>>"
            f"/Font<</F 4 0 R>>>>/Contents {6 + 2 * number} 0 R>>",
            f"<</Length {len(drawing)}>>stream\n{drawing}\nendstream",
        ]
    body, places = "%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(f"{len(body):010} 00000 n \n")
        body += f"{number} 0 obj\n{item}\nendobj\n"
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(places)
    end = f"trailer\n<</Root 1 0 R/Size {len(objects) + 1}>>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}{table}{end}".encode("latin-1")
