"""Notes, contacts, calendars, libraries and lists of other programs."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import json
import plistlib
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from cases import Case, case, zipped

A, B = "a" * 32, "b" * 32


def card(shape: str, lines: str, *found: str, **more: object) -> Case:
    whole = f"BEGIN:VCARD\n{lines}\nEND:VCARD\n".replace("\n", "\r\n")
    return case("a.vcf", shape, whole, *found, **more)  # type: ignore[arg-type]


def calendar(shape: str, lines: str, *found: str, **more: object) -> Case:
    whole = f"BEGIN:VCALENDAR\nVERSION:2.0\n{lines}\nEND:VCALENDAR\n".replace("\n", "\r\n")
    return case("a.ics", shape, whole, *found, **more)  # type: ignore[arg-type]


def event(lines: str) -> str:
    return f"BEGIN:VEVENT\nUID:{abs(hash(lines))}@x\n{lines}\nEND:VEVENT"


def database(script: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made")
        with closing(sqlite3.connect(path)) as store, store:
            store.executescript(script)
        return path.read_bytes()


def clippings(shape: str, body: str, *found: str, **more: object) -> Case:
    return case(
        "My Clippings.txt",
        shape,
        "\ufeff" + body.replace("\n", "\r\n"),
        *found,
        kind="clippings",
        **more,
    )  # type: ignore[arg-type]


KEEP = {
    "isTrashed": False,
    "isPinned": False,
    "isArchived": True,
    "color": "DEFAULT",
    "textContent": "Kept Avocet",
    "title": "",
    "userEditedTimestampUsec": 1700000000000000,
    "attachments": [{"filePath": "a.png", "mimetype": "image/png"}],
    "sharees": [{"email": "bob@x"}],
}
ENEX = '<?xml version="1.0" encoding="UTF-8"?>\n<en-export><note><title>{}</title><content><![CDATA[<en-note>{}</en-note>]]></content><created>20240501T101500Z</created></note></en-export>'
PLACES = """
create table moz_places(id integer primary key, url text, title text, last_visit_date integer, visit_count integer, hidden integer default 0, description text);
create table moz_historyvisits(id integer primary key, place_id integer, visit_date integer);
create table moz_bookmarks(id integer primary key, type integer, fk integer, parent integer, title text, dateAdded integer, lastModified integer, guid text);
insert into moz_places values (1, 'https://x.example/bittern', 'Visited Bittern', 1700000000000000, 2, 0, '');
insert into moz_historyvisits values (1, 1, 1700000000000000);
"""
SAFARI = """
create table history_items(id integer primary key, url text, domain_expansion text, visit_count integer);
create table history_visits(id integer primary key, history_item integer, visit_time real, title text);
insert into history_items values (1, 'https://x.example/crake', 'x', 1);
insert into history_visits values (1, 1, 700000000.0, 'Visited Crake');
"""
NETSCAPE = '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n<DT><H3>Harbour</H3>\n<DL><p>\n<DT><A HREF="https://x.example/d" ADD_DATE="1700000000" TAGS="sea,lamp">Marked Dunlin</A>\n<DD>Described Eider\n</DL><p>\n</DL><p>\n'
CHROME = {
    "checksum": "x",
    "version": 1,
    "roots": {
        "bookmark_bar": {
            "type": "folder",
            "name": "Bar",
            "children": [
                {
                    "type": "url",
                    "name": "Marked Fulmar",
                    "url": "https://x.example/f",
                    "date_added": "13344473600000000",
                    "guid": "g",
                }
            ],
        }
    },
}
CSL = [
    {
        "id": "g1",
        "type": "article-journal",
        "title": "Cited Gadwall",
        "author": [{"family": "Quay", "given": "Ada"}, {"literal": "Hobby Institute"}],
        "issued": {"date-parts": [["2019", 5]]},
        "note": "Noted Jackdaw",
    }
]
NOTION = {
    f"Home {A}.md": f"# Home\n\nTags: sea, lamp\n\nText Kestrel\n\n[Table](Table%20{B}.csv)\n",
    f"Table {B}.csv": "Name,Note\nLinnet,Row Merlin\n",
}

NOTES: tuple[Case, ...] = (
    card("version 2.1 in quoted-printable", "VERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=B6we;J=C3=B6rg=\n=20Peer;;;\nTEL;CELL:+49 171 1\nNOTE;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:first=0D=0Asecond Nuthatch", "Möwe", "Jörg Peer", "+49 171 1", "second Nuthatch"),
    card("version 4 with groups and lists", "VERSION:4.0\nFN:Ada Quay\nitem1.TEL;VALUE=uri;TYPE=\"voice,home\":tel:+49-30-1\nitem1.X-ABLabel:_$!<Mobile>!$_\nORG:Harbour;Lamps\nTITLE:Keeper of Osprey\nRELATED;VALUE=text:Plover\nGEO:geo:54.3,10.1\nIMPP:xmpp:ada@x", "Ada Quay", "30-1", "Harbour", "Keeper of Osprey", "Plover", "ada@x"),
    card("folded in the middle of a character", "VERSION:3.0\nFN:Quail\nNOTE:Keeps the Gro\n \u00dfe K\u00fcche", "Große Küche"),
    card("company without a name", "VERSION:3.0\nFN:\nORG:Redshank Ltd\nEMAIL:r@x\nADR:;;Pier 5\\, left;Kiel;;24103;DE\nX-SOCIALPROFILE;TYPE=mastodon:https://x.example/@r", "Redshank Ltd", "Pier 5, left", "https://x.example/@r"),
    card("address on several lines", "VERSION:3.0\nFN:S\nADR;TYPE=HOME:;;12\\nSanderling Street;Kiel;;1;DE\nLABEL:Tern House", "Sanderling Street"),
    case("b.vcf", "many cards, one damaged", "BEGIN:VCARD\nVERSION:3.0\nFN:First Urial\nEND:VCARD\nBEGIN:VCARD\nFN:Second Veery\nBEGIN:VCARD\nFN:Third Wren\nEND:VCARD\n", "First Urial", "Second Veery", "Third Wren", said=("contact 2",)),
    calendar("each week in a zone of its own", "BEGIN:VTIMEZONE\nTZID:Pier\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0300\nTZOFFSETTO:+0300\nEND:STANDARD\nEND:VTIMEZONE\n" + event("SUMMARY:Choir Avocet\nDTSTART;TZID=Pier:20230412T190000\nRRULE:FREQ=WEEKLY;BYDAY=WE;UNTIL=20231231T000000Z\nEXDATE;TZID=Pier:20230419T190000"), "Choir Avocet"),
    calendar("exception of a series", "BEGIN:VEVENT\nUID:s@x\nSUMMARY:Series Bittern\nDTSTART:20230412T190000Z\nRRULE:FREQ=WEEKLY\nEND:VEVENT\nBEGIN:VEVENT\nUID:s@x\nRECURRENCE-ID:20230419T190000Z\nSUMMARY:Moved Crake\nDTSTART:20230420T190000Z\nEND:VEVENT", "Series Bittern", "Moved Crake", records=2),
    calendar("whole day, without an end", event("SUMMARY;LANGUAGE=de:Fest Dunlin\nDTSTART;VALUE=DATE:20230412\nDESCRIPTION:First\\nsecond Eider\\, third\\; fourth\nURL:https://x.example/e\nATTACH;FMTTYPE=application/pdf:https://x.example/fulmar.pdf\nCATEGORIES:Sea,Lamp\nCOMMENT:Remark Gadwall"), "Fest Dunlin", "second Eider, third; fourth", "fulmar.pdf", "Remark Gadwall", "2023-04-12"),
    calendar("journal, free time and tasks", "BEGIN:VJOURNAL\nUID:j@x\nDTSTART:20230412T190000Z\nSUMMARY:Log\nDESCRIPTION:Seen Hobby\nEND:VJOURNAL\nBEGIN:VTODO\nUID:t@x\nSUMMARY:Task Jackdaw\nSTATUS:COMPLETED\nCOMPLETED:20230413T100000Z\nEND:VTODO", "Seen Hobby", "Task Jackdaw"),
    case("b.ics", "version 1.0 in quoted-printable", "BEGIN:VCALENDAR\r\nVERSION:1.0\r\nBEGIN:VEVENT\r\nSUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Treffen M=C3=B6=\r\nwe\r\nDTSTART:20030412T083000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", "Treffen Möwe"),
    case("a.enex", "table, code and lists", ENEX.format("Lamp &amp; Pier", "<table><tr><td>Cell Kestrel</td></tr></table><div>-en-codeblock: x = 1 Linnet</div><ul><li>Item Merlin</li></ul><en-crypt hint='pet'>AAAA</en-crypt>"), "Lamp & Pier", "Cell Kestrel", "Linnet", "Item Merlin", said=("encrypted",)),
    case("b.enex", "cut off", ENEX.format("Whole", "Whole Nuthatch").replace("</en-export>", "<note><title>Cut"), "Whole Nuthatch", said=("damaged after note 1",)),
    case("Takeout/Keep/a.json", "archived, shared, with a picture", json.dumps(KEEP), "Kept Avocet", kind="keep"),
    case("Takeout/Keep/b.json", "trash", json.dumps({**KEEP, "isTrashed": True}), kind="keep", said=("trash",)),
    Case("joplin", "notebook and to-do", {f"j/{A}.md": f"Buy oil\n\nBody Osprey\n\nid: {A}\nparent_id: {B}\ncreated_time: 2024-05-01T10:15:00.000Z\nis_todo: 1\ntodo_completed: 0\ntype_: 1".encode(), f"j/{B}.md": f"Harbour Plover\n\nid: {B}\nparent_id: \ntype_: 2".encode()}, ("Buy oil", "Body Osprey", "Harbour Plover"), said=("a notebook of Joplin",)),
    Case("notion", "pages and a table", {name: text.encode() for name, text in NOTION.items()}, ("Text Kestrel", "Row Merlin")),
    case("notion.zip", "archive in an archive", zipped({"Export-Part-1.zip": zipped(NOTION)}), "Text Kestrel", "Row Merlin", kind="notion"),
    Case("logseq", "journal with blocks", {"journals/2024_05_01.md": b"- First Quail\n\t- Second Redshank\n\t  id:: 64\n- TODO Call Sanderling #lamp\n", "pages/Pier.md": b"alias:: Mole\ntags:: sea\n\n- About Tern\n"}, ("First Quail", "Second Redshank", "Call Sanderling", "About Tern")),
    Case("obsidian", "links, callouts, block ids", {"vault/Lamp.md": b"---\naliases: [Lantern]\ntags:\n  - sea\n---\n> [!note] Urial\n> Said Veery\n\n![[Pier#Wick|Shown Wren]] ^id1\n%% hidden %%\n", "vault/.obsidian/app.json": b"{}"}, ("Urial", "Said Veery", "Shown Wren", "Lantern"), said=(".obsidian",)),
    case("bear.md", "tags in the text", "# Lamp\n#sea/harbour\n\nBear Yellowhammer ==marked==\n", "Bear Yellowhammer", kind="bear"),
    case("Notes.html", "of Apple Notes", "<html><body><div><b>Lamp</b></div><div>Noted Avocet<br></div><ul class='Apple-dash-list'><li>Item Bittern</li></ul></body></html>", "Noted Avocet", "Item Bittern", kind="apple-notes"),
    case("places.sqlite", "of Firefox", database(PLACES), "Visited Bittern", kind="history", said=("places.sqlite: there is nothing",)),
    case("History.db", "of Safari", database(SAFARI), "Visited Crake", kind="history"),
    case("bookmarks.html", "of every browser", NETSCAPE, "Marked Dunlin", "Described Eider", "sea", kind="bookmarks"),
    case("Bookmarks", "of Chrome", json.dumps(CHROME), "Marked Fulmar", kind="bookmarks"),
    clippings("Spanish", "La lámpara (Quay, Ada)\n- Tu subrayado en la página 12 | Posición 170-172 | Añadido el jueves, 29 de mayo de 2014 10:00:33\n\nArde Gadwall.\n==========\n", "Arde Gadwall", "La lámpara"),
    clippings("French", "La lampe (Quay, Ada)\n- Votre surlignement à l’emplacement 170-172 | Ajouté le jeudi 29 mai 2014 10:00:33\n\nBrûle Hobby.\n==========\n", "Brûle Hobby"),
    clippings("German note beside a highlight", "Die Lampe (Quay, Ada)\n- Ihre Notiz auf Seite 12 | bei Position 170 | Hinzugefügt am Donnerstag, 29. Mai 2014 10:00:33\n\nNotiert Jackdaw\n==========\nDie Lampe (Quay, Ada)\n- Ihre Markierung auf Seite 12 | bei Position 170-172 | Hinzugefügt am Donnerstag, 29. Mai 2014 10:01:33\n\nBrennt Kestrel.\n==========\n", "Notiert Jackdaw", "Brennt Kestrel"),
    clippings("Japanese", "灯台 (Quay)\n- 12ページ|位置No. 170-172のハイライト |作成日: 2014年5月29日木曜日 10:00:33\n\n燃える Linnet\n==========\n", "燃える Linnet"),
    case("a.bib", "strings, crossref, accents, a comment", '@comment{none}\n@string{hj = "Harbour " # "Journal"}\n@article{a, title = {The {Lamp} of K{\\"u}ste}, author = {M{\\"o}we, J{\\o}rg and others}, journal = hj, year = 2019, note = {Noted Merlin}, file = {:a.pdf:PDF}}\n@inproceedings{b, title = "Broken" , author = {Nuthatch, A.}, year = 2020}\n', "Lamp of Küste", "Möwe", "Harbour Journal", "Noted Merlin", "Nuthatch"),
    case("b.bib", "entry that is broken", "@article{a, title = {First Osprey}, year = 2019}\n@article{b, title = {Second Plover, year = 2020\n\n@article{c, title = {Third Quail}, year = 2021}\n", "First Osprey", "Third Quail", said=("",)),
    case("a.bib", "a key that stands twice", '@book{a, title = "One Dotterel"}\n@book{a, title = "Two {K}not", author = {B}}\n', "Two Knot", absent=('"Two',), records=2),
    case("a.ris", "two authors, notes, several lines", "TY  - BOOK\nTI  - Lamp Redshank\nT2  - Series Sanderling\nA1  - Quay, Ada\nN1  - Noted Tern\nKW  - sea\nPY  - 2019///\nUR  - https://x.example\nER  - \n", "Lamp Redshank", "Quay", "Noted Tern", "sea"),
    case("c.json", "CSL", json.dumps(CSL), "Cited Gadwall", "Hobby Institute", "Noted Jackdaw", kind="csl"),
    calendar("comma in a quoted name, text in HTML alone", event("SUMMARY:Lantern day\nDTSTART:20230412\nATTENDEE;CN=\"Quay, Ada\":mailto:ada@quay.example\nX-ALT-DESC;FMTTYPE=text/html:<p>Told Gannet</p>"), "Quay, Ada <ada@quay.example>", "Told Gannet"),
    case("d.webloc", "binary property list", plistlib.dumps({"URL": "https://heron.example/möwe"}, fmt=plistlib.FMT_BINARY), "https://heron.example/möwe"),
)  # fmt: skip
