"""Secrets of more than 240 shapes in nineteen places, with every sign behind them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from mem_search.ingest.prepare import prepare
from mem_search.model import Draft
from mem_search.storage.redacted import clean
from mem_search.text.redaction import Redaction, redact
from secret_shapes import SHAPES, Shape
from secret_shapes_named import NAMED
from secret_shapes_reported import REPORTED
from secret_shapes_unseen import UNSEEN

ALL = {**SHAPES, **NAMED, **UNSEEN, **REPORTED}
REDACTION = Redaction(b"a key")
MIN_FOUND = 0.97


def _draft(**given: Any) -> str:
    draft = Draft(**{"kind": "note", "source": "test", "source_id": "1", "text": "plain"} | given)
    kept = clean(prepare(draft).draft, REDACTION)
    fields = ("title", "text", "project", "source", "source_id", "url", "session", "tags", "links")
    return repr([getattr(kept, name) for name in fields]) + json.dumps(
        dict(kept.metadata), ensure_ascii=False, default=str
    )


def _values(value: Any) -> str:
    return json.dumps(clean(value, REDACTION), ensure_ascii=False)


# What stands behind the secret is another sign in each place.
PLACES: dict[str, Callable[[Shape], str]] = {
    "body": lambda x: _draft(text=f"We use ({x.text}), as said."),
    "title": lambda x: _draft(title=f"Change {x.text}, now"),
    "tag": lambda x: _draft(tags=(f"of {x.text}!", "plain")),
    "metadata, innocent name": lambda x: _draft(metadata={"remark": f"[{x.text}]"}),
    "metadata, telling name": lambda x: _draft(metadata={"deep": [{"clientSecret": x.secret}]}),
    "url": lambda x: _draft(url=f"https://example.org/a?x={x.text}#part"),
    "project": lambda x: REDACTION.name(f"p/{x.text}"),
    "source id": lambda x: REDACTION.name(f"/srv/{x.text}/notes.txt"),
    "author": lambda x: _draft(metadata={"author": f"Ada {x.text} <ada@example.org>"}),
    "ledger and job": lambda x: _values({"item": f"{x.text}: not a file", "count": 1}),
    "question of a search": lambda x: REDACTION.name(f"where is {x.text}?"),
    "saved search": lambda x: _values(json.dumps({"query": f"»{x.text}«", "limit": 3})),
    "tool input": lambda x: _values({"command": ["run", f"echo '{x.text}' | tee log"]}),
    "tool output": lambda x: redact(f"\x1b[32mok\x1b[0m {x.text}\x1b[0m\ndone")[0],
    "code block": lambda x: redact(f"Run:\n\n```sh\n{x.text}\n```\nThen `{x.text}`.")[0],
    "json in json": lambda x: redact(json.dumps({"a": json.dumps({"b": f"{x.text}"})}))[0],
    "yaml": lambda x: redact(f"notes:\n  - text: {x.text}\n  - other\n")[0],
    "html": lambda x: redact(f"<p><b>{x.text}</b></p>")[0],
    "log line": lambda x: redact(f"2026-01-02T03:04:05Z INFO client={x.text}|status=200")[0],
}


def _is_kept(shape: Shape, text: str) -> bool:
    """Whether the secret, or most of it, is still in ``text``."""
    plain = text.replace("\\\\", "\\").replace('\\"', '"').replace("\\n", "\n").replace("\\n", "\n")
    parts = {shape.secret, shape.secret.replace("\\n", "\n")}
    long = {part[-12:] for part in parts if len(part) >= 24} | {shape.secret[4:20]}
    return any(part in each for part in parts | long for each in (text, plain))


def _missed(shapes: dict[str, Shape]) -> list[tuple[str, str]]:
    return [
        (name, place)
        for name, shape in shapes.items()
        for place, stored in PLACES.items()
        if _is_kept(shape, stored(shape))
    ]


def test_the_matrix_is_as_large_as_it_has_to_be() -> None:
    assert len(ALL) >= 150
    assert len(PLACES) == 19
    assert len(UNSEEN) >= 40
    assert len(ALL) == len(SHAPES) + len(NAMED) + len(UNSEEN) + len(REPORTED)


@pytest.mark.parametrize(
    "shapes",
    [SHAPES, NAMED, UNSEEN, REPORTED],
    ids=["known", "named", "unseen", "reported"],
)
def test_secrets_are_found_in_every_place(shapes: dict[str, Shape]) -> None:
    missed = _missed(shapes)
    assert 1 - len(missed) / (len(shapes) * len(PLACES)) >= MIN_FOUND, missed
