"""Mails with attachments → extracted → embedded → in the index, against the bare embedder."""

from __future__ import annotations

import random
import sqlite3
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from figures import Bar, median
from indexing import seconds_of, take
from process import worker

from mem_search.embedders import open_embedder
from mem_search.text import passages

TURNS = 5
_SEED = 5
_WARM = 40
_WORDS = (
    "invoice meeting harbour budget contract garden delivery school train repair insurance lease "
    "report schedule ticket kitchen doctor journey payment library engine summer winter project "
    "window paint order refund printer battery museum concert recipe bicycle mountain river"
).split()


def measure(home: Path, count: int, embedder: str) -> tuple[dict[str, Any], list[Bar]]:
    """``count`` mails in ``TURNS`` folders, each read by the worker and embedded by the bare model.

    Every third mail has an attachment: by turns a PDF, a DOCX, an HTML page or a text.
    """
    home.mkdir(parents=True, exist_ok=True)
    bare = open_embedder(embedder, home / "models")
    chance = random.Random(_SEED)
    times, ratios, embedded = [], [], 0
    with worker(home, embedder) as running:
        running.until_answering("/api/readiness")
        take(running, _folder(home / "warm", _WARM, chance), "mail")
        bare.embed(["warm up"])
        for turn in range(TURNS):
            folder = _folder(home / f"turn-{turn}", count // TURNS, chance)
            before = _last_passage(home)
            took, _ = take(running, folder, "mail")
            texts = _embedded(home, before)
            embedded += len(texts)
            times.append(took)
            ratios.append(took / seconds_of(bare, texts))
    figures = {
        "mails": count,
        "texts to embed": embedded,
        "mails/s": count / sum(times),
        "time / bare embedding, median of turns": median(ratios),
    }
    return figures, [Bar("mails: time / bare embedding of their passages", median(ratios), 1.25)]


def _last_passage(home: Path) -> int:
    store = sqlite3.connect(home / "mem-search.db")
    (last,) = store.execute("select coalesce(max(id), 0) from passages").fetchone()
    store.close()
    return int(last)


def _embedded(home: Path, after: int) -> list[str]:
    """What the model reads for the passages after ``after``; equal content once."""
    store = sqlite3.connect(home / "mem-search.db")
    rows = store.execute(
        "select r.title, substr(r.body, p.span_start + 1, p.span_end - p.span_start), p.above"
        " from passages p join records r on r.id = p.record_id where p.id > ? order by p.id",
        (after,),
    ).fetchall()
    store.close()
    texts = (text for row in rows for text in passages.embedded_texts(*row))
    return list(dict.fromkeys(texts))


def _folder(folder: Path, count: int, chance: random.Random) -> Path:
    """A folder with ``count`` mails as files."""
    folder.mkdir(parents=True)
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    for number in range(count):
        mail = EmailMessage()
        mail["From"] = f"{chance.choice(_WORDS)}@sender.example"
        mail["To"] = "me@home.example"
        mail["Subject"] = _words(chance, 6).capitalize()
        mail["Date"] = format_datetime(begin + timedelta(hours=number))
        mail["Message-ID"] = f"<{folder.name}-{number}@sender.example>"
        mail.set_content("\n\n".join(_paragraph(chance) for _ in range(3)))
        if number % 3 == 0:
            _attach(mail, number // 3 % 4, [_paragraph(chance) for _ in range(6)])
        (folder / f"{number}.eml").write_bytes(mail.as_bytes())
    return folder


def _attach(mail: EmailMessage, form: int, paragraphs: list[str]) -> None:
    if form == 0:
        mail.add_attachment(_pdf(paragraphs), "application", "pdf", filename="letter.pdf")
    elif form == 1:
        mail.add_attachment(_docx(paragraphs), "application", "octet-stream", filename="plan.docx")
    elif form == 2:
        page = "".join(f"<p>{text}</p>" for text in paragraphs)
        html = f"<html><body><article>{page}</article></body></html>"
        mail.add_attachment(html.encode(), "text", "html", filename="page.html")
    else:
        mail.add_attachment("\n\n".join(paragraphs).encode(), "text", "plain", filename="notes.txt")


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_WORDS, k=count))


def _paragraph(chance: random.Random) -> str:
    return " ".join(f"{_words(chance, 11).capitalize()}." for _ in range(4))


def _docx(paragraphs: list[str]) -> bytes:
    """The least that a reader of DOCX takes for a document (ECMA-376)."""
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/'
        'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    links = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Target="word/document.xml" Type="http://schemas.openxmlformats.org'
        '/officeDocument/2006/relationships/officeDocument"/></Relationships>'
    )
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    document = f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'
    data = BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in (
            ("[Content_Types].xml", types), ("_rels/.rels", links), ("word/document.xml", document),
        ):  # fmt: skip
            package.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return data.getvalue()


def _pdf(paragraphs: list[str]) -> bytes:
    """One page with a line for each six words (ISO 32000-1)."""
    lines = [line for text in paragraphs for line in _lines(text.split())]
    shown = "".join(f"({line}) Tj T* " for line in lines)
    content = f"BT /F1 9 Tf 11 TL 40 800 Td {shown}ET"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 5 0 R"
        "/Resources<</Font<</F1 4 0 R>>>>>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        f"<</Length {len(content)}>>stream\n{content}\nendstream",
    ]
    data = bytearray(b"%PDF-1.4\n")
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj{each}endobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 6\n0000000000 65535 f \n{table}trailer<</Size 6/Root 1 0 R>>\nstartxref\n"
    return bytes(data + f"{end}{len(data)}\n%%EOF\n".encode())


def _lines(words: list[str]) -> Iterator[str]:
    yield from (" ".join(words[a:b]) for a, b in pairwise([*range(0, len(words), 12), len(words)]))
