"""Resolve both locks for systems that are not at hand, and say what has no wheel there.

Nothing is installed and no package is downloaded. Of each package the index's list of files is read
(PEP 691), and of each locked version the metadata: beside one of its wheels (PEP 658), or where the
index has none, by ranges of that wheel. All wheels of a version require the same, as resolvers
suppose. A wheel counts when its tags fit (PEP 425, 600, 656) and the lock has its hash. What a
package requires has to be in the lock, in a version that it accepts. The index is that of pip.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

from packaging.metadata import RawMetadata, parse_email
from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = ROOT / "docs" / "lab" / "platforms.md"
LOCKS: Final = ("requirements.lock", "requirements-dev.lock")
PYTHONS: Final = ((3, 11), (3, 12), (3, 13), (3, 14))
_BLOCK: Final = re.compile(r"(?<=<!-- wheels -->\n).*?(?=<!-- /wheels -->)", re.DOTALL)
_JSON: Final = "application/vnd.pypi.simple.v1+json"
_METADATA: Final = re.compile(r"[^/]+\.dist-info/METADATA")
_SECONDS: Final = 60
_ALIASES: Final = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}

Version = tuple[int, int]
"""Of Python, or of what a wheel asks of the system: macOS 11.0, glibc 2.17, musl 1.2."""


class Unresolved(Exception):
    """The index cannot be read, or a lock does not hold what a package requires."""


@dataclass(frozen=True, slots=True)
class System:
    """A kind of machine. ``tag`` matches the platform of a wheel, and gives what that asks."""

    name: str
    platform: str
    machine: str
    library: str
    tag: re.Pattern[str]

    def asked(self, platform: str) -> Version | None:
        """What a wheel for ``platform`` asks of this system; None when it is not for it."""
        if platform == "any":
            return (0, 0)
        if found := self.tag.fullmatch(platform):
            major, minor = found["major"], found["minor"]
            return (int(major), int(minor)) if major else _ALIASES[found["alias"]]
        return None

    def environment(self, python: Version) -> dict[str, str]:
        """The values of markers (PEP 508), with a late patch of this Python."""
        full = f"{python[0]}.{python[1]}.10"
        return {
            "implementation_name": "cpython", "implementation_version": full, "os_name": "posix",
            "platform_machine": self.machine, "platform_python_implementation": "CPython",
            "platform_release": "", "platform_system": self.platform.title(),
            "platform_version": "", "python_full_version": full,
            "python_version": f"{python[0]}.{python[1]}", "sys_platform": self.platform,
        }  # fmt: skip


def _system(name: str, platform: str, machine: str, library: str, tag: str) -> System:
    return System(name, platform, machine, library, re.compile(tag))


_MACOS: Final = r"macosx_(?P<major>\d+)_(?P<minor>\d+)_"
_GLIBC: Final = r"(?:manylinux_(?P<major>\d+)_(?P<minor>\d+)|(?P<alias>manylinux(?:1|2010|2014)))_"
_MUSL: Final = r"musllinux_(?P<major>\d+)_(?P<minor>\d+)_"
SYSTEMS: Final = (
    _system("macOS, arm64", "darwin", "arm64", "macOS", _MACOS + "(?:arm64|universal2)"),
    _system("macOS, x86-64", "darwin", "x86_64", "macOS", _MACOS + "(?:x86_64|universal2|intel)"),
    _system("Linux, arm64", "linux", "aarch64", "glibc", _GLIBC + "aarch64"),
    _system("Linux, x86-64", "linux", "x86_64", "glibc", _GLIBC + "x86_64"),
    _system("Linux with musl, arm64", "linux", "aarch64", "musl", _MUSL + "aarch64"),
    _system("Linux with musl, x86-64", "linux", "x86_64", "musl", _MUSL + "x86_64"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Locked:
    """One entry of a lock."""

    requirement: Requirement
    hashes: frozenset[str]

    @property
    def name(self) -> str:
        """As indexes spell it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """The one version that is locked."""
        (pinned,) = self.requirement.specifier
        return pinned.version

    def applies(self, environment: Mapping[str, str]) -> bool:
        """Whether the lock has it installed there."""
        marker = self.requirement.marker
        return marker is None or marker.evaluate(dict(environment))


def entries(lock: str) -> Iterator[Locked]:
    """What a lock has."""
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        if "==" in entry:
            text, *hashes = re.split(r"\s*\\\n\s*--hash=sha256:", entry)
            yield Locked(Requirement(text), frozenset(hashes))


@dataclass(frozen=True, slots=True)
class Chosen:
    """The wheel that a system takes, and what it asks; without one ``file`` is None."""

    locked: Locked
    file: Mapping[str, Any] | None
    asks: Version = (0, 0)


