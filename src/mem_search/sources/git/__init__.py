"""The source ``git``: a repository's history as observations, one a commit.

``history`` reads every local branch and HEAD, oldest commit first, as a stream: memory does not
grow with the history. ``commits`` turns a commit into a draft. Only
messages, author names and the names of changed files are taken: no e-mail addresses, no contents.
Commits that a rewrite removed stay stored, because somebody once saw them. ``mem_search.projects``
says which project a directory belongs to.

Git does not know on which branch a commit was made. A record names the branch on which it was first
read, the main branch before the others, and keeps that name after a merge. A commit that several
clones have belongs to the clone in which it was first read, as long as that clone exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.projects import identify, repository
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.git.history import History, draft_of

_PAUSE_SECONDS: Final = 5.0
"""Between two readings; less than between two rounds, so that only failures are told apart."""


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
        if not seen.in_reftable and _is_read({head for _, head in seen.heads}, seen.left, cursor):
            return
        opened = history.open(known)
        # Of a history that was rewritten all is read again, under the same source ids.
        heads, tips = {head for _, head in opened.heads}, opened.tips
        if _is_read(heads, opened.left, {**cursor, "tips": tips}):
            return
        found = BatchBuilder(total=opened.total, shared=True)
        project = identify(location.path).name
        span = _span(heads, tips)

        # Parents come before children, so what was read is exactly the frontier with all its
        # ancestors, and a reading can be resumed after any batch.
        frontier = set(tips)
        done = left = 0
        try:
            for done, (branch, commit) in enumerate(history.commits(), 1):
                frontier.difference_update(commit.parents)
                frontier.add(commit.sha)
                draft = draft_of(commit, project=project, branch=branch)
                if draft is None:
                    left += 1
                    continue
                found.take(draft)
                if found.is_full:
                    yield found.build({**cursor, "tips": sorted(frontier)}, done)
        except SourceError as error:
            _outdate_failure(found, cursor)
            found.note(LedgerEntry(span, "failed", error.message, found.taken))
            yield found.build({"tips": sorted(frontier), "failed": span}, done)
            raise
        _outdate_failure(found, cursor)
        if found.taken:
            found.note(LedgerEntry(span, "taken", records=found.taken))
        if left:
            reason = f"empty commits: {left} (default merges, or neither message nor files)"
            found.leave(f"{span} (empty)", reason)
        for item, reason in opened.left.items():
            found.leave(item, reason)
        left_out = {"left": sorted(opened.left)} if opened.left else {}
        yield found.build({"tips": sorted(heads), **left_out}, done)


def _is_read(heads: Collection[str], left: Collection[str], cursor: Mapping[str, Any]) -> bool:
    """Whether an earlier reading has all of the heads, and said what was left out."""
    same = not heads or set(heads) == set(cursor.get("tips", ()))
    return same and sorted(left) == cursor.get("left", [])


def _outdate_failure(found: BatchBuilder, cursor: Mapping[str, Any]) -> None:
    """Remove the failure of an earlier reading from the ledger: that history was read again."""
    if failed := cursor.get("failed"):
        found.outdate(str(failed))


def _span(heads: Iterable[str], tips: Iterable[str]) -> str:
    """What one reading covers, as git writes it: ``old..new``, ``+2`` for two more heads."""

    def short(commits: Iterable[str]) -> str:
        first, *others = sorted(commits) or [""]
        return first[:10] + (f"+{len(others)}" if others else "")

    return f"{short(tips)}..{short(heads)}"
