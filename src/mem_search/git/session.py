"""Running ``git``: on a directory of ours, in which a repository has only its objects.

This is in a process with limits of its own, ``process``. Each piece of its work is an ``Opening``,
or None for the next commits of what was opened. A reply that is a text says why there is none.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from mem_search.git.commits import FORMAT, Commit, TooManyFiles, parse
from mem_search.git.places import Place, Refused, link_objects, settings_of
from mem_search.git.references import ORIGIN_HEAD, References
from mem_search.limited_process import limit
from mem_search.platform.processes import end_with_parent
from mem_search.regular_file import FileTooLarge, NotARegularFile, read_regular_file

MAX_GIT_SECONDS: Final = 3600
"""Of processor time, for one run of git. A history of 1.3 million commits needs four minutes."""

MAX_GIT_MEMORY: Final = 2 * 2**30
"""Bytes. Git keeps the whole list of commits that it puts into order: 1 GB for 1.3 million."""

MAX_INCLUDED: Final = 20
"""Files of settings that the user's own include for some folders; people have two or three."""

_INCLUDED: Final = r"^includeif\..*\.path$"

MAX_COMPLAINTS: Final = 2**20
"""Bytes that git writes to a file: only its complaints go into one."""

MAX_TOKEN: Final = 4 * 2**20
"""Bytes of a message; what is longer is cut."""

MAX_MAILMAP_BYTES: Final = 2**20
AT_ONCE: Final = 200
"""Commits of one reply."""

MAX_REPLY: Final = 16 * 2**20
"""Characters of messages after which a reply has no more commits."""

_CHUNK: Final = 1 << 16

MAX_COUNTED_COMMITS: Final = 20_000
"""Of one reading, whose changed lines are counted: git compares contents for that, a millisecond a
commit and more. A first reading of a longer history has the names of files alone."""

_SETTINGS: Final = """\
[core]
bigFileThreshold = 1m
repositoryFormatVersion = 1
bare = true
attributesFile = /dev/null
excludesFile = /dev/null
hooksPath = /dev/null
fsmonitor = false
quotePath = false
[protocol]
allow = never
[mailmap]
blob =
"""
"""The whole configuration that git reads."""

_SETTINGS_OF_USER: Final = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
"""What says where the settings are that the user has made."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What to read: commits of ``references`` that are not below ``tips``.

    ``folder`` is an empty one of ours. ``trusted_at`` is the path whose trust git's own settings
    have to declare; "" for a repository of the user.
    """

    path: str
    folder: str
    place: Place
    references: References
    tips: tuple[str, ...]
    trusted_at: str = ""


@dataclass(slots=True)
class Opened:
    """``tips`` are empty when one of them is not in the repository any more."""

    heads: list[tuple[str, str]]
    tips: list[str]
    total: int
    left: dict[str, str] = field(default_factory=dict)


class Untrusted(Exception):
    """Another user owns the repository, and git's settings do not say that it is safe."""


