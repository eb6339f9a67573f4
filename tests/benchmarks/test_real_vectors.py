"""Texts for the vectors of a benchmark: different ones, of prose and of code."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "benchmarks"))

import real_vectors

PROSE = "The gauge counts waves. It counts them at night, too.\n\n- One for each harbour."


def test_pieces_are_sentences_and_lines_each_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(PROSE, "utf-8")
    (tmp_path / "b.py").write_text("x = 1\nwaves = count_waves(gauge)\n" * 2, "utf-8")
    (tmp_path / "c.bin").write_bytes(b"is not a text of any kind")
    with gzip.open(tmp_path / "d.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"title": "Count waves twice", "text": PROSE}) + "\n")
    assert sorted(real_vectors.sample(tmp_path, 5)) == [
        "- One for each harbour.",
        "Count waves twice",
        "It counts them at night, too.",
        "The gauge counts waves.",
        "waves = count_waves(gauge)",
    ]


def test_too_few_texts_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(PROSE, "utf-8")
    with pytest.raises(SystemExit, match="3 different short texts; 4 are needed"):
        real_vectors.sample(tmp_path, 4)
