"""The listing of related records."""

from __future__ import annotations

from datetime import UTC, datetime

from mem_search.features.graph.http import render_related
from mem_search.model import Kind, Record, Ref
from mem_search.records.registry import installed_kinds
from mem_search.renderers import DisplayOptions

DISPLAY = DisplayOptions(kinds=installed_kinds().get, tz=UTC, now=datetime(2026, 6, 1, tzinfo=UTC))


def record(number: int, title: str, kind: Kind = "note") -> Record:
    return Record(number, kind, "s", str(number), title, "text", 1_767_700_000_000, 0)


def test_each_line_says_how_it_leads_back_to_the_record() -> None:
    near, far = record(2, "Near"), record(3, "Far", "email")
    edges = [
        (near.ref, Ref("note", 1), "same_file"),
        (near.ref, Ref("note", 1), "mentions"),
        (near.ref, Ref("note", 1), "follows"),
        (near.ref, far.ref, "cites\x1b[2J"),
    ]
    assert render_related(record(1, "Centre"), [(near, 1), (far, 2)], edges, DISPLAY) == (
        "Found 2 record(s) related to 📝 Note #1 - Centre\n\n"
        "### 1 step away\n"
        "📝 Note #2 - Near (Jan 6, 11:46 AM)  <- same file as #1, mentions #1\n\n"
        "### 2 steps away\n"
        "✉️ Email #3 - Far (Jan 6, 11:46 AM)  <- #2 cites it"
    )
