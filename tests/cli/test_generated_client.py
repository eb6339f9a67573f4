"""A client generated from docs/openapi.json returns typed results from a real worker."""

from __future__ import annotations

import importlib
import json
import py_compile
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from homes import Home
from patience import PATIENCE

pytestmark = pytest.mark.worker

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
PACKAGE = "generated_mem_search_client"
CONFIG = {
    "post_hooks": [],
    # Lines of JSON and a backup are bytes to the generator.
    "content_type_overrides": {
        "application/x-ndjson": "application/octet-stream",
        "application/zip": "application/octet-stream",
    },
}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the generated package, which can be imported."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG), "utf-8")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    done = subprocess.run(
        [*command, "--path", str(DOCUMENT), "--config", str(config), "--output-path", PACKAGE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stdout + done.stderr, done.stdout + done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / PACKAGE


def module(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


def test_a_generated_client_compiles_and_returns_typed_results(client: Path, mem: Home) -> None:
    files = list(client.rglob("*.py"))
    assert len(files) > 200
    for file in files:
        py_compile.compile(str(file), doraise=True)

    record = {
        "kind": "note",
        "source_id": "n1",
        "title": "Token lifetime",
        "text": "Auth tokens expire after an hour.",
        "created_at": "2026-01-02T10:00:00Z",
    }
    mem.ok("import", "jsonl", "-", given=json.dumps(record))
    models = module("models")
    address = f"http://127.0.0.1:{mem.worker()['port']}"
    with module("client").Client(base_url=address) as worker:
        unified = module("api.search.get_api_search_unified")
        json_format = models.GetApiSearchUnifiedFormatType0.JSON
        found = unified.sync(client=worker, query="tokens", format_=json_format)
        assert isinstance(found, models.SearchReply)
        (result,) = found.results
        assert isinstance(result, models.SearchResult)
        assert (result.title, result.created_at) == (
            "Token lifetime",
            datetime(2026, 1, 2, 10, tzinfo=UTC),
        )
        assert isinstance(result.snippet_span, models.SnippetSpan)
        assert isinstance(found.search, models.HowSearched)
        assert all(isinstance(leg, models.SearchLeg) for leg in found.search.legs)

        listing = unified.sync(client=worker, query="tokens")
        assert isinstance(listing, models.SearchListing)
        assert "Token lifetime" in listing.content[0].text

        opened = module("api.records.get_api_records_ref").sync(result.ref, client=worker)
        assert isinstance(opened, models.OpenedRecord)
        assert opened.text == record["text"]

        refused = unified.sync(client=worker, query="tokens", date_start="no date at all")
        assert isinstance(refused, models.Problem)
        assert refused.errors[0].parameter == "dateStart"
