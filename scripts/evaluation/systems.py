"""The systems that can search a judged set, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from dataset import Dataset
from fts5 import Fts5
from grep import Grep
from product import MODES, Product
from raw_chroma import RawChroma

from mem_search.contracts import Embedder
from mem_search.search.pipeline import SearchPipeline

OTHERS = ("grep", "fts5", "chroma")
NAMES = (*OTHERS, *MODES)


class System(Protocol):
    """One way to search the judged documents of a set."""

    async def search(self, text: str, project: str) -> list[str]:
        """The ids of at most ten documents, best first, of ``project`` unless it is empty."""
        ...

    def close(self) -> None: ...


@contextmanager
def opened(
    names: Sequence[str],
    data: Dataset,
    pipeline: SearchPipeline,
    embedder: Embedder,
    extra: Sequence[str] = (),
) -> Iterator[Mapping[str, System]]:
    """The systems called ``names``, in that order, each filled with the judged documents.

    Ours also get the optional parts in ``extra`` (see ``ablation``).
    """
    with ExitStack() as stack:
        systems: dict[str, System] = {}
        for name in names:
            systems[name] = _open(name, data, pipeline, embedder, extra)
            stack.callback(systems[name].close)
        yield systems


def _open(
    name: str, data: Dataset, pipeline: SearchPipeline, embedder: Embedder, extra: Sequence[str]
) -> System:
    match name:
        case "grep":
            return Grep(data)
        case "fts5":
            return Fts5(data)
        case "chroma":
            return RawChroma(data, embedder)
        case _:
            asked = {query.text: query.asked for query in data.queries}
            return Product(pipeline, name, data.judged_kinds, extra, asked)