def choose(
    locked: Locked, files: Iterable[Mapping[str, Any]], system: System, python: Version
) -> Chosen:
    """Of the wheels that fit, the one that asks least of the system."""
    fitting = [
        (asked, file["filename"], file)
        for file in files
        if file["hashes"].get("sha256") in locked.hashes and file["filename"].endswith(".whl")
        if (asked := _asked(file["filename"], system, python)) is not None
    ]
    if not fitting:
        return Chosen(locked, None)
    asks, _, file = min(fitting, key=lambda found: found[:2])
    return Chosen(locked, file, asks)


def _asked(filename: str, system: System, python: Version) -> Version | None:
    """The least that a wheel asks of this system; None where it cannot be installed."""
    return min(
        (
            asked
            for tag in parse_wheel_filename(filename)[3]
            if (tag.interpreter, tag.abi) in _abis(python)
            and (asked := system.asked(tag.platform)) is not None
        ),
        default=None,
    )


@cache
def _abis(python: Version) -> frozenset[tuple[str, str]]:
    """Interpreter and ABI of the tags that this Python takes, whatever the platform."""
    own = f"cp{python[0]}{python[1]}"
    tags = (*cpython_tags(python, [own], ["any"]), *compatible_tags(python, own, ["any"]))
    return frozenset((tag.interpreter, tag.abi) for tag in tags)


def unmet(
    roots: Iterable[Requirement],
    chosen: Mapping[str, Chosen],
    overrides: Mapping[str, Requirement],
    environment: dict[str, str],
    metadata: Mapping[tuple[str, str], RawMetadata],
) -> Iterator[str]:
    """What the lock lacks, from the roots on: a sentence each."""
    waiting = [("mem-search", each) for each in roots]
    seen: set[tuple[str, str]] = set()
    while waiting:
        by, asked = waiting.pop()
        name = canonicalize_name(asked.name)
        asked = overrides.get(name, asked)
        if asked.marker and not asked.marker.evaluate(environment):
            continue
        found = chosen.get(name)
        if found is None or not asked.specifier.contains(found.locked.version, prereleases=True):
            has = found.locked.version if found else "nothing"
            yield f"{by} requires {name}{asked.specifier}, and the lock has {has}"
            continue
        new = {(name, extra) for extra in ("", *asked.extras)} - seen
        seen |= new
        said = metadata[name, found.locked.version]
        if not new:
            continue
        if not _accepts(said, environment):
            yield f"{name} {found.locked.version} requires Python {said.get('requires_python')}"
        for text, (_, extra) in product(said.get("requires_dist", []), sorted(new)):
            required = Requirement(text)
            marker = required.marker
            if marker and not marker.evaluate({**environment, "extra": extra}):
                continue
            required.marker = None
            if marker or not extra:  # what no marker limits is required once
                waiting.append((name, required))


def _accepts(said: RawMetadata, environment: Mapping[str, str]) -> bool:
    asked = Requirement(f"python{said.get('requires_python', '')}").specifier
    return asked.contains(environment["python_full_version"])


class Index:
    """The package index that pip uses."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self.files = cache(self._files)

    @classmethod
    def of_pip(cls) -> Index:
        """That of the variable or, with its configuration, of pip's own help."""
        command = [sys.executable, "-m", "pip", "install", "--help"]
        wide = {**os.environ, "COLUMNS": "1000"}
        said = subprocess.run(command, check=True, capture_output=True, text=True, env=wide).stdout
        found = re.search(r"-i, --\S+ <url>.*?\(default (\S+?)\)", said)
        url = os.environ.get("PIP_INDEX_URL") or (found[1] if found else "")
        if not url:
            raise Unresolved("pip names no index; set PIP_INDEX_URL")
        return cls(url)

    def _files(self, name: str) -> list[dict[str, Any]]:
        """All files of a package."""
        text = self._read(f"{self._url}/{name}/", _JSON)
        try:
            files: list[dict[str, Any]] = json.loads(text)["files"]
        except ValueError as error:
            raise Unresolved(f"{self._url} has no JSON of {name} (PEP 691)") from error
        base = f"{self._url}/{name}/"
        return [{**each, "url": urllib.parse.urljoin(base, each["url"])} for each in files]

    def metadata(self, locked: Locked) -> RawMetadata:
        """What a locked version says of itself; nothing where it has no wheel."""
        wheels = [
            file
            for file in self.files(locked.name)
            if file["hashes"].get("sha256") in locked.hashes and file["filename"].endswith(".whl")
        ]
        if not wheels:
            return {}
        wheel = min(wheels, key=lambda file: file["size"])
        if wheel.get("core-metadata"):
            return parse_email(self._read(f"{wheel['url']}.metadata", "*/*"))[0]
        with zipfile.ZipFile(io.BufferedReader(_Ranges(wheel["url"], wheel["size"]))) as opened:
            (name,) = (each for each in opened.namelist() if _METADATA.fullmatch(each))
            return parse_email(opened.read(name))[0]

    @staticmethod
    def _read(url: str, accepted: str) -> bytes:
        return _fetched(url, {"Accept": accepted})


