"""Office files made of their parts, for tests: as programs write them, as far as it matters."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

Parts = Mapping[str, str | bytes]
Relations = tuple[tuple[str, str, str], ...]
"""Id, the end of its type, target."""


def packed(parts: Parts) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return data.getvalue()


def relations(*of: tuple[str, str, str]) -> str:
    said = "".join(
        f"<Relationship Id='{name}' Type='{_OFFICE}/{kind}' Target='{target}'/>"
        for name, kind, target in of
    )
    return f"<Relationships xmlns='{_RELS}'>{said}</Relationships>"


def core(title: str = "", author: str = "") -> str:
    return f"<c xmlns:dc='dc'><dc:title>{title}</dc:title><dc:creator>{author}</dc:creator></c>"


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str = "", parts: Parts | None = None, of: Relations = ()) -> bytes:
    """A document of Word with a ``body``, and other ``parts`` that it refers to by ``of``."""
    document = (
        f"<w:document xmlns:w='w' xmlns:a='a' xmlns:mc='mc'><w:body>{body}</w:body></w:document>"
    )
    rels = {"word/_rels/document.xml.rels": relations(*of)}
    return packed({"word/document.xml": document, **rels, **(parts or {})})


def word_part(text: str) -> str:
    return f"<w:part xmlns:w='w'><w:x>{paragraph(text)}</w:x></w:part>"


def slide(text: str) -> str:
    return f"<p:sld xmlns:p='p' xmlns:a='a'><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"


def pptx(*slides: str, parts: Parts | None = None, of: Relations = ()) -> bytes:
    """A presentation; its first slide refers to other ``parts`` by ``of``."""
    slides = slides or (slide("Harbour"),)
    numbers = range(1, len(slides) + 1)
    ids = "".join(f"<p:sldId id='{255 + n}' r:id='r{n}'/>" for n in numbers)
    made = {
        "ppt/presentation.xml": f"<p:p xmlns:p='p' xmlns:r='{_OFFICE}'>{ids}</p:p>",
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"r{n}", "slide", f"slides/slide{n}.xml") for n in numbers)
        ),
        "ppt/slides/_rels/slide1.xml.rels": relations(*of),
    }
    made |= {f"ppt/slides/slide{n}.xml": each for n, each in zip(numbers, slides, strict=True)}
    return packed({**made, **(parts or {})})


def xlsx(
    rows: str, *, codes: tuple[str, ...] = (), texts: str = "", after: str = "",
    parts: Parts | None = None, of: Relations = (), is_1904: bool = False, state: str = "visible",
) -> bytes:  # fmt: skip
    """A workbook with one sheet. Style N has the N-th of ``codes`` as its number format."""
    formats = "".join(
        f'<numFmt numFmtId="{164 + n}" formatCode="{code}"/>' for n, code in enumerate(codes)
    )
    styles = "".join(f'<xf numFmtId="{164 + n}"/>' for n in range(len(codes)))
    return packed(
        {
            "xl/workbook.xml": f"<workbook xmlns='{_SHEET}' xmlns:r='{_OFFICE}'>"
            f"<workbookPr date1904='{int(is_1904)}'/><sheets><sheet name='Tides' sheetId='1'"
            f" state='{state}' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations(
                ("r1", "worksheet", "worksheets/sheet1.xml"),
                ("r2", "styles", "styles.xml"), ("r3", "sharedStrings", "sharedStrings.xml"),
            ),
            "xl/styles.xml": f"<styleSheet xmlns='{_SHEET}'><numFmts>{formats}</numFmts>"
            f"<cellXfs>{styles}</cellXfs></styleSheet>",
            "xl/sharedStrings.xml": f"<sst xmlns='{_SHEET}'>{texts}</sst>",
            "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{_SHEET}'><sheetData>{rows}"
            f"</sheetData>{after}</worksheet>",
            "xl/worksheets/_rels/sheet1.xml.rels": relations(*of),
            **(parts or {}),
        }
    )  # fmt: skip


def cells(*values: str, style: int | None = None) -> str:
    """A row of numbers."""
    named = "" if style is None else f" s='{style}'"
    each = "".join(
        f"<c r='{chr(65 + n)}1'{named}><v>{value}</v></c>" for n, value in enumerate(values)
    )
    return f"<row r='1'>{each}</row>"


def inline(text: str) -> str:
    return f"<row r='1'><c r='A1' t='inlineStr'><is><t>{text}</t></is></c></row>"


def chart(values: tuple[str, ...] = ("0.256", "0.744"), code: str = "0.0%") -> str:
    labels = "".join(f"<c:pt idx='{n}'><c:v>{name}</c:v></c:pt>" for n, name in enumerate("EW"))
    points = "".join(f"<c:pt idx='{n}'><c:v>{each}</c:v></c:pt>" for n, each in enumerate(values))
    return (
        "<c:chartSpace xmlns:c='c' xmlns:a='a'><c:title><c:rich><a:p><a:t>Catch of gulls</a:t>"
        "</a:p></c:rich></c:title><c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'>"
        f"<c:v>Share</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache>{labels}</c:strCache>"
        f"</c:strRef></c:cat><c:val><c:numRef><c:numCache><c:formatCode>{code}</c:formatCode>{points}"
        "</c:numCache></c:numRef></c:val></c:ser></c:chartSpace>"
    )


def diagram(text: str) -> str:
    return f"<d xmlns:a='a'><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d>"


ODF_NAMES = ("office", "text", "table", "draw", "dc", "presentation")


def opendocument(kind: str, body: str, parts: Parts | None = None) -> bytes:
    """``kind`` is ``text``, ``presentation`` or ``spreadsheet``."""
    names = " ".join(f"xmlns:{name}='{name}'" for name in ODF_NAMES)
    return packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:d {names}><office:body><office:{kind}>{body}"
            f"</office:{kind}></office:body></office:d>",
            **(parts or {}),
        }
    )


def pdf(*objects: str, page: str = "", catalog: str = "", text: str = "The lamp burns.") -> bytes:
    """A PDF of one page with a ``text``; ``objects`` are numbered from 6."""
    stream = f"BT /F1 12 Tf 20 120 Td ({text}) Tj ET" if text else ""
    made = [
        f"<</Type/Catalog/Pages 2 0 R{catalog}>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 150]/Contents 4 0 R{page}"
        "/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        *objects,
    ]
    body, places = "%PDF-1.7\n", []
    for number, item in enumerate(made, 1):
        places.append(f"{len(body):010} 00000 n \n")
        body += f"{number} 0 obj\n{item}\nendobj\n"
    table = f"xref\n0 {len(made) + 1}\n0000000000 65535 f \n" + "".join(places)
    end = f"trailer\n<</Root 1 0 R/Size {len(made) + 1}>>\nstartxref\n{len(body)}\n%%EOF"
    return f"{body}{table}{end}".encode("latin-1")


def stream(data: str, extra: str = "") -> str:
    return f"<</Length {len(data)}{extra}>>stream\n{data}\nendstream"


def form(*fields: str, text: str = "The lamp burns.") -> bytes:
    """A PDF with a form: each field is what its dictionary has, its label may be in ``text``."""
    numbers = range(6, 6 + len(fields))
    refs = " ".join(f"{number} 0 R" for number in numbers)
    objects = (
        f"<</Type/Annot/Subtype/Widget/Rect[150 115 170 135]/F 4{field}>>" for field in fields
    )
    return pdf(
        *objects, page=f"/Annots[{refs}]", catalog=f"/AcroForm<</Fields[{refs}]>>", text=text
    )
