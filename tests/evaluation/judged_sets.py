"""A judged set of a dozen documents in two projects, as files and as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EVALUATION = Path(__file__).parents[2] / "scripts" / "evaluation"

CORPUS: list[dict[str, Any]] = [
    {"id": "oven", "title": "Oven", "text": "The oven must be hot before the bread goes in."},
    {"id": "dough", "title": "Dough", "text": "Knead the dough and let it rest; bread needs time."},
    {"id": "salt", "title": "", "text": "Salt goes into the DOUGH last, never onto the yeast."},
    {"id": "knife", "title": "Knives", "text": "A bread knife has teeth."},
    {"id": "sails", "title": "Sails", "text": "Reef the sails before the storm."},
    {"id": "anchor", "title": "Anchor", "text": "The anchor holds better with a longer chain."},
    {
        "id": "galley",
        "title": "Galley",
        "text": "The oven of the galley swings; bake bread at sea.",
    },
    {"id": "tide", "title": "Tides", "text": "High water comes an hour later each day."},
]
_SEA = {"sails", "anchor", "galley", "tide"}

QUERIES: list[dict[str, Any]] = [
    {"id": "q1", "text": "how hot is the oven for bread?", "project": "kitchen"},
    {"id": "q2", "text": "when does the salt go into the dough", "project": "kitchen"},
    {"id": "q3", "text": "sails in a storm", "project": "boat"},
    {"id": "q4", "text": "bread oven at sea", "project": "boat"},
]
QRELS = [("q1", "oven"), ("q2", "salt"), ("q2", "dough"), ("q3", "sails"), ("q4", "galley")]


def write(folder: Path) -> Path:
    """The set in the format that ``scripts/evaluate`` reads; a prompt in it is judged nowhere."""
    folder.mkdir(parents=True)
    documents = [
        document | {"meta": {"place": "boat" if document["id"] in _SEA else "kitchen"}}
        for document in CORPUS
    ]
    documents.append(
        {
            "id": "said",
            "type": "prompt",
            "text": "Is the oven hot? Sails, storm, salt, dough, bread!",
            "meta": {"place": "kitchen"},
        }
    )
    queries = [
        {"id": query["id"], "text": query["text"], "meta": {"place": query["project"]}}
        for query in QUERIES
    ]
    _write_lines(folder / "corpus.jsonl", documents)
    _write_lines(folder / "queries.jsonl", queries)
    rows = "".join(f"{query}\t{document}\t1\n" for query, document in QRELS)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", "utf-8")
    return folder


def _write_lines(file: Path, items: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
