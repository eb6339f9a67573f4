"""The process that prepares drafts: ``preparing`` starts it with ``python -m``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mem_search.limited_process import serve


def _load() -> Callable[[Any], object]:
    from mem_search.ingest.prepare import outcome

    return outcome


if __name__ == "__main__":
    serve(_load, memory="it needs more than {megabytes} MB of memory (prepare_memory)")
