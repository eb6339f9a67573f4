"""A change of a project that can be taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ProjectChange:
    """``before`` is the project's name until then, ``after`` that of its records from then on.

    ``records`` are how many records the change gave another name.
    """

    what: Literal["rename", "merge"]
    before: str
    after: str
    records: int
    undone: bool = False
