"""The process that reads files: ``extraction`` starts it with ``python -m``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from mem_search.extractors.refusal import Refused, Unreadable
from mem_search.limited_process import serve
from mem_search.model.ingest import Extracted

_MAX_TEXT_CHARS: Final = 10_000_000
_MEMORY: Final = "it needs more than {megabytes} MB of memory to read"


def _load() -> Callable[[tuple[str, str, int, bool, bool]], Extracted | Refused]:
    from mem_search.extractors import extract, ocr

    def read(asked: tuple[str, str, int, bool, bool]) -> Extracted | Refused:
        path, name, page, links, pictures = asked
        ocr.look_into_pictures(pictures)
        try:
            document = extract(Path(path), name, page, links=links)
        except Unreadable as error:
            return Refused(error.reason, error.empty)
        except MemoryError:
            raise
        except OSError as error:
            return Refused(f"it cannot be opened: {error.strerror or error}")
        except Exception as error:  # noqa: BLE001  a library may raise anything over a bad file
            return Refused(f"it is damaged: {type(error).__name__}: {str(error)[:200]}")
        if len(document.text) > _MAX_TEXT_CHARS:
            most = f"{_MAX_TEXT_CHARS // 10**6} million characters"
            return Refused(f"its text is longer than {most}; split it and add the parts")
        return document

    return read


if __name__ == "__main__":
    serve(_load, memory=_MEMORY)
