"""The model's own vectors of as many different short texts as a store on PostgreSQL has vectors.

The stand-in's vectors of generated words lie closer to each other than those of texts do, so what
an index finds among them says little. A million texts take the model half an hour.
Which text a vector is of does not matter to the index, so the records keep their own texts.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import store
from numpy.typing import NDArray
from psycopg import sql

from mem_search.embedders import open_embedder

_SENTENCE = re.compile(r"\n\s*\n|\n(?=[-*] )|(?<=[.!?:;])\s+")
_SHORTEST, _LONGEST = 12, 200
_AT_ONCE = 256
_PUT = 10_000


def put(home: Path, embedder: str, address: str, texts: Path) -> bool:
    """Replace all vectors of the store at ``address``; False if an earlier run did so.

    The index of the old vectors goes, so that the worker builds one. All is one transaction, which
    notes in the database what the vectors are of.
    """
    with psycopg.connect(address) as asking:
        asking.execute("set search_path = mem_search, public")
        asking.execute("select set_config('mem_search.owner', 'main', false)")
        known = asking.execute("select obj_description('vectors'::regclass)").fetchone()
        if known == (_note(texts),):
            return False
        ids = asking.execute("select model_id, entry_id from vectors order by 1, 2").fetchall()
        vectors = _embedded(home, embedder, sample(texts, len(ids)))
        for (index,) in asking.execute(
            "select c.relname from pg_index join pg_class c on c.oid = indexrelid"
            " join pg_am a on a.oid = c.relam where amname = 'hnsw'"
        ).fetchall():
            asking.execute(sql.SQL("drop index {}").format(sql.Identifier(index)))
        asking.execute("truncate vectors")
        for first in range(0, len(ids), _PUT):
            some = ids[first : first + _PUT]
            values = [str(vector.tolist()) for vector in vectors[first : first + _PUT]]
            models, entries = zip(*some, strict=True)
            asking.execute(
                "insert into vectors(model_id, entry_id, vector) select m, e, v::halfvec"
                " from unnest(%s::bigint[], %s::bigint[], %s::text[]) f(m, e, v)",
                (list(models), list(entries), values),
            )
        asking.execute(sql.SQL("comment on table vectors is {}").format(_note(texts)))
    with psycopg.connect(address, autocommit=True) as asking:
        asking.execute("vacuum analyze mem_search.vectors")
    return True


def _note(texts: Path) -> str:
    return f"of the texts of {texts.name}"


def _embedded(home: Path, embedder: str, texts: list[str]) -> NDArray[np.float16]:
    """A row for each text."""
    model = open_embedder(embedder, store.settings(home, embedder).models_dir)
    made = np.empty((len(texts), model.dimensions), np.float16)
    by_length = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for first in range(0, len(texts), _AT_ONCE):
        some = by_length[first : first + _AT_ONCE]
        made[some] = model.embed([texts[place] for place in some])
        store.say(f"\rembedding: {first} of {len(texts)} texts   ")
    return made


def sample(texts: Path, count: int) -> list[str]:
    """``count`` different pieces of the files below ``texts``, or of that file, in an order of
    chance.
    """
    files = sorted(texts.rglob("*")) if texts.is_dir() else [texts]
    found: dict[str, None] = {}
    for file in files:
        for piece in _pieces(file):
            short = " ".join(piece.split())
            if _SHORTEST <= len(short) <= _LONGEST:
                found.setdefault(short)
    if len(found) < count:
        sys.exit(f"--texts: {texts} has {len(found)} different short texts; {count} are needed")
    return random.Random(5).sample(list(found), count)


def _pieces(file: Path) -> Iterator[str]:
    """Sentences of prose, lines of code."""
    if file.suffix == ".py":
        yield from file.read_text("utf-8", "replace").splitlines()
    elif file.suffix in (".md", ".rst", ".txt"):
        yield from _SENTENCE.split(file.read_text("utf-8", "replace"))
    elif ".jsonl" in file.suffixes:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                item = json.loads(line)
                yield item.get("title") or ""
                yield from _SENTENCE.split(item.get("text") or "")
