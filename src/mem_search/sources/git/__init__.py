"""The source ``git``: a repository's history as observations, one a commit.

``history`` reads every local branch and HEAD with the ``git`` command, oldest commit first, as a
stream: memory does not grow with the history. ``commits`` turns a commit into a draft. Only
messages, author names and the names of changed files are taken: no e-mail addresses, no contents.
Commits that a rewrite removed stay stored, because somebody once saw them. ``mem_search.projects``
says which project a directory belongs to.

Git does not know on which branch a commit was made. A record names the branch on which it was first
read, the main branch before the others, and keeps that name after a merge. A commit that several
clones have belongs to the clone in which it was first read, as long as that clone exists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, LedgerEntry, Location
from mem_search.projects import identify, repository
from mem_search.sources.base import BaseSource, BatchBuilder
from mem_search.sources.git.commits import Commit, draft_of
from mem_search.sources.git.history import History


class Git(BaseSource):
    """Reads one repository per location; ``path`` is its main worktree or bare directory.

    ``source_id`` is the hash of the commit, so every clone of a repository gives the same records.
    The cursor holds ``tips``: commits that were read together with all their ancestors.
    """

    name = "git"
    follows = True

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

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """New commits of the local branches and HEAD, parents before children.

        Yields nothing when there are none. Raises SourceError when git is missing or refuses, when
        there is no repository, and for a shallow clone, which does not have the whole history.
        """
        history = History(location.path)
        branches = history.branches()
        heads = {head for _, head in branches}
        tips = [tip for tip in cursor.get("tips", ()) if isinstance(tip, str)]
        if not history.has(tips):
            tips = []  # the history was rewritten: read all of it again, under the same source ids
        if not heads or heads == set(tips):
            return
        found = BatchBuilder(total=history.count(heads, tips), shared=True)
        project = identify(location.path).name
        span = _span(heads, tips)

        # Parents come before children, so what was read is exactly the frontier with all its
        # ancestors, and a reading can be resumed after any batch.
        frontier = set(tips)
        done = left = 0
        try:
            for done, (branch, commit) in enumerate(_each(history, branches, tips), 1):
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
        yield found.build({"tips": sorted(heads)}, done)


def _each(
    history: History, branches: Iterable[tuple[str, str]], tips: Iterable[str]
) -> Iterator[tuple[str, Commit]]:
    """Each commit that is not below ``tips``, once, with the first branch that it is on."""
    below = set(tips)
    for branch, head in branches:
        if head not in below:
            with history.commits([head], below) as commits:
                for commit in commits:
                    yield branch, commit
            below.add(head)


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
