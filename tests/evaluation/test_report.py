"""``scripts/evaluate SET --report``: the page of what was done with each record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import judged_sets
import pytest
from dataset import ALL, read
from report import PAGE, stored_run, write
from test_evaluate import evaluate

HOSTILE = "</script><img src=x onerror=alert(1)> <!-- \u2028"


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


@pytest.mark.worker
def test_each_question_has_its_legs_stages_and_page_and_what_it_was_before(tmp_path: Path) -> None:
    folder, home = judged_sets.write(tmp_path / "set"), tmp_path / "home"
    asked = ("--embedder", "hashing", "--modes", "hybrid", "--home", home,
             "--project-field", "meta.place")  # fmt: skip
    first = evaluate(folder, *asked, "--json", tmp_path / "run.json", "--per-query", tmp_path / "q")
    assert first.returncode == 0, first.stderr
    page = tmp_path / "page.html"
    done = evaluate(folder, *asked, "--report", page, "--against", tmp_path / "run.json")
    assert done.returncode == 0, done.stderr
    found = data_of(page.read_text("utf-8"))
    assert [each["id"] for each in found["questions"]] == [q["id"] for q in judged_sets.QUERIES]
    for each in found["questions"]:
        assert each["before"] == each["metrics"]
        assert each["legs"] == ["keyword", "vector"]
        assert "fused" in each["stages"]
        shown = sorted((row["page"], row["id"]) for row in each["records"] if row["page"])
        assert [record for _, record in shown] == each["ranked_before"]
        judged = {row["id"] for row in each["records"] if row["gain"]}
        assert judged == {doc for query, doc in judged_sets.QRELS if query == each["id"]}
        for row in each["records"]:
            assert len(row["stages"]) == len(each["stages"])
            assert not row["page"] or row["stages"][-1][0] == row["page"]


def test_a_page_needs_no_network_and_takes_no_text_for_html(tmp_path: Path) -> None:
    question = {
        "id": "q", "text": HOSTILE, "project": "", "legs": [], "stages": [], "records": [],
        "answered": True, "metrics": {"ndcg@10": 1.0, "recall@10": 1.0, "mrr@10": 1.0},
    }  # fmt: skip
    write(tmp_path / "page.html", HOSTILE, [question])
    page = (tmp_path / "page.html").read_text("utf-8")
    assert data_of(page)["questions"][0]["text"] == HOSTILE
    assert "<img" not in page
    assert not re.search(r"https?:|src=|@import|innerHTML", PAGE.read_text("utf-8"))
    assert "default-src 'none'" in page


def test_a_run_without_its_answers_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ValueError, match="without --per-query"):
        stored_run(tmp_path / "run.json", "own")
    with pytest.raises(ValueError, match=r"own-hybrid\.jsonl does not exist"):
        stored_run(tmp_path, "own")


def test_all_judgements_of_a_set_are_one_list(tmp_path: Path) -> None:
    folder = judged_sets.write(tmp_path / "set")
    (folder / "qrels_said.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tsaid\t1\n")
    data = read(folder, ALL, "", "", 0, {"note", "user_prompt"})
    assert data.judged_kinds == ()
    assert {each.id: set(each.relevant) for each in data.queries}["q1"] == {"oven", "said"}
