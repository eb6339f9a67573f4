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
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent))
import index

ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "mem-search"
VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_UNRELEASED: Final = "## [Unreleased]\n"
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


def ways(wheel: Path, sdist: Path) -> list[tuple[str, Path]]:
    """(installer, distribution) as people install them."""
    return [(by, each) for each in (wheel, sdist) for by in ("pip", "pipx", "uv tool")]


def try_out(installer: str, distribution: Path, place: Path) -> None:
    """Install with an installer of its own, and use it from an empty home. Raises Unfit."""
    environment, home = place / "environment", place / "home"
    home.mkdir()
    venv.create(environment, with_pip=True)
    tools = environment / "bin"
    places = {
        name: str(place / folder)
        for folder, names in (
            ("tools", ("PIPX_HOME", "UV_TOOL_DIR")), ("bin", ("PIPX_BIN_DIR", "UV_TOOL_BIN_DIR")),
            ("cache", ("UV_CACHE_DIR",)),
        )
        for name in names
    }  # fmt: skip
    # The registry of this machine, its certificates and its caches.
    environ = os.environ | places

    def run(*words: str) -> None:
        _run([str(tools / "python"), "-m", *words], environ, place)

    command = place / "bin" / "mem-search"
    if installer == "pip":
        run("pip", "install", "--quiet", str(distribution))
        command = tools / "mem-search"
    else:
        run("pip", "install", "--quiet", installer.split()[0])
        run(*installer.split(), "install", str(distribution))
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
    done = subprocess.run(
        command, env=environ, cwd=place, input=given, capture_output=True, text=True
    )
    if done.returncode:
        raise Unfit(f"{' '.join(command[-3:])} failed: {done.stderr.strip()}")
    return done.stdout


def rehearse(wheel: Path, sdist: Path, *, publish: bool) -> None:
    """Publish both to an index on this machine, and use what is installed from there.

    ``publish``: then to the real one, unless its name is taken. Raises Unfit.
    """
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (packages := place / "packages").mkdir()
        python = index.tools(place / "tools", _run)
        with index.served(python, packages) as address:
            index.upload(python, [wheel, sdist], address, _run)
            command = index.installed(
                place, address, NAME, version, ROOT / "requirements.lock", _run
            )
            index.quickstarted(command, place / "home", _run)
        print(f"{NAME} {version} is published to an index here, installed from it, and answers")
        others = index.taken(NAME, lambda name: index.is_known(python, name))
        if others:
            told = (
                f"the index takes {NAME} for the same name as {', '.join(others)}, which is there"
            )
            if publish:
                raise Unfit(f"{told}; choose another name in pyproject.toml")
            print(f"before publishing: {told}")
        elif publish and index.published(python, [wheel, sdist]):
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
        for installer, distribution in ways(wheel, sdist):
            print(f"{distribution.name}: {installer} …", flush=True)
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as place:
                try_out(installer, distribution, Path(place))
            print(f"  works in a clean environment ({time.monotonic() - began:.0f} s)")
        if flags:
            rehearse(wheel, sdist, publish="--publish" in flags)
    except (Unfit, RuntimeError) as problem:
        print(f"release: {problem}", file=sys.stderr)
        return 1
    if arguments:
        print(f"next: look at the changes, commit them, tag them v{arguments[0]}, and publish:")
        print("  scripts/release --publish")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
