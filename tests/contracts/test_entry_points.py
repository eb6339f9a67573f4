"""Packages of third parties add kinds and sources; built-in ones cannot be replaced."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer
from pydantic import ValidationError

from mem_search import sources
from mem_search.cli.app import main
from mem_search.errors import InputError
from mem_search.http import mounts
from mem_search.http.core.app import build_app
from mem_search.http.core.lifecycle import LIFECYCLE
from mem_search.model import Ref
from mem_search.model.kind_codes import KIND_CODES
from mem_search.records.registry import ENTRY_POINTS, installed_kinds
from mem_search.sources.jsonl.exchange import ExchangeRecord
from runtimes import small

SOURCE = """
from mem_search.sources.base import BaseSource

class Sketches(BaseSource):
    name = "sketch"

    def read(self, location, cursor):
        return iter(())

class Rival(Sketches):
    name = "git"

class Bare:
    name = "sketch"

new = Sketches()
"""
KIND = """
from mem_search.records.base import BaseKind, Metadata

class Sketch(BaseKind[Metadata]):
    name = "sketch"
    plural = "sketches"
    label = "Sketch"
    sign = "S"
    model = Metadata
    chat = True

class Rival(Sketch):
    name = "observation"

class Copy(Sketch):
    plural = "notes"

class Spaced(Sketch):
    name = "my sketch"

class Bare:
    name = "sketch"
    plural = "sketches"

