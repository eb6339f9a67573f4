"""The mailbox and the folder of an invented household, written as real files.

``write`` makes the same files each time from the texts in ``household/``. Scans are lines of JSONL
with what OCR would have made of them, so that no OCR program is needed.
"""

from __future__ import annotations

import html
import json
import os
import random
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parents[1] / "shared"))

import papers

from mem_search.model import Location, Record
from mem_search.text.calendar_words import MONTHS
from mem_search.text.date_words import to_ms

TEXTS: Final = Path(__file__).parent / "household"
OWNER: Final = "Nora Lindqvist <nora@lindqvist.example>"
_DOMAIN: Final = "household.example"
_SEED: Final = 14


def write(root: Path) -> list[Location]:
    """Write all documents below ``root``; returns what is to be read."""
    for number, mail in enumerate(_mails()):
        _write_mail(root / "mail" / f"{number:03}.eml", mail)
    files = tomllib.loads((TEXTS / "files.toml").read_text("utf-8"))
    for sort, of_sort in (("pdf", _pdf), ("docx", _docx), ("csv", _csv), ("note", _note),
                          ("page", _page)):  # fmt: skip
        for each in files[sort]:
            path = root / "files" / each["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            of_sort(path, each)
            at = _moment(each["date"]).timestamp()
            os.utime(path, (at, at))
    (root / "bookmarks.html").write_text(_bookmarks(files["bookmark"]), "utf-8")
    lines = (json.dumps(_scan(each)) for each in files["scan"])
    (root / "scans.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return [
        Location("mail", str(root / "mail")),
        Location("files", str(root / "files")),
        Location("bookmarks", str(root / "bookmarks.html")),
        Location("jsonl", str(root / "scans.jsonl")),
    ]


def name_of(record: Record, root: Path) -> str:
    """What the questions call the document."""
    metadata, own = record.metadata, record.source_id
    if record.source == "mail":
        message = str(metadata.get("attached_to") or own).strip("<>").partition("@")[0]
        return f"{message}/{metadata['path']}" if "attached_to" in metadata else message
    if record.source == "files":
        return own.rpartition(f"{root.name}/files/")[2]
    return own


def _mails() -> Iterator[dict[str, Any]]:
    texts = tomllib.loads((TEXTS / "mail.toml").read_text("utf-8"))
    for series in texts["series"]:
        yield from _months(series)
    yield from texts["mail"]


def _months(series: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    chance = random.Random(f"{_SEED} {series['key']}")
    first, last = ([*map(int, series[end].split("-"))] for end in ("first", "last"))
    for at in range(first[0] * 12 + first[1] - 1, last[0] * 12 + last[1]):
        year, month = at // 12, at % 12
        names = {
            "month": MONTHS[month].title(),
            "before": MONTHS[month - 1].title(),
            "year": year,
            "number": f"{month + 1:02}",
            "total": f"{chance.randrange(800, 9900) / 100:.2f}",
            "items": ", ".join(chance.sample(series["items"], 3)) if "items" in series else "",
        }
        attached = []
        if "attachment" in series:
            name, text = (series[key].format(**names) for key in ("attachment", "attached"))
            attached.append({"name": name, "title": "", "text": text})
        yield {
            "key": f"{series['key']}-{year}-{month + 1:02}",
            "sender": series["sender"],
            "date": f"{year}-{month + 1:02}-{series['day']:02}",
            "subject": series["subject"].format(**names),
            "text": series["text"].strip().format(**names),
            "attachments": attached,
        }


def _write_mail(path: Path, mail: Mapping[str, Any]) -> None:
    message = EmailMessage()
    message["From"], message["To"] = mail["sender"], mail.get("to", OWNER)
    message["Subject"], message["Date"] = mail["subject"], _moment(mail["date"])
    message["Message-ID"] = f"<{mail['key']}@{_DOMAIN}>"
    message.set_content(mail["text"])
    for each in mail.get("attachments", []):
        data = papers.pdf(textwrap.wrap(each["text"], 80), each["title"], mail["date"])
        message.add_attachment(data, "application", "pdf", filename=each["name"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(message.as_bytes())


def _pdf(path: Path, each: Mapping[str, Any]) -> None:
    path.write_bytes(papers.pdf(textwrap.wrap(each["text"], 80), each["title"], each["date"]))


def _docx(path: Path, each: Mapping[str, Any]) -> None:
    path.write_bytes(papers.docx((each["title"], each["text"])))


def _csv(path: Path, each: Mapping[str, Any]) -> None:
    path.write_text(each["text"] + "\n", "utf-8")


def _note(path: Path, each: Mapping[str, Any]) -> None:
    path.write_text(f"---\ndate: {each['date']}\n---\n{each['text']}\n", "utf-8")


def _page(path: Path, each: Mapping[str, Any]) -> None:
    said = {
        key: html.escape(str(each[key]))
        for key in ("title", "site", "author", "url", "date", "text")
    }
    path.write_text(
        f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>{said["title"]}</title>
<link rel="canonical" href="{said["url"]}"><meta name="author" content="{said["author"]}">
<meta property="og:site_name" content="{said["site"]}"><meta property="og:type" content="article">
<meta property="article:published_time" content="{said["date"]}"></head><body>
<nav><a href="/">Home</a> <a href="/about">About</a></nav>
<article><h1>{said["title"]}</h1><p>By {said["author"]}</p><p>{said["text"]}</p></article>
<footer>All rights reserved</footer></body></html>
""",
        "utf-8",
    )


def _bookmarks(bookmarks: list[dict[str, str]]) -> str:
    folders: dict[str, list[str]] = {}
    for each in bookmarks:
        at = int(_moment(each["date"]).timestamp())
        line = f'<DT><A HREF="{each["url"]}" ADD_DATE="{at}">{html.escape(each["title"])}</A>'
        folders.setdefault(each["folder"], []).append(line)
    shown = "\n".join(
        f"<DT><H3>{name}</H3>\n<DL><p>\n{chr(10).join(lines)}\n</DL><p>"
        for name, lines in folders.items()
    )
    return f"<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<DL><p>\n{shown}\n</DL>"


def _scan(each: Mapping[str, Any]) -> dict[str, Any]:
    is_pdf = each["id"].endswith(".pdf")
    found = {"ocr": "rapidocr", "ocr_confidence": 0.93, "path": f"scans/{each['id']}"}
    found |= {"pages": 1, "ocr_pages": 1} if is_pdf else {"media_type": "image/jpeg"}
    return {
        "kind": "file",
        "source_id": each["id"],
        "title": each["id"].partition(".")[0],
        "text": each["text"],
        "created_at": to_ms(_moment(each["date"])),
        "metadata": found,
    }


def _moment(date: str) -> datetime:
    return datetime.fromisoformat(f"{date}T09:00").replace(tzinfo=UTC)
