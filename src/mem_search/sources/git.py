"""The source ``git``: a repository's history as observations, one a commit.

``history`` reads every local branch and HEAD, oldest commit first, as a stream: memory does not
grow with the history. ``commits`` turns a commit into a draft. Only
messages, author names, the names of changed files and how many lines changed are taken: no e-mail
addresses, no contents. A commit is the person's own where its address is one of those in the
settings that the person made, and has its address on the forge that a remote names.
Commits that a rewrite removed stay stored, because somebody once saw them. ``mem_search.projects``
says which project a directory belongs to.

Git does not know on which branch a commit was made. A record names the branch on which it was first
read, the main branch before the others, and keeps that name after a merge. A commit that several
clones have belongs to the clone in which it was first read, as long as that clone exists.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.git import places
from mem_search.git.commits import Commit
from mem_search.git.marks import commit_url_prefix
from mem_search.git.places import Place, Refused
from mem_search.git.references import References, references_of
from mem_search.git.session import Opened, Opening
from mem_search.limited_process import framed, reply_of, started
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.model.records import OWN
from mem_search.patterns import pattern
from mem_search.projects import identify, repository
from mem_search.sources.base import BaseSource, BatchBuilder, scratch_folder
from mem_search.text.redaction import redact
from mem_search.waiting import is_given_up

_PAUSE_SECONDS: Final = 5.0
"""Between two readings; less than between two rounds, so that only failures are told apart."""


_FORM: Final = 3
"""Of what is stored of a commit; a cursor of another one is of a reading by older rules."""


class Git(BaseSource):
    """Reads one repository per location; ``path`` is its main worktree or bare directory.

    ``source_id`` is the hash of the commit, so every clone of a repository gives the same records.
    The cursor holds ``tips``: commits that were read together with all their ancestors.
    """

    name = "git"
    follows = True

    looks_in = "the repository of the current directory"

    def discover(self, machine: Machine) -> Iterable[Location]:
        """The repository of the current directory, if there is one."""
        project = repository(machine.cwd)
        if project is not None:
            yield Location(self.name, project.root, project.name)

    def locate(self, path: str) -> Location:
        """The repository that ``path`` is in, whatever worktree or folder of it ``path`` names."""
        project = repository(path)
        return Location(
            self.name, project.root if project else path, project.name if project else ""
        )

    def pause(self, location: Location) -> float:
        """Few seconds, and after each failure twice as many: git worked hard to say no."""
        return _PAUSE_SECONDS

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """New commits of the local branches and HEAD, parents before children.

        Yields nothing when there are none. Raises SourceError when git is missing or refuses, when
        there is no repository, or one that is no ordinary one, and for a shallow clone, which does
        not have the whole history.
        """
        history = History(location.path)
        try:
            yield from self._read(history, location, cursor)
        finally:
            history.close()

    def _read(
        self, history: History, location: Location, cursor: Mapping[str, Any]
    ) -> Iterator[Batch]:
        known = [tip for tip in cursor.get("tips", ()) if isinstance(tip, str)]
        seen = history.references
        if cursor.get("form") != _FORM:
            known = []  # by older rules: all is read again, under the same source ids
        elif not seen.in_reftable and _is_read({head for _, head in seen.heads}, seen.left, cursor):
            return
        opened = history.open(known)
        # Of a history that was rewritten all is read again, under the same source ids.
        heads, tips = {head for _, head in opened.heads}, opened.tips
        if _is_read(heads, opened.left, {**cursor, "tips": tips}):
            return
        batch = BatchBuilder(total=opened.total, shared=True)
        project = identify(location.path)
        span = _span(heads, tips)

        # Parents come before children, so what was read is exactly the frontier with all its
        # ancestors, and a reading can be resumed after any batch.
        frontier = set(tips)
        done = left = 0
        try:
            for done, (branch, commit) in enumerate(history.commits(), 1):
                frontier.difference_update(commit.parents)
                frontier.add(commit.sha)
                draft = draft_of(commit, project=project.name, branch=branch, forge=history.forge)
                if draft is None:
                    left += 1
                    continue
                batch.take(replace(draft, place=project.place))
                if batch.is_full:
                    so_far = {**cursor, "tips": sorted(frontier), "form": _FORM}
                    yield batch.build(so_far, done)
        except SourceError as error:
            _outdate_failure(batch, cursor)
            batch.note(LedgerEntry(span, "failed", error.message, batch.taken))
            yield batch.build({"tips": sorted(frontier), "failed": span, "form": _FORM}, done)
            raise
        _outdate_failure(batch, cursor)
        if batch.taken:
            batch.note(LedgerEntry(span, "taken", records=batch.taken))
        if left:
            reason = f"empty commits: {left} (default merges, or neither message nor files)"
            batch.leave(f"{span} (empty)", reason)
        for item, reason in opened.left.items():
            batch.leave(item, reason)
        left_out = {"left": sorted(opened.left)} if opened.left else {}
        yield batch.build({"tips": sorted(heads), "form": _FORM, **left_out}, done)


def _is_read(heads: Collection[str], left: Collection[str], cursor: Mapping[str, Any]) -> bool:
    """Whether an earlier reading has all of the heads, and said what was left out."""
    same = not heads or set(heads) == set(cursor.get("tips", ()))
    return same and sorted(left) == cursor.get("left", [])


def _outdate_failure(batch: BatchBuilder, cursor: Mapping[str, Any]) -> None:
    """Remove the failure of an earlier reading from the ledger: that history was read again."""
    if failed := cursor.get("failed"):
        batch.outdate(str(failed))


def _span(heads: Iterable[str], tips: Iterable[str]) -> str:
    """What one reading covers, as git writes it: ``old..new``, ``+2`` for two more heads."""

    def short(commits: Iterable[str]) -> str:
        first, *others = sorted(commits) or [""]
        return first[:10] + (f"+{len(others)}" if others else "")

    return f"{short(tips)}..{short(heads)}"


STILL_SECONDS: Final = 60.0
"""Without a reply and without work: then it waits for a disk or a pipe that gives nothing."""

MAX_SECONDS: Final = 60
"""Of processor time of ours for one reply. Git has its own limit."""

_WORK: Final = "mem_search.git.session:Session"
_MEMORY: Final = "it needs more than {megabytes} MB of memory to be read"

MAX_MEGABYTES: Final = 1024
"""Of the process that talks to git. It holds the names of two million files at most."""


class History:
    """The commits of the repository at ``path``. Its methods raise SourceError; call ``close``."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            place = places.find(places.real_path(path))
        except Refused as error:
            raise SourceError(f"{path!r} is not read: {error}") from None
        if place is None:
            raise SourceError(f"{path} is not a git repository; give the directory of one")
        if place.refused:
            raise SourceError(f"{path} is not read: {place.refused}")
        self._place: Place = place
        self.forge = commit_url_prefix(place)
        try:
            if places.small_text(place.common / "shallow"):
                raise SourceError(
                    f"{path} is a shallow clone; complete it with: git -C {path} fetch --unshallow"
                )
            self.references: References = references_of(place)
        except Refused as error:
            raise SourceError(f"{path} is not read: {error}") from None
        self._folder = scratch_folder()
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, tips: Iterable[str]) -> Opened:
        """Start reading what is not below ``tips``."""
        try:
            foreign = _is_foreign(self._place)
        except OSError as error:
            raise SourceError(f"{self._path} cannot be read: {error.strerror}") from None
        work = Opening(
            self._path, self._folder.name, self._place, self.references, tuple(tips),
            str(self._place.checkout) if foreign else "",
        )  # fmt: skip
        try:
            self._process = started(
                _WORK, seconds=MAX_SECONDS, megabytes=MAX_MEGABYTES, memory=_MEMORY
            )
            reply_of(self._process, STILL_SECONDS, is_given_up)
        except (OSError, EOFError) as error:
            raise SourceError(f"the process that runs git does not start: {error}") from None
        opened = self._asked(work)
        assert isinstance(opened, Opened)
        return opened

    def commits(self) -> Iterator[tuple[str, Commit]]:
        """The commits with their branches, parents before children, else oldest first."""
        while commits := self._asked(None):
            assert isinstance(commits, list)
            yield from commits

    def close(self) -> None:
        """End the process and what it runs."""
        if self._process is not None:
            process, self._process = self._process, None
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):  # what was not sent cannot be sent any more
                        pipe.close()
        self._folder.cleanup()

    def _asked(self, work: Opening | None) -> object:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(framed(work))
            process.stdin.flush()
            reply = reply_of(process, STILL_SECONDS, is_given_up)
        except TimeoutError:
            waits = f"git gave nothing for {STILL_SECONDS:.0f} s and did not work either"
            raise SourceError(f"{self._path} is not read: {waits}") from None
        except (EOFError, OSError):
            code = process.wait()
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            raise SourceError(
                f"{self._path} is not read: the process that reads it was ended {how}"
            ) from None
        if isinstance(reply, str):
            raise SourceError(reply)
        return reply


