"""Build the two distributions, and check each as somebody who installs it meets it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))
import index

ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "mem-search"
VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_UNRELEASED: Final = "## [Unreleased]\n"
_FOR_DEVELOPMENT: Final = re.compile(
    r"^### For whoever has a development version\n.*?(?=^### |\Z)", re.MULTILINE | re.DOTALL
)
"""What somebody with an unreleased version has to do, which no release has."""
_VERSIONED: Final = (
    ("src/mem_search/__init__.py", r'(?<=__version__ = ")[^"]+'),
    ("plugin/.claude-plugin/plugin.json", r'(?<="version": ")[^"]+'),
    (".claude-plugin/marketplace.json", r'(?<="version": ")[^"]+'),
)
IN_WHEEL: Final = (
    "plugin/skills/mem-search/SKILL.md",
    "plugin/hooks/hooks.json",
    "plugin/bin/hook.py",
    "plugin/bin/mem-search-mcp",
    "plugin/.mcp.json",
    "plugin/.claude-plugin/plugin.json",
    "docs/README.md",
    "docs/guide.md",
)
"""What an installation without a checkout has to have, in the package."""


_ODD: Final = re.compile(r"\.\.|__pycache__|\.(whl|pyc|db|log)$")


_SECONDS: Final = 900
"""For one command; on a busy machine an installation takes minutes."""


class Unfit(Exception):
    """The release is not as it has to be; the text says what is wrong."""


def write_version(root: Path, version: str, day: str) -> None:
    """Write ``version`` where it stands, and give the unreleased changes their section.

    Raises Unfit for what is no version, and where nothing is unreleased.
    """
    if not VERSION.fullmatch(version):
        raise Unfit(f"{version!r} is no version, such as 1.2.0 or 1.2.0rc1")
    changelog = root / "CHANGELOG.md"
    written = {changelog: released(changelog.read_text("utf-8"), version, day)}
    for name, pattern in _VERSIONED:
        text, count = re.subn(pattern, version, (root / name).read_text("utf-8"))
        if count != 1:
            raise Unfit(f"{name} names {count} versions, not one")
        written[root / name] = text
    for file, text in written.items():
        file.write_text(text, "utf-8")


def released(changelog: str, version: str, day: str) -> str:
    """The changelog with what is unreleased under ``version``. Raises Unfit for no changes."""
    before, heading, rest = changelog.partition(_UNRELEASED)
    end = rest.find("\n## [")
    changes, older = (rest, "") if end < 0 else (rest[: end + 1], rest[end + 1 :])
    changes = re.sub(r"^Becomes .*\n+", "", changes.lstrip("\n"))
    changes = _FOR_DEVELOPMENT.sub("", changes)
    if not heading or not changes.strip():
        raise Unfit("CHANGELOG.md has nothing under [Unreleased]")
    if f"## [{version}]" in older:
        raise Unfit(f"CHANGELOG.md has a section [{version}] already")
    section = f"## [{version}] - {day}\n\n{changes.rstrip()}\n"
    return f"{before}{heading}\n{section}" + (f"\n{older}" if older else "")


def build(root: Path, place: Path) -> tuple[Path, Path]:
    """(wheel, sdist) of ``root`` in ``place``; what is there already stays."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(place)]
    _run(command, dict(os.environ), root)
    found = re.search(_VERSIONED[0][1], (root / _VERSIONED[0][0]).read_text("utf-8"))
    name = f"mem_search-{found[0] if found else ''}"
    return place / f"{name}-py3-none-any.whl", place / f"{name}.tar.gz"


def check_files(wheel: Path, sdist: Path) -> None:
    """Raises Unfit unless both have what is needed, and nothing of this machine."""
    with zipfile.ZipFile(wheel) as opened:
        found = set(opened.namelist())
    if missing := [name for name in IN_WHEEL if f"mem_search/{name}" not in found]:
        raise Unfit(f"{wheel.name} lacks {', '.join(missing)}")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files", "src", "plugin", "docs", "tests", "scripts"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")  # fmt: skip
    if missing := [name for name in listed if name and name not in names]:
        raise Unfit(f"{sdist.name} lacks {', '.join(missing[:5])}")
    if odd := [name for name in found | names if _ODD.search(name)]:
        raise Unfit(f"there is no place in a release for {', '.join(odd[:5])}")


