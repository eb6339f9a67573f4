"""Archives of research: reports, searches and saved pages, with what they say of themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mem_search.model import Batch, Draft, Location
from mem_search.sources import by_name, files
from mem_search.sources.files.folder import Seen, walk
from mem_search.text import cites
from mem_search.text.dates import from_iso


def read(name: str, folder: Path, cursor: Mapping[str, Any] | None = None) -> list[Batch]:
    return list(by_name(name).read(Location(name, str(folder), "homes"), cursor or {}))


def drafts(batches: list[Batch]) -> dict[str, Draft]:
    return {Path(d.source_id).name: d for batch in batches for d in batch.drafts}


def ledger(batches: list[Batch]) -> dict[str, tuple[str, str]]:
    return {e.item: (e.outcome, e.reason) for batch in batches for e in batch.ledger}


def write(folder: Path, name: str, content: object) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_reports_and_searches_say_their_question_type_and_date(tmp_path: Path) -> None:
    write(
        tmp_path,
        "rents.md",
        "---\nquery: Why do rents rise?\ndate: 2024-03-02\n---\n# Rents\n\nUp.",
    )
    write(tmp_path, "wages.md", "# Wages\n\n**Query:** Do wages fall?\nDate: 2024-04-05\n\nDown.")
    write(
        tmp_path,
        "search.json",
        {
            "query": "heat pumps",
            "timestamp": "2024-05-06T07:08:09Z",
            "results": [{"title": "Pumps", "url": "https://a.org/p", "snippet": "They pump."}],
        },
    )
    write(
        tmp_path,
        "answer.json",
        {"question": "Is it warm?", "answer": "Yes [1].", "sources": ["https://a.org/warm"]},
    )
    found = drafts(read("research-archive", tmp_path))
    rents, wages, search = found["rents.md"], found["wages.md"], found["search.json"]
    assert {each.kind for each in found.values()} == {"report"}
    assert {each.project for each in found.values()} == {"homes"}
    assert (rents.title, rents.metadata["query"]) == ("Rents", "Why do rents rise?")
    assert (rents.metadata["type"], rents.metadata["archive"]) == ("report", "research")
    assert rents.created_at == from_iso("2024-03-02")
    assert (wages.metadata["query"], wages.created_at) == ("Do wages fall?", from_iso("2024-04-05"))
    assert (search.metadata["type"], search.title) == ("search", "heat pumps")
    assert search.text == "Pumps\nhttps://a.org/p\nThey pump."
    assert found["answer.json"].text == "Yes [1].\n\nReferences\n\n[1] https://a.org/warm"


HTML = """<!doctype html><html><head><title>Rents</title></head><body><main>
<h1>Rents</h1>
<p>Rents rose in <a href="https://a.org/x(1)?y=a b">every <b>single</b> city</a> of the country, and
wages did not follow, as <a href='//b.org/wages'>the office</a> says; see
<a href="#top">above</a>.</p>
<p>That is all there is to say about the matter for now, and it is said in many words here.</p>
<h2>References</h2><ol>
<li><a href="https://c.org/one">One study of many cities</a></li>
<li>Two. <a href="https://d.org/two">https://d.org/two</a></li></ol></main></body></html>"""


def test_a_report_in_html_cites_the_pages_that_it_links_to(tmp_path: Path) -> None:
    write(tmp_path, "rents.html", HTML)
    (report,) = drafts(read("research-archive", tmp_path)).values()
    assert "[every single city](https://a.org/x%281%29?y=a%20b)" in report.text
    assert {place.target for place in cites.find(report.text)} == {
        "https://a.org/x%281%29?y=a%20b",
        "https://b.org/wages",
        "https://c.org/one",
        "https://d.org/two",
    }
    assert "above" in report.text
    assert "#top" not in report.text
    (page,) = drafts(read("files", tmp_path)).values()
    assert "https://a.org" not in page.text  # a page that was saved to be read has its words alone