class _Ranges(io.RawIOBase):
    """A file on a server, of which only what is read is fetched (RFC 9110 14)."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._at = url, size, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        found = _fetched(self._url, {"Range": f"bytes={self._at}-{end - 1}"}, 206)
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)


def _fetched(url: str, headers: Mapping[str, str], status: int = 200) -> bytes:
    try:
        asked = urllib.request.Request(url, headers=dict(headers))
        with urllib.request.urlopen(asked, timeout=_SECONDS) as reply:
            if reply.status != status:  # without ranges it would be the whole wheel
                raise Unresolved(f"{url} was answered with {reply.status}, not {status}")
            text: bytes = reply.read()
            return text
    except (urllib.error.URLError, TimeoutError) as error:
        raise Unresolved(f"{url}: {error}") from error


def resolved(root: Path, index: Index) -> Iterator[tuple[System, Version, list[Chosen], list[str]]]:
    """For each system and Python: what both locks install, and what they lack there."""
    locks = [list(entries((root / lock).read_text("utf-8"))) for lock in LOCKS]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    groups = project["dependency-groups"]
    texts = (*project["project"]["dependencies"], *groups["build"], *groups["dev"])
    roots = [Requirement(text) for text in texts if isinstance(text, str)]
    written = (Requirement(text) for text in project["tool"]["uv"]["override-dependencies"])
    overrides = {canonicalize_name(each.name): each for each in written}
    every = [each for lock in locks for each in lock]
    with ThreadPoolExecutor(8) as readers:  # the index answers them beside each other
        said = dict(zip(every, readers.map(index.metadata, every), strict=True))
    metadata = {(each.name, each.version): found for each, found in said.items()}
    for system, python in product(SYSTEMS, PYTHONS):
        environment = system.environment(python)
        chosen = [
            choose(each, index.files(each.name), system, python)
            for each in every
            if each.applies(environment)
        ]
        by_name = {each.locked.name: each for each in chosen}
        told = unmet(roots, by_name, overrides, environment, metadata)
        yield system, python, chosen, list(told)


def digest(root: Path) -> str:
    """Of which locks the table is."""
    both = b"".join((root / lock).read_bytes() for lock in LOCKS)
    return hashlib.sha256(both).hexdigest()[:12]


def table(root: Path, index: Index) -> str:
    """The block of the lab's page. Raises Unresolved where a lock does not hold."""
    run = {each.name for each in entries((root / LOCKS[0]).read_text("utf-8"))}
    rows: dict[str, list[str]] = {}
    lacking: dict[tuple[str, str], dict[str, list[str]]] = {}
    for system, python, chosen, told in resolved(root, index):
        where = f"{python[0]}.{python[1]}"
        if told:
            raise Unresolved(f"{system.name}, Python {where}: {'; '.join(told)}")
        of_run = [each for each in chosen if each.locked.name in run]
        need = max(of_run, key=lambda each: each.asks)
        number = ".".join(map(str, need.asks)).removesuffix(".0")
        with_wheel = sum(each.file is not None for each in of_run)
        rows.setdefault(system.name, []).append(
            f"{with_wheel} of {len(of_run)}, {system.library} {number} ({need.locked.name})"
        )
        for each in chosen:
            if each.file is None:
                key = (each.locked.name, "run" if each.locked.name in run else "development")
                lacking.setdefault(key, {}).setdefault(system.name, []).append(where)
    pythons = [f"{major}.{minor}" for major, minor in PYTHONS]
    lines = [
        f"Of the locks `{digest(root)}`; in brackets what asks most of the system:", "",
        f"| wheels to run it | {' | '.join(pythons)} |", "|---" * (1 + len(pythons)) + "|",
        *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()), "",
        "| without a wheel | for | where |", "|---|---|---|",
    ]  # fmt: skip
    for (name, purpose), places in sorted(
        lacking.items(), key=lambda row: (row[0][1] != "run", row)
    ):
        where = "; ".join(
            place if len(found) == len(PYTHONS) else f"{place}: {', '.join(found)}"
            for place, found in places.items()
        )
        everywhere = len(places) == len(SYSTEMS) and ":" not in where
        lines.append(f"| {name} | {purpose} | {'everywhere' if everywhere else where} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table into the page, and show it."""
    try:
        made = table(ROOT, Index.of_pip())
    except Unresolved as error:
        sys.exit(str(error))
    TABLE.write_text(_BLOCK.sub(lambda _: made, TABLE.read_text("utf-8")), "utf-8")
    sys.stdout.write(made)


if __name__ == "__main__":
    main()
