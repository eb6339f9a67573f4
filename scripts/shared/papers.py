"""PDF and DOCX files with a text, for mailboxes and folders that are made up."""

from __future__ import annotations

import html
import zipfile
from collections.abc import Iterable
from io import BytesIO


def pdf(lines: Iterable[str], title: str = "", day: str = "") -> bytes:
    """One page in Helvetica (ISO 32000-1, 7.5) with ``lines``; with ``day`` (ISO 8601) also its
    title and when it was made.
    """
    shown = " ".join(f"({_escaped(line)}) Tj T*" for line in lines)
    content = f"BT /F1 11 Tf 14 TL 60 780 Td {shown} ET".encode("cp1252", "replace")
    made = f"/Title({_escaped(title)})/CreationDate(D:{day.replace('-', '')}090000Z)" if day else ""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        f"<<{made}>>".encode(),
    ]
    data, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj%s endobj\n" % (number, each)
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 7\n0000000000 65535 f \n{table}trailer<</Size 7/Root 1 0 R/Info 6 0 R>>\n"
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def docx(paragraphs: Iterable[str]) -> bytes:
    """The least that a reader of DOCX takes for a document (ECMA-376)."""
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    body = "".join(f"<w:p><w:r><w:t>{html.escape(text)}</w:t></w:r></w:p>" for text in paragraphs)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
        'relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/'
        'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1"'
        f' Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{w}"><w:body>{body}</w:body></w:document>',
    }
    data = BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{part}')
    return data.getvalue()
