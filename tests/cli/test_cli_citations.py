"""``cite`` and exported results, as a user runs them."""

from __future__ import annotations

import csv
import io
import json

from homes import Home

LINES = [
    {
        "kind": "note",
        "source_id": "n1",
        "title": "Token lifetime",
        "text": "Auth tokens expire after an hour.",
        "created_at": "2026-01-02T10:00:00Z",
        "metadata": {"author": "Ada Lovelace"},
    },
    {
        "kind": "website",
        "source_id": "w1",
        "title": "JWT handbook",
        "text": "All about auth.",
        "url": "https://example.org/jwt",
        "created_at": "2026-01-03T10:00:00Z",
    },
    {
        "kind": "email",
        "source_id": "e1",
        "title": "Slow login",
        "text": "Slow since the auth change.",
        "created_at": "2026-01-04T10:00:00Z",
    },
]
NOTE = "Lovelace, A. (2026, January 2). Token lifetime [Note]. mem-search (note:1).\n"


def test_records_are_cited_and_results_become_files(mem: Home) -> None:
    mem.ok("import", "jsonl", "-", given="".join(json.dumps(line) + "\n" for line in LINES))

    assert mem.ok("cite", "note:1") == NOTE
    assert mem.ok("cite", "1", "local:website:2", "--style", "mla") == (
        "Lovelace, Ada. “Token lifetime.” Note. 2 Jan. 2026, mem-search, note:1.\n"
        "“JWT handbook.” example.org, https://example.org/jwt. Accessed 3 Jan. 2026.\n"
    )
    assert "<i>Token lifetime</i>" in mem.ok("cite", "note:1", "--html")
    assert mem.ok("cite", "note:1", "--style", "bibtex").startswith("@misc{note-1,\n")

    missing = mem.run("cite", "note:1", "website:7", "email:9")
    assert (missing.returncode, missing.stdout) == (4, "")
    assert missing.stderr == "mem-search: there is no record website:7, email:9\n"
    assert mem.run("cite", "note:1", "--style", "harvard").returncode == 2
    assert "only apa, mla, chicago" in mem.run("cite", "1", "--style", "ris", "--html").stderr
    assert mem.run("cite", "nonsense").returncode == 2

    rows = list(csv.DictReader(io.StringIO(mem.ok("unified", "auth", "--format", "csv"))))
    assert [row["ref"] for row in rows] == ["email:3", "website:2", "note:1"]
    rows = list(csv.DictReader(io.StringIO(mem.ok("search", "token", "--format=csv", "-n", "9"))))
    assert rows[0]["ref"] == "note:1"
    assert mem.ok("notes", "auth", "--format", "apa") == NOTE
    listed = mem.ok("search", "auth", "--kind", "website", "--format", "markdown")
    assert "[JWT handbook](https://example.org/jwt)" in listed

    first = mem.run("unified", "auth", "--format", "ris", "--limit", "1")
    assert first.returncode == 0
    assert first.stdout.count("TY  - ") == 1
    assert first.stderr == "mem-search: 3 in all; next: --offset 1\n"
    nothing = mem.run("notes", "zzzz", "--format", "csv", "--mode", "keyword")
    assert nothing.returncode == 1
    assert nothing.stdout.startswith("ref,kind,title")
