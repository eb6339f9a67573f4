"""What ``scripts/lock --wheels`` says of systems that are not at hand, from an index of ours."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement

from local_server import Handler, Server, running

ROOT = Path(__file__).parents[1]


def load() -> ModuleType:
    spec = spec_from_file_location("wheels", ROOT / "scripts" / "releasing" / "wheels.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["wheels"] = module_from_spec(spec)  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


wheels = load()
MAC, INTEL, LINUX, GLIBC, MUSL, _ = wheels.SYSTEMS


def wheel(name: str, version: str, *required: str, ballast: int = 0) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("module.py", bytes(ballast))
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        text += "".join(f"Requires-Dist: {each}\n" for each in required)
        archive.writestr(f"{name}-{version}.dist-info/METADATA", text + "Requires-Python: >=3.11\n")
    return made.getvalue()


class Served:
    """An index with files of ``name: bytes``; ``sent`` counts the bytes of bodies."""

    def __init__(self, files: dict[str, bytes], beside: bool) -> None:
        self.files, self.beside, self.sent, self.ranges = files, beside, 0, True
        served = self

        class Answering(Handler):
            def do_GET(self) -> None:
                status, body = served.answer(self.path, self.headers.get("Range", ""))
                served.sent += len(body)
                self.reply(body, status)

        self.server = Server(Answering)
        self.url = f"{self.server.url}/simple"

    def answer(self, path: str, ranges: str) -> tuple[int, bytes]:
        name = path.rpartition("/")[2]
        if path.endswith("/"):
            return 200, json.dumps({"files": self.listed(path.split("/")[-2])}).encode()
        if self.beside and name.endswith(".metadata"):
            with zipfile.ZipFile(io.BytesIO(self.files[name.removesuffix(".metadata")])) as archive:
                return 200, archive.read(archive.namelist()[1])
        if ranges and self.ranges:
            begin, end = ranges.removeprefix("bytes=").split("-")
            return 206, self.files[name][int(begin) : int(end) + 1]
        return (200, self.files[name]) if name in self.files else (404, b"")

    def listed(self, package: str) -> list[dict[str, Any]]:
        return [
            {
                "filename": name, "url": f"../../files/{name}", "size": len(content),
                "hashes": {"sha256": hashlib.sha256(content).hexdigest()},
                "core-metadata": self.beside,
            }
            for name, content in self.files.items()
            if name.startswith(f"{package}-")
        ]  # fmt: skip


@pytest.fixture(params=[True, False], ids=["metadata beside", "ranges"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    bb = wheel("bb", "2.0", "cc; extra == 'fast'")
    files = {
        "aa-1.0-py3-none-any.whl": wheel("aa", "1.0", "bb[fast]>=2", ballast=10**6),
        "bb-2.0-cp311-cp311-macosx_14_0_arm64.whl": bb,
        "bb-2.0-cp311-cp311-manylinux2014_aarch64.manylinux_2_17_aarch64.whl": bb,
        "bb-2.0.tar.gz": b"source",
        "cc-3.0-py3-none-any.whl": wheel("cc", "3.0", "dd; sys_platform == 'win32'"),
    }
    made = Served(files, request.param)
    with running(made.server):
        yield made


def project(root: Path, served: Served, names: tuple[str, ...] = ("aa", "bb", "cc")) -> Path:
    text = '[project]\ndependencies = ["aa>=1"]\n[dependency-groups]\nbuild = []\ndev = []\n'
    (root / "pyproject.toml").write_text(text + "[tool.uv]\noverride-dependencies = []\n")
    versions = {"aa": "1.0", "bb": "2.0", "cc": "3.0"}
    lock = ""
    for name in names:
        lock += f"{name}=={versions[name]}"
        for each in served.listed(name):
            lock += f" \\\n    --hash=sha256:{each['hashes']['sha256']}"
        lock += "\n"
    (root / "requirements.lock").write_text(lock)
    (root / "requirements-dev.lock").write_text("")
    return root


@pytest.mark.parametrize(
    ("filename", "system", "python", "asks"),
    [
        ("p-1-py3-none-any.whl", MUSL, (3, 14), (0, 0)),
        ("p-1-cp312-cp312-macosx_11_0_arm64.whl", MAC, (3, 12), (11, 0)),
        ("p-1-cp312-cp312-macosx_11_0_arm64.whl", MAC, (3, 13), None),
        ("p-1-cp312-cp312-macosx_11_0_arm64.whl", INTEL, (3, 12), None),
        ("p-1-cp39-abi3-macosx_10_12_universal2.whl", INTEL, (3, 14), (10, 12)),
        ("p-1-cp314-cp314t-macosx_11_0_arm64.whl", MAC, (3, 14), None),  # without the lock
        ("p-1-cp311-cp311-manylinux2014_aarch64.whl", LINUX, (3, 11), (2, 17)),
        ("p-1-cp311-cp311-manylinux_2_28_x86_64.manylinux1_x86_64.whl", GLIBC, (3, 11), (2, 5)),
        ("p-1-cp311-cp311-manylinux_2_28_aarch64.whl", MUSL, (3, 11), None),
        ("p-1-cp311-cp311-musllinux_1_2_aarch64.whl", MUSL, (3, 11), (1, 2)),
        ("p-1-cp311-cp311-win_arm64.whl", MAC, (3, 11), None),
    ],
)  # fmt: skip
def test_a_wheel_counts_where_its_tags_fit(
    filename: str, system: Any, python: tuple[int, int], asks: tuple[int, int] | None
) -> None:
    locked = wheels.Locked(Requirement("p==1"), frozenset({"known"}))
    file = {"filename": filename, "hashes": {"sha256": "known"}}
    chosen = wheels.choose(locked, [file], system, python)
    assert (chosen.asks if chosen.file else None) == asks
    other = {"filename": filename, "hashes": {"sha256": "of a file that came later"}}
    assert wheels.choose(locked, [other], system, python).file is None


def test_the_table_says_what_each_system_lacks_and_what_asks_most_of_it(
    served: Served, tmp_path: Path
) -> None:
    made = wheels.table(project(tmp_path, served), wheels.Index(served.url))
    table, lacking = re.split(r"\n\n(?=\| without)", made.partition("\n\n")[2])
    some, none = "3 of 3, {} (bb)", "2 of 3"
    assert table.splitlines()[2].startswith("| macOS, arm64 | " + some.format("macOS 14") + " |")
    assert table.splitlines()[4].startswith(
        "| Linux, arm64 | " + some.format("glibc 2.17") + f" | {none}"
    )
    assert lacking.splitlines()[2:] == [
        "| bb | run | macOS, arm64: 3.12, 3.13, 3.14; macOS, x86-64;"
        " Linux, arm64: 3.12, 3.13, 3.14; Linux, x86-64;"
        " Linux with musl, arm64; Linux with musl, x86-64 |"
    ]
    assert served.sent < 10**6  # the wheel of a megabyte was not fetched


def test_what_an_extra_requires_has_to_be_in_the_lock(served: Served, tmp_path: Path) -> None:
    root = project(tmp_path, served, ("aa", "bb"))
    with pytest.raises(wheels.Unresolved, match="bb requires cc, and the lock has nothing"):
        wheels.table(root, wheels.Index(served.url))


def test_a_server_without_ranges_is_not_asked_for_whole_wheels(
    served: Served, tmp_path: Path
) -> None:
    served.beside = served.ranges = False
    with pytest.raises(wheels.Unresolved, match="was answered with 200, not 206"):
        wheels.table(project(tmp_path, served), wheels.Index(served.url))


@pytest.mark.worker  # it runs pip
def test_the_index_is_that_of_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    settings = tmp_path / "pip.conf"
    settings.write_text("[global]\nindex-url = https://packages.example/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    assert wheels.Index.of_pip()._url == "https://packages.example/simple"


def test_the_table_of_the_lab_is_of_these_locks() -> None:
    text = wheels.TABLE.read_text("utf-8")
    assert f"`{wheels.digest(ROOT)}`" in text, "run scripts/lock --wheels"
