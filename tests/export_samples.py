"""Small exports of other programs, as these write them, made in a folder."""

import io
import json
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path

CONTACTS = (
    "BEGIN:VCARD\r\nVERSION:2.1\r\n"
    "N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6rg;;;\r\n"
    "FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg=20=\r\n=4D=C3=BCller\r\n"
    "TEL;CELL:+49 171 5550101\r\nORG:Segelmacherei Blaumeise\r\n"
    "PHOTO;ENCODING=BASE64;JPEG:ZfrwzaAjb0kRs9np3\r\n H2Ke1WSIHihE8lI\r\n\r\nEND:VCARD\r\n"
    "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:ada-1\r\nFN:Ada Lovelace\r\nN:Lovelace;Ada;;;\r\n"
    "item1.EMAIL;TYPE=INTERNET,HOME:ada@harbour.example\r\nADR;TYPE=WORK:;;Quay 5\\, left;Kiel;;"
    "24103;DE\r\nBDAY:18151210\r\nNOTE:Keeps the key of the light\r\n house.\\nAsk first.\r\n"
    "CATEGORIES:crew,friends\r\nREV:2023-04-12T08:30:00Z\r\nEND:VCARD\r\n"
)
CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Family\r\n"
    "BEGIN:VEVENT\r\nUID:0@c\r\nSUMMARY:Dentist Dr. Corncrake\r\n"
    "DTSTART;TZID=Europe/Berlin:20230412T083000\r\nDTEND;TZID=Europe/Berlin:20230412T090000\r\n"
    "LOCATION:Hafenstr. 5\\, Kiel\r\nDESCRIPTION:This is folded in the mid\r\n dle of words.\r\n"
    "ATTENDEE;CN=Ada:mailto:ada@harbour.example\r\n"
    "BEGIN:VALARM\r\nDESCRIPTION:Alarm\r\nEND:VALARM\r\nEND:VEVENT\r\n"
    "BEGIN:VTODO\r\nUID:1@c\r\nSUMMARY:Boiler\r\nDUE;VALUE=DATE:20230503\r\nEND:VTODO\r\n"
    "END:VCALENDAR\r\n"
)
WHATSAPP = (
    "31.12.23, 21:41 - Messages and calls are end-to-end encrypted.\n"
    "31.12.23, 21:42 - Ada: The lamp burns again\nand the pier, too\n"
    "01.01.24, 00:01 - Bob: \u200eIMG-1.jpg (file attached)\n"
)
CLIPPINGS = (
    "\ufeffThe Lamp (Quay, Ada)\r\n- Your Highlight on page 12 | Location 170-172 | Added on"
    " Thursday, May 29, 2014 10:00:33 AM\r\n\r\nIt burns at night.\r\n==========\r\n"
    "Der Pier (Neu)\r\n- Ihre Markierung auf Seite 7 | bei Position 90 | Hinzugefügt am Montag,"
    " 5. Januar 2015 um 08:15:00\r\n\r\nAus Eiche.\r\n==========\r\n"
    "The Lamp (Quay, Ada)\r\n- Your Bookmark on page 13 | Added on Friday, May 30, 2014 9:00:00 AM"
    "\r\n\r\n\r\n==========\r\n"
)
BIBTEX = r"""
@string{hj = "Harbour Journal"}
@article{quay2019, title = {The {Lamp} of K{\"u}ste}, author = {Quay, Ada and Pier, Bob},
  journal = hj, year = 2019, doi = {10.1000/lamp}, abstract = {It burns at night.},
  keywords = {lamp, sea}}
@book{pier2020, title = {Oak}, author = {Bob Pier}, publisher = {Sea Press}, year = {2020}}
"""
RIS = (
    "TY  - JOUR\r\nID  - r1\r\nTI  - The lamp\r\nAU  - Quay, Ada\r\nAU  - Pier, Bob\r\n"
    "PY  - 2019/05/01\r\nJO  - Harbour Journal\r\nAB  - It burns\r\nat night.\r\n"
    "DO  - 10.1000/lamp\r\n"
    "ER  - \r\n"
)
ENEX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-export SYSTEM "http://xml.evernote.com/pub/evernote-export3.dtd">
<en-export export-date="20240501T101500Z" application="Evernote" version="10">
<note><title>The lamp</title><created>20240501T101500Z</created><updated>20240502T101500Z</updated>
<tag>sea</tag><note-attributes><author>Ada</author><source-url>https://lamps.example/oil</source-url>
</note-attributes><content><![CDATA[<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE en-note SYSTEM "http://xml.evernote.com/pub/enml2.dtd"><en-note>
<div>It burns &amp; shines.</div>
<div><en-todo checked="true"/>Trim the wick</div><div><en-todo/>Buy oil</div>
<en-media type="text/plain" hash="x"/></en-note>]]></content>
<resource><data encoding="base64">VGhlIG9pbCBpcyBkZWFyLg==</data>
<mime>text/plain</mime><resource-attributes><file-name>oil.txt</file-name></resource-attributes>
</resource></note>
<note><title>The pier</title>
<content><![CDATA[<en-note>Oak.</en-note>]]></content></note></en-export>
"""
TELEGRAM = {
    "name": "Сад", "type": "personal_chat", "id": 1,
    "messages": [
        {"id": 1, "type": "message", "date": "2023-03-14T18:02:00", "date_unixtime": "1678813320",
         "from": "Ольга", "text": "Розы пересадили у калитки"},
        {"id": 2, "type": "service", "date": "2023-03-14T18:03:00", "actor": "Ада",
         "action": "phone_call", "text": ""},
        {"id": 3, "type": "message", "date": "2023-03-14T18:05:00", "from": "Ada",
         "text": ["look at ", {"type": "link", "text": "https://x.example"}, " for the pergola"]},
    ],
}  # fmt: skip
MESSENGER = {
    "participants": [{"name": "J\u00c3\u00b6rg"}, {"name": "Ada"}],
    "messages": [
        {"sender_name": "Ada", "timestamp_ms": 1700000060000, "content": "Yes \u00e2\u0098\u0083"},
        {"sender_name": "J\u00c3\u00b6rg", "timestamp_ms": 1700000000000,
         "content": "Gr\u00c3\u00bc\u00c3\u009fe vom Pier", "photos": [{"uri": "a/pier.jpg"}]},
    ],
    "title": "J\u00c3\u00b6rg", "is_still_participant": True, "thread_path": "inbox/joerg_1",
}  # fmt: skip
DISCORD = {
    "guild": {"id": "9", "name": "Harbour"},
    "channel": {"id": "77", "type": "GuildTextChat", "category": "Text", "name": "lamps"},
    "messages": [
        {"id": "1", "type": "Default", "timestamp": "2023-11-14T22:13:20.123+00:00",
         "content": "The lamp burns", "author": {"id": "5", "name": "ada", "nickname": "Ada"},
         "attachments": [{"id": "3", "fileName": "lamp.png"}], "embeds": []},
        {"id": "2", "type": "GuildMemberJoin", "timestamp": "2023-11-14T22:14:20+00:00",
         "content": "Joined the server.", "author": {"id": "6", "name": "bob"}},
    ],
    "messageCount": 2,
}  # fmt: skip
SIGNAL = [
    {"date": "2023-05-29T15:04:04", "sender": "Me", "body": "How is the lamp?", "quote": "",
     "sticker": None, "reactions": [], "attachments": []},
    {"date": "2023-05-30T08:00:00", "sender": "Bob", "body": "It burns", "quote": "",
     "sticker": None, "reactions": [], "attachments": [{"name": "lamp.jpg", "path": "media/1"}]},
]  # fmt: skip
KEEP = {
    "color": "DEFAULT", "isTrashed": False, "isPinned": False, "isArchived": False,
    "listContent": [{"text": "Oil", "isChecked": True}, {"text": "Wick", "isChecked": False}],
    "title": "For the lamp", "userEditedTimestampUsec": 1700000000000000,
    "createdTimestampUsec": 1690000000000000, "labels": [{"name": "sea"}],
    "annotations": [{"title": "Lamps", "url": "https://lamps.example", "source": "WEBLINK"}],
}  # fmt: skip
_NOTE, _BOOK, _TAG, _LINK = ("a" * 32, "b" * 32, "c" * 32, "d" * 32)
JOPLIN = {
    _NOTE: f"The lamp\n\nIt burns.\n\nname: value\n\nid: {_NOTE}\nparent_id: {_BOOK}\n"
    "created_time: 2024-05-01T10:15:00.000Z\nupdated_time: 2024-05-02T10:15:00.000Z\n"
    "author: Ada\nsource_url: \ntype_: 1",
    _BOOK: f"Harbour\n\nid: {_BOOK}\nparent_id: \ntype_: 2",
    _TAG: f"sea\n\nid: {_TAG}\nparent_id: \ntype_: 5",
    _LINK: f"id: {_LINK}\nnote_id: {_NOTE}\ntag_id: {_TAG}\ntype_: 6",
}


def _file(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())
    return path


def contacts(folder: Path) -> Path:
    return _file(folder, "contacts.vcf", CONTACTS)


def calendar(folder: Path) -> Path:
    return _file(folder, "family.ics", CALENDAR)


def evernote(folder: Path) -> Path:
    return _file(folder, "Harbour.enex", ENEX)


def keep(folder: Path) -> Path:
    return _file(folder, "Takeout/Keep/For the lamp.json", json.dumps(KEEP))


def joplin(folder: Path) -> Path:
    for name, text in JOPLIN.items():
        _file(folder, f"joplin/{name}.md", text)
    return folder / "joplin"


def whatsapp(folder: Path) -> Path:
    return _file(folder, "WhatsApp Chat with Bob.txt", WHATSAPP)


def telegram(folder: Path) -> Path:
    return _file(folder, "result.json", json.dumps(TELEGRAM, indent=1))


def messenger(folder: Path) -> Path:
    return _file(folder, "inbox/joerg_1/message_1.json", json.dumps(MESSENGER))


def discord(folder: Path) -> Path:
    return _file(folder, "Harbour - lamps [77].json", json.dumps(DISCORD, indent=2))


def signal(folder: Path) -> Path:
    lines = "".join(f"{json.dumps(each)}\n" for each in SIGNAL)
    return _file(folder, "Bob/data.json", lines)


def google_chat(folder: Path) -> Path:
    about = {"name": "Harbour", "members": [{"name": "Ada"}, {"name": "Bob"}]}
    _file(folder, "Groups/Space A1/group_info.json", json.dumps(about))
    said = [
        {"creator": {"name": "Ada"}, "created_date": date, "text": text, "message_id": str(at)}
        for at, (date, text) in enumerate((
            ("Monday, October 6, 2025 at 8:53:04 AM UTC", "Who has the key of the lamp?"),
            ("Monday, October 6, 2025 at 8:54:10 AM UTC", "It hangs in the harbour office."),
        ))
    ]  # fmt: skip
    return _file(folder, "Groups/Space A1/messages.json", json.dumps({"messages": said}))


def facebook_posts(folder: Path) -> Path:
    post = {"timestamp": 1_759_740_784, "data": [{"post": "The lamp burns again."}]}
    return _file(folder, "posts/your_posts_1.json", json.dumps([post]))


def clippings(folder: Path) -> Path:
    return _file(folder, "My Clippings.txt", CLIPPINGS)


def library(folder: Path) -> Path:
    return _file(folder, "library.bib", BIBTEX)


def browser_history(folder: Path) -> Path:
    path = folder / "History"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table urls(id integer primary key autoincrement, url longvarchar,
                title longvarchar, visit_count integer default 0 not null,
                typed_count integer default 0 not null, last_visit_time integer not null,
                hidden integer default 0 not null);
            insert into urls(url, title, visit_count, last_visit_time) values
                ('https://lamps.example/oil', 'Lamp oil', 3, 13344473600000000),
                ('chrome://settings', 'Settings', 1, 13344473600000000);
            """
        )
    return path


def packed(folder: Path) -> Path:
    """A tar archive with a note, and with a ZIP archive in which there is another one."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("notes/pier.md", "# Pier\n\nIt is of oak.")
    path = folder / "harbour.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in (("lamp.txt", b"The lamp burns."), ("old/more.zip", inner.getvalue())):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), 1_600_000_000
            archive.addfile(member, io.BytesIO(data))
    return path


MADE = {
    "contacts": contacts, "calendar": calendar, "evernote": evernote, "keep": keep,
    "joplin": joplin, "whatsapp": whatsapp, "telegram": telegram, "messenger": messenger,
    "discord": discord, "signal": signal, "clippings": clippings, "library": library,
    "browser-history": browser_history, "packed": packed, "google-chat": google_chat,
    "facebook-posts": facebook_posts,
}  # fmt: skip
