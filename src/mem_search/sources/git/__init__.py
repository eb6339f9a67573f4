"""The source ``git``: a repository's history as observations, one a commit.

HEAD and every local branch are read through the ``git`` command (``history``), oldest first
and streamed, so that memory stays flat on any history; ``commits`` says what of a commit is
worth keeping. Only messages, author names and the names of changed files are taken: no e-mail
addresses, no contents. Commits that a rewrite dropped stay stored, because somebody once saw
them. Which project a directory belongs to is decided in ``mem_search.projects``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mem_search.contracts import Machine
from mem_search.errors import SourceError
from mem_search.model import Batch, Draft, LedgerEntry, Location
from mem_search.projects import identify, repository
from mem_search.sources.git.commits import draft_of
from mem_search.sources.git.history import History

BATCH: Final = 200


class Git:
    """Reads one repository per location; ``path`` is its main worktree or bare directory.

    ``source_id`` is ``<root commit, 12 digits>:<commit>``: every clone of a repository gives
    the same records. The cursor holds ``tips``, the commits whose whole history was read, and
    ``root``, so that an unrelated branch added later does not change the identity.
    """

    name = "git"
    follows = True

    def discover(self, machine: Machine) -> Iterable[Location]:
        """The repository that the current directory is in, if any."""
        project = repository(machine.cwd)
        if project is not None:
            yield Location(self.name, project.root, project.name)

    def read(self, location: Location, cursor: Mapping[str, Any]) -> Iterator[Batch]:
        """New commits of HEAD and the local branches, parents before children.

        Nothing new yields nothing. Raises SourceError when git is missing or refuses, when
        there is no repository, and for a shallow clone, whose commits would get another
        identity once it is completed.
        """
        history = History(location.path)
        heads = history.heads()
        tips = [tip for tip in cursor.get("tips", ()) if isinstance(tip, str)]
        if not history.has(tips):
            tips = []  # rewritten and pruned: read it all again, source ids make that harmless
        if not heads or heads == set(tips):
            return
        root = (str(cursor.get("root", "")) if tips else "") or history.root_commit(heads)
        total = history.count(heads, tips)
        project = identify(location.path).name
        span = _span(heads, tips)

        # Parents come before children, so what was seen is always "everything below the
        # frontier": exact to resume from after any batch.
        frontier = set(tips)
        drafts: list[Draft] = []
        taken = left = done = 0
        try:
            with history.commits(heads, tips) as commits:
                for commit in commits:
                    done += 1
                    frontier.difference_update(commit.parents)
                    frontier.add(commit.sha)
                    draft = draft_of(commit, root=root, project=project)
                    if draft is None:
                        left += 1
                        continue
                    taken += 1
                    drafts.append(draft)
                    if len(drafts) == BATCH:
                        state = {"tips": sorted(frontier), "root": root}
                        yield Batch(tuple(drafts), cursor=state, done=done, total=total)
                        drafts = []
        except SourceError as error:
            ledger = (LedgerEntry(span, "failed", error.message, taken),)
            state = {"tips": sorted(frontier), "root": root}
            yield Batch(tuple(drafts), ledger=ledger, cursor=state, done=done, total=total)
            raise
        state = {"tips": sorted(heads), "root": root}
        yield Batch(
            tuple(drafts), ledger=_ledger(span, taken, left), cursor=state, done=done, total=total
        )


def _ledger(span: str, taken: int, left: int) -> tuple[LedgerEntry, ...]:
    entries = []
    if taken:
        entries.append(LedgerEntry(span, "taken", records=taken))
    if left:
        reason = f"{left} merges or empty commits that say nothing of their own"
        entries.append(LedgerEntry(f"{span} without words", "left", reason))
    return tuple(entries)


def _span(heads: Iterable[str], tips: Iterable[str]) -> str:
    """What one read covers, as people write it: ``old..new``, ``+2`` for two more commits."""

    def short(commits: Iterable[str]) -> str:
        first, *others = sorted(commits) or [""]
        return first[:10] + (f"+{len(others)}" if others else "")

    return f"{short(tips)}..{short(heads)}"
