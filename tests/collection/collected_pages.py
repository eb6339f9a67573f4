"""Web pages, books, plain texts, tables, notebooks and subtitles."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import json
import plistlib
from collections.abc import Mapping

from cases import Case, case, zipped

LONG = (
    "<p>" + "The ebb runs for six hours past the old pier and turns with the wind. " * 12 + "</p>"
)


def page(
    shape: str, body: str, *found: str, charset: str = "utf-8", head: str = "", **more: object
) -> Case:
    whole = f"<!doctype html><html><head><meta charset={charset}>{head}</head><body>{body}</body></html>"
    return case("a.html", shape, whole.encode(charset), *found, **more)  # type: ignore[arg-type]


def book(
    shape: str,
    members: Mapping[str, str],
    *found: str,
    spine: str = "",
    items: str = "",
    meta: str = "",
    **more: object,
) -> Case:
    named = items or "".join(
        f"<item id='{n}' href='{name}' media-type='application/xhtml+xml'/>"
        for n, name in enumerate(members)
    )
    order = spine or "".join(f"<itemref idref='{n}'/>" for n in range(len(members)))
    packed = zipped({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles><rootfile full-path='OPS/a.opf'/></rootfiles></container>",
        "OPS/a.opf": f"<package xmlns='http://www.idpf.org/2007/opf'><metadata xmlns:dc='http://purl.org/dc/elements/1.1/'>{meta}</metadata><manifest>{named}</manifest><spine>{order}</spine></package>",
        **{f"OPS/{name}": f"<html xmlns='http://www.w3.org/1999/xhtml'><body>{text}</body></html>" for name, text in members.items()},
    })  # fmt: skip
    return case("a.epub", shape, packed, *found, **more)  # type: ignore[arg-type]


def notebook(
    shape: str, cells: list[dict[str, object]], *found: str, v3: bool = False, **more: object
) -> Case:
    whole: dict[str, object] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    if v3:
        whole = {
            "nbformat": 3,
            "nbformat_minor": 0,
            "metadata": {"name": ""},
            "worksheets": [{"cells": cells}],
        }
    return case("a.ipynb", shape, json.dumps(whole), *found, **more)  # type: ignore[arg-type]


OUTPUT = {
    "output_type": "execute_result",
    "data": {"text/plain": ["Result ", "Bittern"], "image/png": "iVBORw0KGgo="},
    "metadata": {},
    "execution_count": 1,
}
FAULT = {
    "output_type": "error",
    "ename": "ValueError",
    "evalue": "no Crake here",
    "traceback": ["\x1b[31mline 3\x1b[0m"],
}
MHTML = (
    'MIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n--b\nContent-Type: text/html; charset=windows-1252\n'
    "Content-Transfer-Encoding: quoted-printable\nContent-Location: https://pier.example/\n\n<html><body><p>Hafengeb=FChr Dunlin, a long line=\n that goes on</p></body></html>\n--b--\n"
)

PAGES: tuple[Case, ...] = (
    page("without a main part", "<p>Bare Avocet</p>", "Bare Avocet"),
    page("details that are closed", f"<main><h1>Tides</h1>{LONG}<details><summary>More</summary><p>Folded Bittern</p></details></main>", "Folded Bittern"),
    page("entities without a semicolon", "<p>Caf&eacute, 5 &euro; &#8364 &#x20AC; &notanentity; Crake</p>", "Café", "5 €", "Crake"),
    page("nothing without scripts", "<noscript><p>Plain Dunlin for readers without scripts</p></noscript>", "Plain Dunlin"),
    page("frames", "<iframe srcdoc='&lt;p&gt;Framed Eider&lt;/p&gt;'></iframe><p>Outer Fulmar</p>", "Outer Fulmar", "Framed Eider"),
    case("b.html", "frameset", "<html><head><title>Old site</title></head><frameset cols='*,*'><frame src='a.html'><noframes><body>Without frames: Gadwall</body></noframes></frameset></html>", "Gadwall"),
    page("template that is not shown", "<p>Shown Hobby</p><template><p>Hidden pattern</p></template>", "Shown Hobby", absent=("Hidden pattern",)),
    page("base of its links", "<a href='b.html'>Linked Jackdaw</a>", "Linked Jackdaw", head="<base href='https://pier.example/x/'>"),
    page("tables in tables", "<table><tr><td>Outer Kestrel<table><tr><td>Inner Linnet</td></tr></table></td></tr></table>", "Outer Kestrel", "Inner Linnet"),
    page("ruby", "<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>の灯台</p>", "東京"),
    page("right to left", "<p dir=rtl>ميناء قديم <bdo dir=ltr>12</bdo></p>", "ميناء قديم"),
    page("words cut by tags", "<p>Hafen<wbr>geb<b>ühr</b> Merlin</p>", "Hafengebühr Merlin"),
    page("preformatted code", f"<article><h1>Code</h1>{LONG}<pre>def nuthatch():\n    return 1</pre></article>", "def nuthatch():\n    return 1"),
    page("values of a form", "<form><label>Boat <input value='Typed Osprey'></label><textarea>Area Plover</textarea><select><option selected>Chosen Quail</select></form>", "Area Plover", "Chosen Quail", "Typed Osprey"),
    page("picture with a text", "<p>See <img src=a.png alt='Chart of Redshank'></p>", "See", said=("chart of redshank",)),
    page("Japanese in Shift_JIS", "<p>港の使用料 サギ</p>", "港の使用料", charset="shift_jis"),
    page("Cyrillic in KOI8-R", "<p>Портовый сбор Цапля</p>", "Портовый сбор", charset="koi8-r"),
    case("c.xhtml", "strict with CDATA", '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>Strict Sanderling &amp; co</p></body></html>', "Strict Sanderling & co"),
    case("d.html", "UTF-16 with a mark", "\ufeff<html><body><p>Wide Turnstone</p></body></html>".encode("utf-16-le"), "Wide Turnstone"),
    case("e.mhtml", "quoted-printable", MHTML, "Hafengebühr Dunlin, a long line that goes on"),
    case("f.webarchive", "of Safari", plistlib.dumps({"WebMainResource": {"WebResourceData": b"<html><body><p>Saved Urial</p></body></html>", "WebResourceMIMEType": "text/html", "WebResourceTextEncodingName": "UTF-8", "WebResourceURL": "https://x.example/"}}, fmt=plistlib.FMT_BINARY), "Saved Urial"),
    book("footnote", {"1.xhtml": "<p>Tide<a href='#n'>1</a></p><aside xmlns:epub='http://www.idpf.org/2007/ops' epub:type='footnote' id='n'><p>Foot Veery</p></aside>"}, "Tide", "Foot Veery"),
    book("item that its spine has not", {"1.xhtml": "<p>First Wren</p>", "2.xhtml": "<p>Second Yellowhammer</p>"}, "First Wren", spine="<itemref idref='0'/><itemref idref='nine'/>", said=("second yellowhammer",)),
    book("chapter that is missing", {"1.xhtml": "<p>First Avocet</p>"}, "First Avocet", items="<item id='0' href='1.xhtml' media-type='application/xhtml+xml'/><item id='1' href='gone.xhtml' media-type='application/xhtml+xml'/>", spine="<itemref idref='0'/><itemref idref='1'/>", said=("gone.xhtml",)),
    book("names with escapes", {"ein kapitel.xhtml": "<p>Spaced Bittern</p>"}, "Spaced Bittern", items="<item id='0' href='ein%20kapitel.xhtml' media-type='application/xhtml+xml'/>"),
    book("title and writers", {"1.xhtml": "<p>Text</p>"}, "Tides of Crake", "Ada Quay", meta="<dc:title>Tides of Crake</dc:title><dc:creator>Ada Quay</dc:creator><dc:creator>Bob Pier</dc:creator>"),
    case("g.epub", "locked by DRM", zipped({"mimetype": "application/epub+zip", "META-INF/container.xml": "<c><rootfile full-path='a.opf'/></c>", "META-INF/encryption.xml": "<encryption xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><EncryptedData xmlns='http://www.w3.org/2001/04/xmlenc#'><EncryptionMethod Algorithm='http://www.w3.org/2001/04/xmlenc#aes128-cbc'/><CipherData><CipherReference URI='1.xhtml'/></CipherData></EncryptedData></encryption>", "a.opf": "<p><item id='a' href='1.xhtml' media-type='application/xhtml+xml'/><itemref idref='a'/></p>", "1.xhtml": bytes(range(256)) * 4}), said=("DRM",)),
    case("a.csv", "semicolons, quotes, line breaks in a cell", 'Date;Text\n2023-01-02;"Pier fee; ""Dunlin""\nsecond line"\n', 'Pier fee; ""Dunlin""', "second line"),
    case("b.csv", "bars and a comment", "# made by bank\nDate|Text\n2023|Fee Eider\n", "Fee Eider"),
    case("c.csv", "said separator", "sep=;\nDate;Text\n2023;Fee Fulmar\n", "Fee Fulmar"),
    case("d.csv", "huge cell", f"a,b\n1,{'word ' * 40_000}Gadwall\n", "Gadwall"),
    case("e.csv", "one column", "Hobby\nJackdaw\n", "Hobby", "Jackdaw"),
    case("f.csv", "rows of different lengths", "a,b\n1\n1,2,3,Kestrel\n", "Kestrel"),
    case("g.csv", "zeros in it", b"a,b\n" + b"1,whole rows beside it\n" * 20 + b"1,Lin\0net\n", "Linnet"),
    case("h.csv", "quote that never ends", 'a,b\n1,"Open Merlin\n2,Nuthatch\n', "Open Merlin", "Nuthatch"),
    case("i.csv", "UTF-16 of a spreadsheet", "\ufeffName\tBoot\nJörg\tOsprey\n".encode("utf-16-le"), "Jörg", "Osprey"),
    case("a.tsv", "tabs", "Name\tBoat\nAda\tTabbed Plover\n", "Tabbed Plover"),
    case("a.json", "escapes of letters", json.dumps({"a": [{"b": "Пирс Quail"}]}), "Пирс Quail"),
    case("b.json", "list of texts", '["First Redshank", "Second Ruff"]', "First Redshank", "Second Ruff"),
    case("c.json", "half a surrogate pair", '{"a": "half \\ud800 Sanderling"}', "Sanderling"),
    case("d.json", "with comments", '{"a": 1, // a note\n "b": "Commented Tern",}', "Commented Tern"),
    case("e.ndjson", "objects in lines", '{"msg": "First \\u0422"}\n{"msg": "Second Veery"}\n', "First Т", "Second Veery"),
    case("f.geojson", "places", '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "Pier of Wren"}, "geometry": null}]}', "Pier of Wren"),
    notebook("cells and what they printed", [{"cell_type": "markdown", "source": ["# Tides\n", "of Avocet"]}, {"cell_type": "code", "source": "print('Crane')", "outputs": [OUTPUT, FAULT, {"output_type": "stream", "name": "stdout", "text": "Out Dunlin"}]}, {"cell_type": "raw", "source": "Raw Eider"}], "# Tides", "of Avocet", "print('Crane')", "Result Bittern", "no Crake here", "Out Dunlin", "Raw Eider", absent=("iVBOR",), said=("1 picture among the outputs",)),
    notebook("third version", [{"cell_type": "heading", "level": 2, "source": ["Old Fulmar"]}, {"cell_type": "code", "input": ["gadwall = 1"], "outputs": [{"output_type": "pyout", "text": ["Old result Hobby"]}]}], "Old Fulmar", "gadwall = 1", "Old result Hobby", v3=True),
    notebook("attachment and table", [{"cell_type": "code", "source": "df", "outputs": [{"output_type": "display_data", "data": {"text/html": "<table><tr><td>Only Jackdaw</td></tr></table>"}, "metadata": {}}]}], "Only Jackdaw"),
    case("b.ipynb", "cut off", '{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": "Cut Kestrel', said=("cut off",)),
    case("a.srt", "tags and two lines", "1\n00:00:01,000 --> 00:00:03,000\n<i>The lamp</i>\nof Linnet\n\n2\n00:00:04,000 --> 00:00:06,000\n{\\an8}burns\n", "The lamp", "of Linnet", "burns", absent=("-->", "<i>")),
    case("b.srt", "Windows-1252 and CRLF", "1\r\n00:00:01,000 --> 00:00:03,000\r\nHafengebühr für Merlin\r\n".encode("cp1252"), "Hafengebühr für Merlin"),
    case("a.vtt", "voices, notes and settings", "WEBVTT - tides\n\nNOTE made by hand\n\nSTYLE\n::cue {}\n\nid-1\n00:01.000 --> 00:03.000 align:start\n<v Ada>Spoken Nuthatch</v>\n", "Spoken Nuthatch", absent=("align:start", "::cue")),
    case("a.ass", "Advanced SubStation", "[Script Info]\nTitle: Tides\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\nDialogue: 0,0:00:01.00,0:00:03.00,Default,,0,0,0,,{\\i1}Sung Osprey{\\i0}\\Nand more\n", "Sung Osprey"),
    case("a.txt", "one bad byte", "Hafengebühr für die Möwe ".encode() * 3 + b"\xff Plover", "Hafengebühr für die Möwe", "Plover"),
    case("b.txt", "UTF-16 without a mark", "The lamp of Quail burns again\n".encode("utf-16-le"), "The lamp of Quail"),
    case("c.txt", "old Mac line ends", b"First line\rSecond Redshank\r", "Second Redshank"),
    case("d.log", "colours of a terminal", "\x1b[31mERROR\x1b[0m harbour Sanderling\n", "harbour Sanderling"),
    case("e.md", "front matter, comments and HTML", "---\ntitle: Tide notes\ntags: [sea, lamp]\n---\n# Tides\n\n<!-- hidden -->\n<details><summary>More</summary>\nFolded Tern\n</details>\n\n| a | b |\n|---|---|\n| 1 | Cell Urial |\n", "Tide notes", "sea", "Folded Tern", "Cell Urial"),
    case("f.rst", "directives", "Tides\n=====\n\n.. note::\n   Noted Veery\n\n.. [1] Foot Wren\n", "Noted Veery", "Foot Wren"),
    case("g.org", "Org", "* Tides\n** TODO Call Yellowhammer\n   SCHEDULED: <2024-05-01>\n", "Call Yellowhammer"),
    case("h.tex", "LaTeX", "\\section{Tides}\nThe lamp of Avocet \\emph{burns}.\n", "The lamp of Avocet"),
    case("i.py", "source code", "def mooring():\n    '''Tie up at Bittern.'''\n", "Tie up at Bittern"),
    case("j.opml", "outline", "<?xml version='1.0'?><opml version='2.0'><body><outline text='Lamp' _note='Note Crake'><outline text='Wick Dunlin'/></outline></body></opml>", "Note Crake", "Wick Dunlin"),
    case("k.svg", "drawing with words", "<svg xmlns='http://www.w3.org/2000/svg'><title>Map</title><text x='1'>Pier Eider</text></svg>", "Pier Eider"),
    case("l.fb2", "FictionBook", "<?xml version='1.0' encoding='windows-1251'?><FictionBook xmlns='http://www.gribuser.ru/xml/fictionbook/2.0'><body><section><p>Портовый Фонарь</p></section></body></FictionBook>".encode("cp1251"), "Портовый Фонарь"),
    case("m.bin", "binary of nobody", bytes(range(256)) * 8, said=("binary",)),
    case("n.txt", "empty", b"", said=("empty",)),
    case("o.html", "charset said after long styles", b"<html><head><style>" + b"p {}\n" * 2000 + b'</style><meta charset="windows-1251"></head><body><p>' + "Поздний Фонарь".encode("cp1251"), "Поздний Фонарь"),
)  # fmt: skip
