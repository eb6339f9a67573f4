"""The distributions as somebody without a checkout meets them, and what a release writes.

The wheel is built and installed without a network: its environment borrows our packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from local_server import serving
from mem_search import __version__
from patience import PATIENCE

ROOT = Path(__file__).parents[1]
CHANGELOG = """# Changelog

## [Unreleased]

Becomes 0.1.0.

### Added

- A search.

### For whoever has a development version

- The schema starts anew.
"""


def load() -> ModuleType:
    spec = spec_from_file_location("releasing", ROOT / "scripts" / "releasing" / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


releasing = load()
index = releasing.index


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if not find_spec("hatchling"):
        pytest.skip("hatchling, which builds the wheel, is not installed")
    wheel, sdist = releasing.build(ROOT, tmp_path_factory.mktemp("dist"))
    return wheel, sdist


@pytest.fixture(scope="module")
def command(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``mem-search`` from the wheel, in an environment of its own with the packages of this one."""
    if not find_spec("pip"):
        pytest.skip("pip, which installs the wheel, is not in this environment")
    place = tmp_path_factory.mktemp("installed")
    venv.create(place)
    python = place / "bin" / "python"
    own = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    # A path file that another one names is not read, so the checkout itself stays unknown.
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet",
         "--no-deps", "--no-index", "--ignore-installed", str(built[0])],
        check=True, timeout=PATIENCE,
    )  # fmt: skip
    return place / "bin" / "mem-search"


@pytest.mark.worker
def test_wheel_and_sdist_have_what_an_installation_needs(built: tuple[Path, Path]) -> None:
    releasing.check_files(*built)


@pytest.mark.worker
def test_what_pip_builds_from_the_sdist_has_what_the_wheel_has(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    if not find_spec("pip"):
        pytest.skip("pip is not in this environment")
    releasing.check_sdist(*built, tmp_path, sys.executable, "--no-build-isolation", "--no-index")
    other = tmp_path / "other.whl"
    with zipfile.ZipFile(built[0]) as wheel, zipfile.ZipFile(other, "w") as less:
        for name in wheel.namelist():
            if not name.endswith("/guide.md"):
                less.writestr(name, wheel.read(name) + b"more" * name.endswith("/__main__.py"))
    assert releasing.differing(built[0], other) == [
        "mem_search/__main__.py",
        "mem_search/docs/guide.md",
    ]


@pytest.mark.worker
def test_a_command_that_fails_or_hangs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(releasing.Unfit, match="sh -c echo no >&2; exit 3 failed: no"):
        releasing._run(["/bin/sh", "-c", "echo no >&2; exit 3"], {}, tmp_path)
    monkeypatch.setattr(releasing, "_SECONDS", 0.1)
    with pytest.raises(releasing.Unfit, match="sleep 60 did not end within"):
        releasing._run(["/bin/sleep", "60"], {}, tmp_path)


@pytest.mark.worker
def test_pip_takes_the_version_from_the_index_alone(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    """The files of an index lie as PEP 503 has them; what serves them is of no account."""
    if not find_spec("pip"):
        pytest.skip("pip is not in this environment")
    listed = tmp_path / "index" / "simple" / "mem-search"
    listed.mkdir(parents=True)
    copied = shutil.copy(built[0], listed)
    (listed / "index.html").write_text(f'<a href="{Path(copied).name}">wheel</a>', "utf-8")
    (lock := tmp_path / "none.lock").write_text("", "utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    with serving(handler) as server:
        command = index.installed(
            Path(sys.executable), tmp_path, server.url,
            f"mem-search=={__version__}", lock, releasing._run,
        )  # fmt: skip
    assert os.access(command, os.X_OK)
    assert command.parents[1].parent == tmp_path


@pytest.mark.worker
def test_the_wheel_searches_and_equips_an_agent_without_a_checkout(
    command: Path, tmp_path: Path
) -> None:
    environ = {
        "PATH": os.defpath,
        "HOME": str(tmp_path),
        "MEM_SEARCH_PORT": "0",
        "MEM_SEARCH_EMBEDDER": "hashing",
        "MEM_SEARCH_CHROMA_URL": "off",
    }
    releasing.use(command, environ, tmp_path)
    (plugin,) = command.parents[1].glob("lib/python*/site-packages/mem_search/plugin")
    assert os.access(plugin / "bin" / "mem-search-mcp", os.X_OK)
    server = subprocess.run(
        [plugin / "bin" / "mem-search-mcp"],
        env=environ, input="", capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert server.returncode == 0, server.stderr
    subprocess.run([command, "worker", "stop"], env=environ, check=True, capture_output=True)


def test_a_release_gives_the_changes_their_section_and_leaves_an_empty_one() -> None:
    first = releasing.released(CHANGELOG, "0.1.0", "2026-12-01")
    assert first == (
        "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n\n### Added\n\n- A search.\n"
    )
    changed = first.replace("[Unreleased]\n", "[Unreleased]\n\n- A mend.\n")
    second = releasing.released(changed, "0.1.1", "2026-12-02")
    assert "## [Unreleased]\n\n## [0.1.1] - 2026-12-02\n\n- A mend.\n\n## [0.1.0]" in second


@pytest.mark.parametrize(
    ("version", "reason"),
    [("0.1", "no version"), ("0.1.0; rm", "no version"), ("0.2.0", "nothing under")],
)
def test_what_cannot_be_released_is_refused_before_a_file_changes(
    version: str, reason: str, tmp_path: Path
) -> None:
    before = "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-12-01\n\n- A search.\n"
    (tmp_path / "CHANGELOG.md").write_text(before, "utf-8")
    with pytest.raises(releasing.Unfit, match=reason):
        releasing.write_version(tmp_path, version, "2026-12-02")
    assert (tmp_path / "CHANGELOG.md").read_text("utf-8") == before


def test_a_release_writes_its_version_everywhere(tmp_path: Path) -> None:
    for name, _ in releasing._VERSIONED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    releasing.write_version(tmp_path, "7.8.9rc1", "2026-12-01")
    for name, _ in releasing._VERSIONED:
        assert (tmp_path / name).read_text("utf-8").count("7.8.9rc1") == 1
