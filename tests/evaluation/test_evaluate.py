"""``scripts/evaluate --compare`` as a user runs it, offline, over a set written here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import judged_sets
import pytest
from judged_sets import EVALUATION
from systems import NAMES

from patience import PATIENCE

pytestmark = pytest.mark.worker  # it starts a Chroma of its own


def evaluate(*arguments: object) -> subprocess.CompletedProcess[str]:
    environ = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    return subprocess.run(
        [sys.executable, str(EVALUATION / "main.py"), *map(str, arguments)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_all_systems_are_run_and_every_figure_can_be_traced_to_its_queries(
    tmp_path: Path,
) -> None:
    folder = judged_sets.write(tmp_path / "set")
    done = evaluate(
        folder, "--compare", "--embedder", "hashing", "--project-field", "meta.place",
        "--json", tmp_path / "report.json", "--per-query", tmp_path / "per" / "query",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["documents"] == len(judged_sets.CORPUS) + 1
    for scope, modes in (("own", report["modes"]), ("pooled", report["pooled"])):
        compared = report["compared"][scope]
        assert tuple(modes) == NAMES == tuple(compared["systems"])
        assert set(compared["hybrid - other"]) == set(NAMES) - {"hybrid"}
        for name in NAMES:
            answers = lines(tmp_path / "per" / "query" / f"{scope}-{name}.jsonl")
            assert [line["query"] for line in answers] == [q["id"] for q in judged_sets.QUERIES]
            for metric, interval in compared["systems"][name].items():
                mean = sum(line[metric] for line in answers) / len(answers)
                assert modes[name][metric] == interval["mean"] == pytest.approx(mean, abs=1e-4)
                assert interval["low"] <= interval["mean"] <= interval["high"]
    assert report["modes"]["hybrid"]["recall@10"] == 1
    assert "hybrid - grep" in done.stdout


def test_without_compare_only_our_own_modes_are_run(tmp_path: Path) -> None:
    folder = judged_sets.write(tmp_path / "set")
    done = evaluate(folder, "--embedder", "hashing", "--json", tmp_path / "report.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert list(report["modes"]) == ["keyword", "vector", "hybrid"]
    assert "compared" not in report


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--modes", "keyword,lucene"), "unknown mode 'lucene'; choose one of grep, fts5"),
        (("--compare", "--modes", "grep,keyword"), "name it in --modes as well"),
        (("--qrels", "nowhere.tsv"), "--qrels: nowhere.tsv does not exist"),
        (("--json", "/nowhere/report.json"), "--json: /nowhere is no directory"),
        (("--ablate", "--modes", "grep"), "--ablate asks hybrid alone"),
        (("--queries", "-1"), "--queries has to be 0"),
    ],
)
def test_a_wrong_choice_is_named_with_the_next_step(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = evaluate(judged_sets.write(tmp_path / "set"), *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_folder_that_is_no_judged_set_is_named(tmp_path: Path) -> None:
    done = evaluate(tmp_path)
    assert done.returncode == 2
    assert f"DATASET_DIR: {tmp_path / 'corpus.jsonl'} does not exist" in done.stderr


def test_what_is_not_a_terminal_gets_whole_lines_of_progress(tmp_path: Path) -> None:
    folder = judged_sets.write(tmp_path / "set")
    done = evaluate(folder, "--embedder", "hashing", "--modes", "keyword", "--queries", "1")
    assert done.returncode == 0, done.stderr
    assert "\r" not in done.stderr
    assert f"importing {len(judged_sets.CORPUS) + 1} documents" in done.stderr
    assert " passages to go\n" in done.stderr


def test_several_files_of_judgements_are_named(tmp_path: Path) -> None:
    folder = judged_sets.write(tmp_path / "set")
    (folder / "qrels_more.tsv").write_bytes((folder / "qrels.tsv").read_bytes())
    done = evaluate(folder)
    assert done.returncode == 2
    assert "name one of qrels.tsv, qrels_more.tsv" in done.stderr


def test_an_ablation_tells_what_each_part_is_worth(tmp_path: Path) -> None:
    folder = judged_sets.write(tmp_path / "set")
    done = evaluate(folder, "--embedder", "hashing", "--ablate", "--json", tmp_path / "a.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert {"hybrid", "without feedback", "without rank-bonus"} <= set(report["modes"])
    assert "hybrid - without feedback" in done.stdout
