"""What says which project a directory belongs to, and the names of projects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EXACTLY: Final = "="
"""Before the name of a project in a filter: this one, and not others of the same folder name."""

_APART: Final = " ("
"""What begins the part that tells two projects of one folder name apart."""


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """What is known of a directory, as a real path, when it is looked at.

    ``name`` is the name of its folder. ``root`` and ``checkout`` are the directories of the main
    work tree and of the one around it; both are empty outside a repository. ``marks`` tell the
    repository apart wherever it lies: ``remote:HOST/PATH``, ``first:COMMIT``, ``made:TIME``.
    """

    name: str
    directory: str
    checkout: str = ""
    root: str = ""
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownProject:
    """A project of the store: its number, and the name that its records have."""

    number: int
    name: str


def folder_name(project: str) -> str:
    """The name of the folder in a project's name: ``api`` of ``api (work/api)``."""
    return project.partition(_APART)[0] or project


def path_in(project: str) -> str:
    """The path in a project's name: ``work/api`` of ``api (work/api)``; "" for one without."""
    return project.partition(_APART)[2].removesuffix(")") if project.endswith(")") else ""


def told_apart(folder: str, path: str, others: set[str]) -> str:
    """``api (work/api)``: with as much of ``path`` as tells it apart from the ``others`` paths."""
    parts = path.strip("/").split("/")
    for count in range(2, len(parts) + 1):
        end = "/".join(parts[-count:])
        if not any(f"/{each.strip('/')}".endswith(f"/{end}") for each in others):
            return f"{folder}{_APART}{end})"
    return f"{folder}{_APART}{path})"
