"""Mails with attachments → extracted → embedded → in the index, against the bare embedder."""

from __future__ import annotations

import random
import sqlite3
import sys
import textwrap
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "shared"))

from figures import Bar, median
from indexing import seconds_of, take
from papers import docx, pdf
from process import one, worker

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
    with worker(home, embedder, is_filled=False) as running:
        take(running, _folder(home / "warm", _WARM, chance), "mail")
        bare.embed(["warm up"])
        for turn in range(TURNS):
            folder = _folder(home / f"turn-{turn}", count // TURNS, chance)
            before = one(home, "select coalesce(max(id), 0) from passages")
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
        lines = [line for text in paragraphs for line in textwrap.wrap(text, 80)]
        mail.add_attachment(pdf(lines), "application", "pdf", filename="letter.pdf")
    elif form == 1:
        mail.add_attachment(docx(paragraphs), "application", "octet-stream", filename="plan.docx")
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
