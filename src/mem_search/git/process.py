"""The process that runs git: the source ``git`` starts it with ``python -m``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mem_search.limited_process import serve


def _load() -> Callable[[Any], object]:
    from mem_search.git.session import Session

    return Session().answer


if __name__ == "__main__":
    serve(_load, memory="it needs more than {megabytes} MB of memory to be read")