def check_sdist(wheel: Path, sdist: Path, place: Path, pip: str, *options: str) -> None:
    """Raises Unfit unless what pip builds from the sdist is, file by file, what the wheel has.

    So whoever installs the sdist has what the wheel installs, and it need not be tried as well.
    ``pip`` is a Python that has it, ``options`` are its options.
    """
    command = [pip, "-m", "pip", "wheel", "--quiet", "--no-deps", *options]
    _run([*command, "--wheel-dir", str(place), str(sdist)], dict(os.environ), place)
    if other := differing(place / wheel.name, wheel):
        raise Unfit(f"{sdist.name} builds another wheel: {', '.join(other[:5])}")


def differing(one: Path, other: Path) -> list[str]:
    """Names of the files that are not the same in both wheels, or are in one alone."""
    contents = []
    for wheel in (one, other):
        with zipfile.ZipFile(wheel) as opened:
            contents.append({(each.filename, each.CRC) for each in opened.infolist()})
    return sorted({name for name, _ in contents[0] ^ contents[1]})


def try_out(installer: str, wheel: Path, place: Path, tools: Path) -> None:
    """Install with the ``installer`` of ``tools``, and use it from an empty home. Raises Unfit."""
    home = place / "home"
    home.mkdir()
    places = {
        name: str(place / folder)
        for folder, names in (
            ("tools", ("PIPX_HOME", "UV_TOOL_DIR")), ("bin", ("PIPX_BIN_DIR", "UV_TOOL_BIN_DIR")),
            ("cache", ("UV_CACHE_DIR",)),
        )
        for name in names
    }  # fmt: skip
    # The registry of this machine, its certificates and its caches. What is tried here is used
    # once, and compiling all of it would take longer than everything else.
    environ = os.environ | places | {"PIP_COMPILE": "0"}
    command, words = place / "bin" / NAME, installer.split()
    if installer == "pip":
        venv.create(place / "environment")
        command = place / "environment" / "bin" / NAME
        words += ["--python", str(command.with_name("python"))]
    _run([str(tools), "-m", *words, "install", str(wheel)], environ, place)
    use(command, {"PATH": os.defpath, "HOME": str(home), "MEM_SEARCH_PORT": "0"}, home)


def use(command: Path, environ: dict[str, str], place: Path) -> None:
    """Store, search, install into an agent and take that back. Raises Unfit."""

    def mem(*words: str, given: str = "") -> str:
        return _run([str(command), *words], environ, place, given)

    if not mem("--version").startswith("mem-search "):
        raise Unfit("mem-search --version says nothing")
    record = {"kind": "note", "source_id": "1", "title": "Harbour", "text": "The bridge opens."}
    try:
        mem("import", "jsonl", "-", given=json.dumps(record))
        if "Harbour" not in mem("search", "bridge"):
            raise Unfit("a record that was imported is not found")
        mem("add", "The ferry leaves at noon.")
        if "ferry" not in mem("search", "ferry"):
            raise Unfit("a note that was added is not found")
        mem("install", "claude-code")
        written = "".join(file.read_text("utf-8") for file in place.glob(".claude*/*.json"))
        if "hook.py" not in written or not (place / ".claude/skills/mem-search/SKILL.md").exists():
            raise Unfit("mem-search install claude-code does not write hooks and skill")
        mem("uninstall", "--data", "--yes")
        if left := [str(file) for file in place.rglob("*") if file.is_file()]:
            raise Unfit(f"mem-search uninstall --data leaves {', '.join(left[:5])}")
    finally:
        mem("worker", "stop")