class Session:
    """One repository, read with git."""

    def __init__(self) -> None:
        self._ours = Path()
        self._commits: Iterator[tuple[str, Commit]] = iter(())
        self._path = ""
        self._error: Exception | None = None
        self._emails: frozenset[str] = frozenset()
        self._counted = False

    def __call__(self, work: Opening | None) -> object:
        """``Opened``, the next commits with their branches, or why there are none."""
        if work is not None:
            self._path = work.path
        try:
            return self._next() if work is None else self._open(work)
        except Untrusted:
            return (
                f"git refuses {self._path} because another user owns it; if you trust it:"
                f" git config --global --add safe.directory {self._path}"
            )
        except (Refused, TooManyFiles) as error:
            return f"{self._path} is not read: {error}"
        except OSError as error:
            return f"{self._path} cannot be read: {error.strerror}: {error.filename}"

    def _next(self) -> list[tuple[str, Commit]]:
        """The next commits. An error after some of them is raised by the next call."""
        if self._error is not None:
            raise self._error
        commits: list[tuple[str, Commit]] = []
        size = 0
        try:
            while len(commits) < AT_ONCE and size < MAX_REPLY:
                branch, commit = next(self._commits)
                commit.is_own = not self._emails.isdisjoint(commit.emails)
                commits.append((branch, commit))
                size += len(commit.body)
        except StopIteration:
            pass
        except (Refused, TooManyFiles) as error:
            if not commits:
                raise
            self._error = error
        return commits

    def _open(self, work: Opening) -> Opened | str:
        place, references = work.place, work.references
        self._ours = Path(work.folder, "git")
        if shutil.which("git") is None:
            return "git is not installed or not on PATH; install it, then sync again"
        self._ours.mkdir()
        (self._ours / "config").write_text("")
        (self._ours / "HEAD").write_text(f"{references.head or 'ref: refs/heads/none'}\n")
        (self._ours / "refs").mkdir()
        if work.trusted_at:
            self._check_trust(work)
        settings = settings_of(place.common)
        self._configure(settings.get("extensions.objectformat", "sha1"), references.in_reftable)
        link_objects(place.common, self._ours / "objects")
        if references.in_reftable:
            self._read_reftable(place, references)
        left = self._take_mailmap(place, references, settings.get("core.bare") == "true")
        there = self._there([*work.tips, *(sha for branch, sha in references.heads if not branch)])
        tips = list(work.tips) if there.issuperset(work.tips) else []
        heads = [(branch, head) for branch, head in references.heads if branch or head in there]
        wanted = {head for _, head in heads}
        total = 0
        if wanted and wanted != set(tips):
            revisions = _revisions(wanted, tips)
            total = int(self._run("rev-list", "--count", "--stdin", lines=revisions))
            self._counted = total <= MAX_COUNTED_COMMITS
            of_repository = () if work.trusted_at else (settings.get("user.email", ""),)
            self._emails = frozenset(filter(None, map(_address, (*self._own(), *of_repository))))
            self._commits = self._read(heads, tips)
        return Opened(heads, tips, total, {**references.left, **left})

    def _configure(self, object_format: str, in_reftable: bool) -> None:
        extensions = {"objectFormat": object_format if object_format == "sha256" else "sha1"}
        if in_reftable:
            extensions["refStorage"] = "reftable"
        lines = "".join(f"{name} = {value}\n" for name, value in extensions.items())
        mailmap = self._ours / "mailmap"
        settings = f"{_SETTINGS}file = {mailmap}\n[extensions]\n{lines}"
        (self._ours / "config").write_text(settings)

    def _take_mailmap(self, place: Place, references: References, bare: bool) -> dict[str, str]:
        """Copy the file that says who is who; what is wrong with it, if it is not taken."""
        name, content = ".mailmap", b""
        try:
            if not bare:
                content = read_regular_file(place.root / name, MAX_MAILMAP_BYTES, follow=False)
            elif references.head:
                blob = f"{references.head}:{name}"
                checked = self._run("cat-file", "--batch-check", lines=[blob]).split()
                if len(checked) == 3 and checked[1] == "blob":
                    if int(checked[2]) > MAX_MAILMAP_BYTES:
                        return {name: f"it has more than {MAX_MAILMAP_BYTES:,} bytes"}
                    content = self._run("cat-file", "blob", blob).encode()
        except (NotARegularFile, FileTooLarge) as error:
            return {name: f"it {error.strerror}; names of authors are as commits have them"}
        except OSError:
            return {}  # there is none
        (self._ours / "mailmap").write_bytes(content)
        return {}

    def _check_trust(self, work: Opening) -> None:
        """Raises Untrusted unless the user's own settings, or the system's, trust the path."""
        for scope in ("--global", "--system"):
            lines = self._of_user(scope, "--get-all", "safe.directory")
            if "" in lines:  # which takes back what stands before it
                lines = lines[len(lines) - lines[::-1].index("") :]
            if {"*", work.trusted_at, work.path} & set(lines):
                return
        raise Untrusted

    def _of_user(self, *arguments: str) -> list[str]:
        """The lines that ``git config`` answers of the settings that the user has made."""
        ours = self._environment()
        environment = {name: ours[name] for name in ours if not name.startswith("GIT_CONFIG")}
        environment |= {name: os.environ[name] for name in _SETTINGS_OF_USER if name in os.environ}
        answer = subprocess.run(  # noqa: S603  a list of our own words, no shell
            [_git(), "config", *arguments],
            cwd=self._ours, env=environment, capture_output=True, check=False,
            preexec_fn=_limit_git,
        )  # fmt: skip
        return answer.stdout.decode(errors="replace").removesuffix("\n").split("\n")

    def _own(self) -> Iterator[str]:
        """The addresses of the user, also those of files that are included for some folders."""
        for scope in ("--global", "--system"):
            yield from self._of_user(scope, "--includes", "--get-all", "user.email")
        included = self._of_user("--global", "--type=path", "--get-regexp", _INCLUDED)
        for line in included[:MAX_INCLUDED]:
            file = Path(line.partition(" ")[2])
            if file.is_absolute() and file.is_file():  # no pipe, which has no end
                yield from self._of_user("--file", str(file), "--get-all", "user.email")

    def _read_reftable(self, place: Place, references: References) -> None:
        """Let git read a table of references, whose files were looked at."""
        (self._ours / "reftable").mkdir()
        for entry in os.scandir(place.common / "reftable"):
            (self._ours / "reftable" / entry.name).write_bytes(
                read_regular_file(entry.path, MAX_GIT_MEMORY // 4)
            )
        (self._ours / "HEAD").write_text("ref: refs/heads/.invalid\n")
        listed = self._run(
            "for-each-ref", "--format=%(HEAD)%(objectname) %(refname) %(symref)",
            "refs/heads", ORIGIN_HEAD,
        )  # fmt: skip
        commits, main, current = dict[str, str](), "", ""
        for line in filter(None, listed.split("\n")):
            commit, ref, source = line[1:].split(" ")
            if (name := ref.removeprefix("refs/heads/")) == ref:
                main = source.removeprefix("refs/remotes/origin/")
                continue
            commits[name] = commit
            current = name if line.startswith("*") else current
        references.name(commits, main, current)

    def _there(self, commits: list[str]) -> set[str]:
        """Those of the commits that are in the repository."""
        answer = self._run("cat-file", "--batch-check", lines=commits) if commits else ""
        checked = (line.split(" ") for line in answer.split("\n"))
        return {words[0] for words in checked if words[1:2] == ["commit"]}

    def _read(self, heads: list[tuple[str, str]], tips: list[str]) -> Iterator[tuple[str, Commit]]:
        """Each commit that is not below ``tips``, once, with the first branch that it is on."""
        below = set(tips)
        for branch, head in heads:
            if head not in below:
                for commit in self._log(_revisions([head], below)):
                    yield branch, commit
                below.add(head)

    def _log(self, revisions: list[str]) -> Iterator[Commit]:
        """Parents before children, else oldest first."""
        files = "--numstat" if self._counted else "--name-only"
        command = (
            "log", "-z", "--reverse", "--date-order", "--root", files, "--no-renames",
            "--no-show-signature", "--no-color", "--no-notes", "--encoding=UTF-8",
            "--no-ext-diff", "--no-textconv", f"--format={FORMAT}", "--stdin",
        )  # fmt: skip
        with self._started(command, revisions) as (process, complaints):
            yield from parse(self._tokens(process, complaints), counted=self._counted)

    def _tokens(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> Iterator[str]:
        """Every token that ends with NUL. Raises Refused when git fails.

        It is raised here, before the last token, so that an incomplete commit is not taken.
        """
        assert process.stdout is not None
        rest = bytearray()
        while chunk := process.stdout.read(_CHUNK):
            *ends, begin = chunk.split(b"\0")
            for end in ends:
                rest += end[: max(0, MAX_TOKEN - len(rest) + 1)]
                yield _text(rest)
                rest = bytearray()
            rest += begin[: max(0, MAX_TOKEN - len(rest) + 1)]
        if process.wait() != 0:
            complaints.seek(0)
            raise self._refusal(complaints.read())

    def _run(self, *arguments: str, lines: Iterable[str] = ()) -> str:
        with self._started(arguments, lines) as (process, complaints):
            assert process.stdout is not None
            answer = process.stdout.read()
            if process.wait() != 0:
                complaints.seek(0)
                raise self._refusal(complaints.read())
        return answer.decode(errors="replace")

    def _started(
        self, arguments: Iterable[str], lines: Iterable[str]
    ) -> AbstractContextManager[tuple[subprocess.Popen[bytes], IO[bytes]]]:
        return _running([_git(), *arguments], self._environment(), self._ours, lines)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self._ours),
            "LC_ALL": "C",  # git's errors are read by people and by tests
            "GIT_DIR": str(self._ours),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PAGER": "cat",
        }

    def _refusal(self, said: bytes) -> Refused:
        lines = said.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else "it gave no reason"
        return Refused(f"git cannot read it: {reason}; check it with: git -C {self._path} fsck")


