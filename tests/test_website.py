"""The site of the documents builds without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # what Sphinx and its parts say of each other

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "documentation"))

from website import SECTIONS, build  # noqa: E402

LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*(?:src|href)=["'](?:https?:)?//[^"']+""")


def test_the_site_builds_without_a_warning_and_its_pages_load_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    assert build(tmp_path) == []
    pages = [page for page in tmp_path.rglob("*.html") if "_static" not in page.parts]
    assert len(pages) > 80
    assert [page for page in pages if LOADED.search(page.read_text("utf-8"))] == []
    index = (tmp_path / "searchindex.js").read_text("utf-8")
    assert "docs/cookbook" in index
    assert "docs/adr/0001-sqlite-is-the-truth" in index


def test_a_broken_link_and_a_missing_page_are_told(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for folder in ("adr", "contracts", "agents"):
        (tmp_path / "docs" / folder).mkdir()
    (tmp_path / "README.md").write_text("# Home\n\n[a](docs/guide.md#gone) [b](docs/lost.md)\n")
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\n## Here\n\n[home](../README.md)\n")
    told = "\n".join(build(tmp_path / "site", tmp_path))
    assert "'gone'" in told
    assert "docs/lost.md" in told
    assert "docs/getting-started" in told
    assert "docs/guide.md" not in told
    assert "getting-started" in SECTIONS["Begin"]