def _is_foreign(place: Place) -> bool:
    """Whether another user owns the repository, or the directory that names it."""
    mine = {os.geteuid()}
    if mine == {0} and os.environ.get("SUDO_UID", "").isdecimal():
        mine.add(int(os.environ["SUDO_UID"]))
    return not all(path.stat().st_uid in mine for path in (place.checkout, place.common))


# A commit as a draft: what of it is stored. Pure.

FILES_IN_TEXT: Final = 50

_NOISE: Final = pattern(
    r"^(?:signed-off-by|co-authored-by|change-id):.*(?:\n[ \t].*)*\n?",
    re.MULTILINE | re.IGNORECASE,
)
_CO_AUTHOR: Final = pattern(
    r"^co-authored-by:[ \t]{0,9}(?:([^<\n]{0,200}[^<\s])[ \t]{0,9})?(?:<([^>\n]*)>?)?\s{0,9}$",
    re.MULTILINE | re.IGNORECASE,
)
_NOBODY: Final = pattern(r"(?:no-?reply|cursoragent|copilot|aider)@|.*\[bot\]", re.IGNORECASE)
"""The address of an agent, which many commits name: its name would find them all."""
_DEFAULT_MERGE: Final = pattern(
    r"merge (?:branch|remote|tag|commit|pull request|pr\b|[\w./#-]+ into |[0-9a-f]{7})"
    r"|merged in |merge$",
    re.IGNORECASE,
)
_WRITTEN_BY_MERGE: Final = pattern(
    r"^(?:(?:# )?Conflicts:|\* .*:(?: \(\d+ commits\))?)\n(?:#?[ \t]+.*(?:\n|\Z))+", re.MULTILINE
)
"""Conflicts and the list of merged subjects (``merge.log``), which git writes, not a person."""

