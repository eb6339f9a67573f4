"""Saved pages keep their article, in every form of saving (``scripts/evaluate pages``)."""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path

import pages
import pytest

OWN = {page.name: page for page in pages.own()}


def test_the_set_has_pages_of_every_form_and_no_label_is_seen_by_a_reader() -> None:
    assert len(OWN) >= 40
    assert {Path(page.file).suffix for page in OWN.values()} == {".html", ".mhtml"}
    assert not any("⟦".encode() in page.data for page in OWN.values())
    assert all(page.article.strip() for page in OWN.values())


def test_the_articles_are_kept_and_the_furniture_is_dropped(tmp_path: Path) -> None:
    read = [pages.read(page, tmp_path) for page in OWN.values()]
    assert statistics.mean(each.f1 for each in read) >= 0.95
    for field in ("title", "published", "url"):
        assert sum(field in each.wrong for each in read) <= 1, field


@pytest.mark.parametrize(
    ("name", "furniture", "kept"),
    [
        ("forum-lathe", "Measure twice, swear once", "two skate wheels"),
        ("qa-foreign-keys", "Down vote", "audit trigger"),
        ("forum-backup", "Restore hangs", "the switch goes before the name"),
        ("blog-short", "Share this", "washer cut from a milk bottle"),
        ("news-german", "Accept all", "Bürgermeisterin Antje Holm"),
        ("thread-tables", "reply", "binary search over the blocks"),
    ],
)
def test_threads_short_pages_and_archives(
    name: str, furniture: str, kept: str, tmp_path: Path
) -> None:
    page = OWN[name]
    path = tmp_path / f"page{Path(page.file).suffix}"
    path.write_bytes(page.data)
    text = pages.extract(path, page.file).text
    assert kept in text
    assert furniture not in text


def test_a_label_beside_a_page_is_what_it_is_compared_with(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(OWN["essay-plain"].data)
    (tmp_path / "a.txt").write_text(OWN["essay-plain"].article, "utf-8")
    (tmp_path / "unlabelled.html").write_text("<p>x</p>", "utf-8")
    (found,) = pages.of_set(tmp_path)
    assert pages.read(found, tmp_path).f1 > 0.95


def test_pages_of_several_types_are_measured_by_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("html", "ground-truth"):
        (tmp_path / folder).mkdir()
    page = OWN["essay-plain"]
    for number, named in enumerate(("forum", {"primary": "product"}, None)):
        stated = {
            "_internal": {"page_type": named} if named else None,
            "ground_truth": {"main_content": page.article if named else "something else"},
        }
        (tmp_path / "ground-truth" / f"{number}.json").write_text(json.dumps(stated), "utf-8")
        (tmp_path / "html" / f"{number}.html.gz").write_bytes(gzip.compress(page.data))
    monkeypatch.setattr("sys.argv", ["pages", "--set", str(tmp_path)])
    assert pages.main() == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in told[:3]] == [
        ["article", "1"], ["forum", "1"], ["product", "1"]
    ]  # fmt: skip
    assert float(told[0].split()[3]) < 0.1
    assert float(told[1].split()[3]) > 0.95
    assert told[3].startswith("3 pages: mean F1 ")


def test_words_that_are_missing_or_too_many_lower_the_figures(tmp_path: Path) -> None:
    page = OWN["essay-plain"]
    doubled = pages.SavedPage(page.name, page.file, page.data, page.article * 2, {})
    read = pages.read(doubled, tmp_path)
    assert read.recall < 0.6 < read.precision
