"""A commit as a draft: what of it is stored. Pure."""

from __future__ import annotations

import re
from typing import Final

from mem_search.git.commits import Commit
from mem_search.model import Draft
from mem_search.patterns import pattern
from mem_search.text.redaction import redact

FILES_IN_TEXT: Final = 50

_NOISE: Final = pattern(
    r"^(?:signed-off-by|co-authored-by|change-id):.*(?:\n[ \t].*)*\n?",
    re.MULTILINE | re.IGNORECASE,
)
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


def draft_of(commit: Commit, *, project: str, branch: str = "") -> Draft | None:
    """The draft of ``commit``; None for a default merge, or one without message and files.

    ``branch`` is empty for a commit that is on no branch.
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
        metadata={
            "type": type_of(commit.subject),
            "files_modified": commit.files,
            "author": _author(commit.author),
            "commit": commit.sha,
        }
        | ({"branch": branch} if branch else {}),
    )


def _author(name: str) -> str:
    """Some give their address as the name, and some a URL with a password."""
    return redact(name)[0].partition("@")[0]


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
