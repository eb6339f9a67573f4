"""Packages of third parties add kinds and sources; built-in ones cannot be replaced."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from mem_search import records, sources
from mem_search.errors import MemSearchError

MODULE = """
class Thing:
    def __init__(self, name):
        self.name = name
        self.plural = name + "s"

new = Thing("sketch")
rival = Thing("{built_in}")
"""
FAMILIES = [(records, "observation"), (sources, "git")]


@pytest.fixture(autouse=True)
def their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("their_module", None)
    records.installed.cache_clear()
    sources.installed.cache_clear()


def install(folder: Path, group: str, entry: str, module: str) -> None:
    (folder / "their_module.py").write_text(module)
    info = folder / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
    records.installed.cache_clear()
    sources.installed.cache_clear()


@pytest.mark.parametrize(("family", "built_in"), FAMILIES, ids=["records", "sources"])
class TestFamily:
    def test_takes_in_what_a_package_adds(
        self, family: ModuleType, built_in: str, tmp_path: Path
    ) -> None:
        module = MODULE.replace("{built_in}", built_in)
        install(tmp_path, family.ENTRY_POINTS, "new = their_module:new", module)
        assert family.by_name("sketch").plural == "sketchs"

    def test_keeps_its_own_when_a_package_claims_the_name(
        self, family: ModuleType, built_in: str, tmp_path: Path
    ) -> None:
        module = MODULE.replace("{built_in}", built_in)
        install(tmp_path, family.ENTRY_POINTS, "rival = their_module:rival", module)
        assert type(family.by_name(built_in)).__name__ != "Thing"
        assert [kind.name for kind in family.installed()].count(built_in) == 1

    def test_names_the_entry_point_that_cannot_be_loaded(
        self, family: ModuleType, built_in: str, tmp_path: Path
    ) -> None:
        install(tmp_path, family.ENTRY_POINTS, "bad = their_module:new", "1 / 0")
        with pytest.raises(MemSearchError, match="'bad' cannot be loaded"):
            family.by_name("sketch")