def _address(said: str) -> str:
    """An address as it is compared; "" for what is none."""
    address = said.strip().lower()
    return address if "@" in address[1:] else ""


@contextmanager
def _running(
    command: list[str], environment: dict[str, str], folder: Path, lines: Iterable[str]
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A git that gets the lines, and the file with its complaints. It is ended with the block."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write("".join(f"{line}\n" for line in lines).encode())
        given.seek(0)
        with subprocess.Popen(  # noqa: S603  a list of our own words, no shell
            command, stdin=given, stdout=subprocess.PIPE, stderr=complaints,
            env=environment, cwd=folder, preexec_fn=_limit_git,
        ) as process:  # fmt: skip
            try:
                yield process, complaints
            finally:
                process.kill()


def _limit_git() -> None:
    """In the process that becomes git, before it does: this one has a single thread."""
    for what, most in (
        (resource.RLIMIT_CPU, MAX_GIT_SECONDS),
        (resource.RLIMIT_DATA, MAX_GIT_MEMORY),
        (resource.RLIMIT_FSIZE, MAX_COMPLAINTS),
    ):
        limit(what, most)
    end_with_parent(os.getppid())


def _text(token: bytearray) -> str:
    """The text of a token, of which one byte more than ``MAX_TOKEN`` was kept."""
    text = token[:MAX_TOKEN].decode(errors="replace")
    return text if len(token) <= MAX_TOKEN else f"{text}\n[cut: longer than {MAX_TOKEN:,} bytes]"


def _git() -> str:
    return shutil.which("git") or "git"


def _revisions(heads: Iterable[str], tips: Iterable[str]) -> list[str]:
    return [*sorted(heads), *(f"^{tip}" for tip in tips)]