new = Sketch()
"""


@pytest.fixture(autouse=True)
def their_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("their_module", None)
    installed_kinds.cache_clear()
    sources.third_party.cache_clear()
    mounts.installed.cache_clear()


def install(folder: Path, group: str, entry: str, module: str) -> None:
    (folder / "their_module.py").write_text(module)
    info = folder / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
    installed_kinds.cache_clear()
    sources.third_party.cache_clear()
    mounts.installed.cache_clear()


@pytest.mark.parametrize("named", ["new", "Sketch"])
def test_a_kind_of_a_package_is_known_by_its_words(named: str, tmp_path: Path) -> None:
    install(tmp_path, ENTRY_POINTS, f"sketches = their_module:{named}", KIND)
    kinds = installed_kinds()
    assert kinds.require("sketch").plural == "sketches"
    assert kinds.named("Sketches") == "sketch"
    assert kinds.names[-1] == "sketch"
    assert "sketch" in kinds.ranking.chat
    assert KIND_CODES.name(KIND_CODES.code("sketch")) == "sketch"


@pytest.mark.parametrize(
    ("module", "named", "reason"),
    [
        ("1 / 0", "new", "division by zero"),
        (KIND, "missing", "has no attribute 'missing'"),
        (KIND, "Rival", "the kind observation has this name or plural already"),
        (KIND, "Copy", "the kind note has this name or plural already"),
        (KIND, "Spaced", "'my sketch' is not lower-case letters, digits and _"),
        (KIND, "Bare", "has no label, aliases, "),
        (KIND, "new", "name the entry point 'sketches'"),
    ],
)
def test_a_kind_that_cannot_be_used_is_left_out_and_named(
    module: str, named: str, reason: str, tmp_path: Path
) -> None:
    before = installed_kinds().names
    install(tmp_path, ENTRY_POINTS, f"bad = their_module:{named}", module)
    kinds = installed_kinds()
    assert kinds.names == before
    assert type(kinds.require("observation")).__name__ == "Observation"
    (broken,) = kinds.broken
    assert broken.entry_point == "bad"
    assert reason in broken.reason
    with pytest.raises(InputError, match="entry point 'bad' cannot be loaded"):
        kinds.require("sketch")
    with pytest.raises(InputError, match="entry point 'bad' cannot be loaded"):
        kinds.check(Ref("sketch", 1), "ref")
    with pytest.raises(ValidationError, match="entry point 'bad' cannot be loaded"):
        ExchangeRecord.model_validate({"kind": "sketch", "text": "a line"})
    assert kinds.meant_by("Bad") == broken


async def test_whoever_asks_for_a_kind_that_is_left_out_is_told_what_mends_it(
    tmp_path: Path,
) -> None:
    install(tmp_path, ENTRY_POINTS, "sketch = their_module:new", KIND)
    settings = small(tmp_path / "home")
    app = build_app(settings)
    paths = (
        "/api/search/sketch", "/api/search?query=a&kind=sketches", "/api/stats",
        "/api/search?query=a+kind:sketches&format=json",
    )  # fmt: skip
    async with TestClient(TestServer(app)) as client:
        await app[LIFECYCLE].ready()
        route, parameter, stats, field = [await (await client.get(path)).json() for path in paths]
    (note,) = field["search"]["notices"]
    for told in (route["detail"], parameter["detail"], stats["broken_plugins"][0], note):
        assert "entry point 'sketch' cannot be loaded" in told
        assert "name the entry point 'sketches'" in told
        assert "correct its package" in told


def test_the_command_line_tells_why_a_kind_has_no_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, ENTRY_POINTS, "sketch = their_module:new", KIND)
    assert main(["sketches", "boat"]) == 2
    assert "name the entry point 'sketches'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("named", ["new", "Sketches"])
def test_a_source_of_a_package_is_found_by_its_name(named: str, tmp_path: Path) -> None:
    install(tmp_path, sources.ENTRY_POINTS, f"x = their_module:{named}", SOURCE)
    assert sources.by_name("sketch").name == "sketch"
    assert [source.name for source in sources.installed()][-1] == "sketch"


@pytest.mark.parametrize(
    ("module", "named", "reason"),
    [
        ("1 / 0", "new", "division by zero"),
        (SOURCE, "missing", "has no attribute 'missing'"),
        (SOURCE, "Rival", "there is a source git already"),
        (SOURCE, "Bare", "it has no follows, discover, locate, read; derive it from BaseSource"),
    ],
)
def test_a_source_that_cannot_be_used_is_left_out_and_named(
    module: str, named: str, reason: str, tmp_path: Path
) -> None:
    install(tmp_path, sources.ENTRY_POINTS, f"bad = their_module:{named}", module)
    assert sources.installed() == sources.built_in()
    with pytest.raises(InputError, match="entry point 'bad' cannot be loaded") as refused:
        sources.by_name("sketch")
    assert reason in refused.value.message
    (told,) = sources.broken()  # which /api/stats and the doctor name
    assert reason in told
    assert "correct its package" in told
    for asked in (("a.tickets",), ("a.tickets", "sketch")):
        with pytest.raises(InputError, match="entry point 'bad' cannot be loaded"):
            sources.for_file(*asked)


async def test_who_misses_a_route_of_a_package_is_told_where_the_reason_is(tmp_path: Path) -> None:
    install(tmp_path, mounts.ENTRY_POINTS, "desk = their_module:MOUNT", SOURCE)
    async with TestClient(TestServer(build_app(small(tmp_path / "home")))) as client:
        told = (await (await client.get("/api/desk")).json())["detail"]
    assert "no such route" in told
    assert "routes of a package are left out; mem-search doctor says which" in told
    assert "their_module" not in told  # nobody was asked for a token


async def test_a_group_that_nothing_reads_is_named(tmp_path: Path) -> None:
    install(tmp_path, "mem_search.kinds", "sketches = their_module:new", KIND)
    app = build_app(small(tmp_path / "home"))
    async with TestClient(TestServer(app)) as client:
        await app[LIFECYCLE].ready()
        (told,) = (await (await client.get("/api/stats")).json())["broken_plugins"]
        text = await (await client.get("/api/stats", headers={"Accept": "text/plain"})).text()
    assert "mem_search.kinds entry point 'sketches' is not read" in told
    assert "choose one of mem_search.records, mem_search.sources" in told
    assert f"left out: {told}" in text
