"""The process that unpacks archives: ``packed`` starts it with ``python -m``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mem_search.limited_process import serve
from mem_search.sources.packed.unpacker import Refusal, Unpacked, unpack


def _load() -> Callable[[tuple[str, str, str]], Unpacked | str]:
    def work(asked: tuple[str, str, str]) -> Unpacked | str:
        path, name, folder = asked
        try:
            return unpack(Path(path), name, Path(folder))
        except Refusal as error:
            return str(error)
        except OSError as error:
            return f"it cannot be read: {error.strerror or error}"

    return work


if __name__ == "__main__":
    serve(_load, memory="it needs more than {megabytes} MB of memory to unpack")