def _run(command: list[str], environ: dict[str, str], place: Path, given: str = "") -> str:
    called = " ".join([Path(command[0]).name, *command[1:]])
    try:
        done = subprocess.run(
            command, env=environ, cwd=place, input=given, capture_output=True, text=True,
            timeout=_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unfit(f"{called} did not end within {_SECONDS // 60} minutes") from None
    if done.returncode:
        raise Unfit(f"{called} failed: {done.stderr.strip()}")
    return done.stdout


@contextmanager
def _step(what: str) -> Iterator[None]:
    """Say what begins, and how long it took: a step takes up to a minute."""
    print(f"{what} …", flush=True)
    began = time.monotonic()
    yield
    print(f"  done ({time.monotonic() - began:.0f} s)", flush=True)


def rehearse(wheel: Path, sdist: Path, place: Path, tools: Path) -> None:
    """Publish both to an index on this machine, and use what is installed from there.

    Raises Unfit.
    """
    version = wheel.name.split("-")[1]
    (packages := place / "packages").mkdir()
    with index.served(tools, packages) as address:
        with _step("upload to an index of this machine"):
            index.upload(tools, [wheel, sdist], address, _run)
        with _step("pip install from there, with what is locked"):
            lock = ROOT / "requirements.lock"
            command = index.installed(tools, place, address, f"{NAME}=={version}", lock, _run)
    with _step("quickstart in an empty home"):
        index.quickstarted(command, place / "first", _run)
    with _step("add, search, install and uninstall in another"):
        (home := place / "second").mkdir()
        use(command, {"PATH": os.defpath, "HOME": str(home), "MEM_SEARCH_PORT": "0"}, home)
    print(f"{NAME} {version} is published to an index here, installed from it, and answers")


def publish(wheel: Path, sdist: Path, tools: Path, *, really: bool) -> None:
    """Upload both to the real index, or say what would keep it from taking them. Raises Unfit."""
    if others := index.taken(NAME, lambda name: index.is_known(tools, name)):
        told = f"the index takes {NAME} for the same name as {', '.join(others)}, which is there"
        if really:
            raise Unfit(f"{told}; choose another name in pyproject.toml")
        print(f"before publishing: {told}")
    elif really and index.published(tools, [wheel, sdist]):
        raise Unfit("twine did not publish; its message says why")


def main(arguments: list[str]) -> int:
    """Do it all, and say what is left to do by hand."""
    flags = {word for word in arguments if word.startswith("-")}
    arguments = [word for word in arguments if word not in flags]
    if len(arguments) > 1 or flags - {"--rehearse", "--publish"}:
        print("usage: scripts/release [VERSION] [--rehearse] [--publish]", file=sys.stderr)
        return 2
    try:
        if "--publish" in flags and arguments:
            raise Unfit("commit and tag the version first: scripts/release VERSION, then --publish")
        if arguments:
            write_version(ROOT, arguments[0], f"{datetime.now(UTC):%Y-%m-%d}")
        wheel, sdist = build(ROOT, ROOT / "dist")
        check_files(wheel, sdist)
        for distribution in (wheel, sdist):
            print(f"{distribution.name}: {distribution.stat().st_size / 1e6:.1f} MB")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            with _step("installers and an index"):
                tools = index.tools(place / "tools", _run)
            with _step("what pip builds from the sdist"):
                (place / "sdist").mkdir()
                check_sdist(wheel, sdist, place / "sdist", str(tools))
            for installer in ("pip", "pipx", "uv tool"):
                with _step(f"{installer} install, and use"):
                    (own := place / installer.split()[0]).mkdir()
                    try_out(installer, wheel, own, tools)
            if flags:
                rehearse(wheel, sdist, place, tools)
                publish(wheel, sdist, tools, really="--publish" in flags)
    except (Unfit, RuntimeError) as problem:
        print(f"release: {problem}", file=sys.stderr)
        return 1
    if arguments:
        print(f"next: look at the changes, commit them, tag them v{arguments[0]}, and publish:")
        print("  scripts/release --publish")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
