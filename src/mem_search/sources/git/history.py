"""The history of a repository, read with the ``git`` command: read-only, offline, as a stream.

Git gets a list of arguments and no shell; it takes no locks, asks no questions and downloads
nothing. ``commits`` turns a commit into a draft.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import IO, Final

from mem_search.errors import SourceError
from mem_search.machine_load import stretched
from mem_search.sources.git.commits import FILES_KEPT, Commit

_FORMAT: Final = "tformat:%x00%H%x00%P%x00%at%x00%aN%x00%s%x00%b%x00"
_CHUNK: Final = 1 << 16
_ONE_REPOSITORY: Final = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
"""Git sets these while it runs a hook. A worker that a hook starts must not inherit them, or git
would read the hook's repository whatever its path argument says."""


@dataclass(frozen=True, slots=True)
class History:
    """The commits of the repository at ``path``. Every method raises SourceError.

    ``heads`` are commits to read with all their ancestors, ``tips`` are commits to leave out with
    all of theirs.
    """

    path: str

    def branches(self) -> list[tuple[str, str]]:
        """Each local branch and its head, the main branch first; "" for heads that are on none.

        Empty before the first commit. The main branch is the default branch of ``origin``, else
        ``main`` or ``master``, else the one that is checked out. Linked worktrees have a HEAD of
        their own.
        """
        if self._run("rev-parse", "--is-shallow-repository").strip() == "true":
            raise SourceError(
                f"{self.path} is a shallow clone;"
                f" complete it with: git -C {self.path} fetch --unshallow"
            )
        listed = self._run(
            "for-each-ref", "--format=%(HEAD)%(objectname) %(refname) %(symref)",
            "refs/heads", "refs/remotes/origin/HEAD",
        )  # fmt: skip
        heads: dict[str, str] = {}
        first = ["", "main", "master", ""]
        for line in listed.splitlines():
            commit, ref, source = line[1:].split(" ")
            name = ref.removeprefix("refs/heads/")
            if name == ref:
                first[0] = source.removeprefix("refs/remotes/origin/")
                continue
            heads[name] = commit
            if line.startswith("*"):
                first[-1] = name
        ordered = dict.fromkeys(name for name in (*first, *heads) if name in heads)
        return [
            *((name, heads[name]) for name in ordered),
            *(("", sha) for sha in self._detached()),
        ]

    def _detached(self) -> list[str]:
        """The heads of worktrees that are on no branch."""
        listed = self._run("worktree", "list", "--porcelain").split("\n\n")
        worktrees = [worktree.splitlines() for worktree in listed]
        heads = [line[5:] for each in worktrees if "detached" in each for line in each
                 if line.startswith("HEAD ")]  # fmt: skip
        return [head for head in dict.fromkeys(heads) if self.has([head])]

    def has(self, commits: list[str]) -> bool:
        """Whether all of them are still in the repository."""
        answer = self._run("cat-file", "--batch-check", lines=commits) if commits else ""
        return all(" commit " in line for line in answer.splitlines())

    def uncommitted(self, seconds: float) -> tuple[str, ...]:
        """Tracked files with changes that are not committed, by their paths in the repository.

        Raises SourceError, also when git takes longer than ``seconds``.
        """
        listed = self._run(
            "diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "HEAD", seconds=seconds
        )
        return tuple(name for name in listed.split("\0") if name)

    def count(self, heads: Iterable[str], tips: Iterable[str]) -> int:
        return int(self._run("rev-list", "--count", "--stdin", lines=_revisions(heads, tips)))

    @contextmanager
    def commits(self, heads: Iterable[str], tips: Iterable[str]) -> Iterator[Iterator[Commit]]:
        """Parents before children, else oldest first. Leaving the context ends the git process."""
        command = self._command(
            "log", "-z", "--reverse", "--date-order", "--root", "--name-only", "--no-renames",
            "--no-show-signature", "--no-color", "--no-notes", "--encoding=UTF-8",
            f"--format={_FORMAT}", "--stdin",
        )  # fmt: skip
        with tempfile.TemporaryFile() as revisions, tempfile.TemporaryFile() as complaints:
            revisions.write(_encode(_revisions(heads, tips)))
            revisions.seek(0)
            with subprocess.Popen(  # noqa: S603 - a list of our own words, no shell
                command,
                stdin=revisions,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env=_environment(),
            ) as process:
                try:
                    yield parse(self._tokens(process, complaints))
                finally:
                    process.kill()

    def _tokens(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> Iterator[str]:
        """Every token that ends with NUL. Raises SourceError when git fails.

        It is raised here, before the last token, so that an incomplete commit is not taken.
        """
        assert process.stdout is not None
        rest = b""
        while chunk := process.stdout.read(_CHUNK):
            *whole, rest = (rest + chunk).split(b"\0")
            for token in whole:
                yield token.decode(errors="replace")
        if process.wait() != 0:
            complaints.seek(0)
            raise self._refusal(complaints.read())

    def _run(self, *arguments: str, lines: Iterable[str] = (), seconds: float | None = None) -> str:
        try:
            finished = subprocess.run(  # noqa: S603 - a list of our own words, no shell
                self._command(*arguments),
                input=_encode(lines),
                capture_output=True,
                env=_environment(),
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            raise SourceError(f"git took more than {seconds:g} s in {self.path}") from error
        if finished.returncode != 0:
            raise self._refusal(finished.stderr)
        return finished.stdout.decode(errors="replace")

    def _command(self, *arguments: str) -> list[str]:
        program = shutil.which("git")
        if program is None:
            raise SourceError("git is not installed or not on PATH; install it, then sync again")
        settings = ("-c", "core.quotepath=false", "-c", "core.fsmonitor=false")
        return [program, *settings, "-C", self.path, *arguments]

    def _refusal(self, stderr: bytes) -> SourceError:
        text = stderr.decode(errors="replace").strip()
        if "dubious ownership" in text:
            return SourceError(
                f"git refuses {self.path} because another user owns it; if you trust it:"
                f" git config --global --add safe.directory {self.path}"
            )
        absent = "cannot change to" in text and "Permission denied" not in text
        if absent or "not a git repository" in text:
            return SourceError(f"{self.path} is not a git repository; give the directory of one")
        reason = text.splitlines()[-1] if text else "it gave no reason"
        return SourceError(
            f"git cannot read {self.path}: {reason}; check it with: git -C {self.path} fsck"
        )


_AT_HAND: Final = 0.5
"""Seconds that listing changed files may take on a free machine: a session waits."""

_MOST_SECONDS: Final = 2.0
"""The same on a busy machine; the hook waits little longer."""

_MOST_AT_HAND: Final = 50


def files_at_hand(directory: str) -> tuple[str, ...]:
    """What is being worked on in ``directory``: files with changes that are not committed.

    Empty where git does not answer in time, or there is no repository.
    """
    try:
        return History(directory).uncommitted(stretched(_AT_HAND, most=_MOST_SECONDS))[
            :_MOST_AT_HAND
        ]
    except SourceError:
        return ()


def parse(tokens: Iterator[str]) -> Iterator[Commit]:
    """Commits from the tokens of ``git log -z --name-only`` in ``_FORMAT``.

    A commit is an empty token, six fields, an empty token, and the names of its files up to the
    empty token that begins the next commit. The first name begins with a newline.
    """
    opening = next(tokens, None)
    while opening is not None:
        sha, parents, seconds, author, subject, body, _end = islice(tokens, 7)
        moment = int(seconds) * 1000 if seconds.removeprefix("-").isdecimal() else None
        commit = Commit(sha, parents.split(), moment, author, subject, body)
        opening = None
        for name in tokens:
            if not name:
                opening = name
                break
            if commit.file_count < FILES_KEPT:
                commit.files.append(name if commit.files else name.removeprefix("\n"))
            commit.file_count += 1
        yield commit


def _revisions(heads: Iterable[str], tips: Iterable[str]) -> list[str]:
    return [*sorted(heads), *(f"^{tip}" for tip in tips)]


def _encode(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _ONE_REPOSITORY}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",  # a partial clone must not download
        "LC_ALL": "C",  # git's errors are recognised by their English text
    }