_PREFIX: Final = pattern(r"\s*(?:\[[^\]]*\]\s*)*([\w.+/-]+)(?:\([^)]*\))?!?:\s+")
_CONVENTIONAL: Final = {
    "feat": "feature",
    "feature": "feature",
    "fix": "bugfix",
    "bugfix": "bugfix",
    "hotfix": "bugfix",
    "refactor": "refactor",
    **dict.fromkeys(
        ("docs", "doc", "chore", "test", "tests", "style", "ci", "build", "perf", "revert"),
        "change",
    ),
}
_WORDS: Final = (
    ("change", r"reverts?\b"),
    ("bugfix", r"(?:hot|bug)?fix(?:e[sd]|ing)?\b|.*\bfix(?:e[sd])?\b"),
    ("feature", r"(?:add(?:s|ed)?|implement|introduce|support|allow|enable)\b"),
    ("refactor", r"(?:refactor|rename|move|extract|simplify|restructure|clean ?up)\b"),
)


def draft_of(commit: Commit, *, project: str, branch: str = "", forge: str = "") -> Draft | None:
    """The draft of ``commit``; None for a default merge, or one without message and files.

    ``branch`` is empty for a commit that is on no branch, ``forge`` where no remote names one.
    """
    body = _NOISE.sub("", commit.body).strip()
    if len(commit.parents) > 1 and _DEFAULT_MERGE.match(commit.subject):
        body = _WRITTEN_BY_MERGE.sub("", body).strip()
        if not body:
            return None
    parts = (body, _files_line(commit))
    text = "\n\n".join(part for part in parts if part) or commit.subject
    if not text:
        return None
    return Draft(
        kind="observation",
        source="git",
        source_id=commit.sha,
        title=commit.subject,
        text=text,
        created_at=commit.authored_at,
        project=project,
        url=f"{forge}{commit.sha}" if forge else "",
        metadata={
            "type": type_of(commit.subject),
            "files_modified": commit.files,
            "author": _author(commit.author),
            "commit": commit.sha,
        }
        | ({"authors": others} if (others := _co_authors(commit)) else {})
        | ({"branch": branch} if branch else {})
        | ({"file_count": commit.file_count} if commit.file_count > len(commit.files) else {})
        | _lines(commit)
        | ({OWN: True} if commit.is_own else {}),
    )


def _lines(commit: Commit) -> dict[str, int]:
    if commit.insertions is None or commit.deletions is None:
        return {}
    return {"insertions": commit.insertions, "deletions": commit.deletions}


def _author(name: str) -> str:
    """Some give their address as the name, and some a URL with a password."""
    return redact(name)[0].partition("@")[0]


def _co_authors(commit: Commit) -> list[str]:
    """The people that trailers of the message name beside the author."""
    found = (
        _author(name or address or "")
        for name, address in _CO_AUTHOR.findall(commit.body)
        if not _NOBODY.match(address)
    )
    return [name for name in dict.fromkeys(found) if name and name != _author(commit.author)]


def type_of(subject: str) -> str:
    """claude-mem's type of observation, from a conventional-commits prefix or the first words."""
    prefix = _PREFIX.match(subject)
    if prefix is not None and (known := _CONVENTIONAL.get(prefix[1].lower())) is not None:
        return known
    words = subject[prefix.end() :] if prefix is not None else subject
    for name, form in _WORDS:
        if re.match(form, words, re.IGNORECASE):
            return name
    return "change"


def _files_line(commit: Commit) -> str:
    shown = commit.files[:FILES_IN_TEXT]
    more = commit.file_count - len(shown)
    if not shown:
        return ""
    return f"Files: {', '.join(shown)}" + (f", and {more} more" if more else "")