def test_html_in_json_is_read_as_a_page_and_markdown_with_tags_is_not(tmp_path: Path) -> None:
    entries = '<h2>Sources</h2><ol><li id="s1"><a href="//b.org/wages">Wages</a></li></ol>'
    html = f'<script>let x = 1</script><p>Wages fell <a href="#s1">[1]</a>.</p>{entries}'
    write(tmp_path, "page.json", {"report": html})
    mixed = 'Up <https://a.org/1> where 1 < 2.<br>See <a href="https://a.org/2">two</a>.<br>End'
    write(tmp_path, "mixed.json", {"report": mixed})
    found = drafts(read("research-archive", tmp_path))
    page, text = found["page.json"].text, found["mixed.json"].text
    assert page == "Wages fell [^1].\n\n## Sources\n\n[^1]: [Wages](https://b.org/wages)"
    assert [place.form for place in cites.find(page)] == ["marker", "entry"]
    assert {place.target for place in cites.find(text)} == {
        "https://a.org/1",
        "https://a.org/2",
    }
    assert "where 1 < 2." in text


def test_saved_pages_say_their_address_in_many_ways(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "---\ntitle: A\nurl: https://a.org/a\n---\nText of a.")
    write(
        tmp_path, "b.md", "Title: B\n\nURL Source: https://a.org/b\n\nMarkdown Content:\nText of b."
    )
    write(
        tmp_path,
        "c.json",
        {
            "url": "https://short.org/c",
            "finalUrl": "https://a.org/c",
            "redirects": ["https://t.org/1", {"url": "https://t.org/2"}],
            "title": "C",
            "html": '<p>Text of <a href="https://a.org/d">c</a>.</p><p>More &amp; more.</p>',
        },
    )
    write(
        tmp_path, "d.json", {"markdown": "Text of d.", "metadata": {"sourceURL": "https://a.org/d"}}
    )
    write(tmp_path, "https%3A%2F%2Fa.org%2Fe.txt", "Text of e.")
    write(tmp_path, "f.txt", "Nobody knows where this is from.")
    batches = read("url-archive", tmp_path)
    found = drafts(batches)
    urls = {name: draft.url for name, draft in found.items()}
    assert urls == {
        "a.md": "https://a.org/a",
        "b.md": "https://a.org/b",
        "c.json": "https://short.org/c",
        "d.json": "https://a.org/d",
        "https%3A%2F%2Fa.org%2Fe.txt": "https://a.org/e",
    }
    page = found["c.json"]
    assert (page.kind, page.metadata["type"], page.metadata["archive"]) == (
        "website", "webpage", "url-content",
    )  # fmt: skip
    assert page.metadata["final_url"] == "https://a.org/c"
    assert page.metadata["redirects"] == ["https://t.org/1", "https://t.org/2"]
    assert page.text == "Text of [c](https://a.org/d).\n\nMore & more."
    assert ledger(batches)["f.txt"] == (
        "failed",
        "it does not say which page it is; give it a line URL: https://…",
    )


def test_bad_files_links_and_dates_are_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out.md"
    write(tmp_path, "out.md", "# Out")
    write(folder, "bad.json", "{no json")
    write(folder, "list.json", [1])
    write(folder, "empty.json", {"a": 1})
    write(folder, "dated.md", "# Dated\n\nDate: 2024-13-45\n\nText.")
    (folder / "leaves.md").symlink_to(outside)
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "again").symlink_to(folder)
    lost = Seen("lost.md", "1-1")  # gone, or not to be opened, since the folder was listed
    monkeypatch.setattr(files, "walk", lambda root: [*walk(root), lost])
    batches = read("research-archive", folder)
    said = ledger(batches)
    assert said["bad.json"][0] == said["list.json"][0] == said["empty.json"][0] == "failed"
    assert said["dated.md"] == ("taken", "'2024-13-45' is not a date; the time of the file is used")
    assert said["leaves.md"][0] == said["loop.md"][0] == "left"
    assert said["again"] == ("left", "it is a link to ., which is read under that name")
    assert said["lost.md"] == ("failed", "it cannot be read: No such file or directory")
    assert list(drafts(batches)) == ["dated.md"]


def test_only_what_changed_is_read_and_what_is_gone_is_deleted(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "# A\n\nOne.")
    write(tmp_path, "b.md", "# B\n\nTwo.")
    first = read("research-archive", tmp_path)
    assert read("research-archive", tmp_path, first[-1].cursor) == []
    write(tmp_path, "a.md", "# A\n\nThree.")
    os.utime(tmp_path / "a.md", (1, 1))
    (tmp_path / "b.md").unlink()
    second = read("research-archive", tmp_path, first[-1].cursor)
    assert list(drafts(second)) == ["a.md"]
    assert [gone for batch in second for gone in batch.deletions] == [str(tmp_path / "b.md")]
