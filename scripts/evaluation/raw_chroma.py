"""Chroma as most programs use it: one vector a record, made by the product's own model.

In this process, in memory, with Chroma's default settings. A record is embedded whole, so the
model cuts it at its window. Each project has a collection, so no filter is needed.
"""

from __future__ import annotations

import uuid
from typing import Any

from dataset import Dataset

from mem_search.contracts import Embedder

_ROWS = 500


class RawChroma:
    """A collection of everything, and one for each project where there are projects."""

    def __init__(self, data: Dataset, embedder: Embedder) -> None:
        import chromadb  # a second, only for who asks for it

        self._embedder = embedder
        self._client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
        # In-memory clients of one process share their collections.
        self._prefix = uuid.uuid4().hex
        self._collections: dict[str, Any] = {}
        for at in range(0, len(data.judged), _ROWS):
            some = data.judged[at : at + _ROWS]
            texts = [f"{d['title']}\n{d['text']}".strip() for d in some]
            vectors = embedder.embed(texts)
            for project in {"", *(d["project"] for d in some)}:
                rows = [row for row, d in enumerate(some) if project in ("", d["project"])]
                self._collection(project).add(
                    ids=[some[row]["source_id"] for row in rows],
                    embeddings=vectors[rows],
                    documents=[texts[row] for row in rows],
                )

    async def search(self, text: str, project: str) -> list[str]:
        if project not in self._collections:
            return []
        found = self._collections[project].query(
            query_embeddings=self._embedder.embed([text]), n_results=10
        )
        return list(found["ids"][0])

    def close(self) -> None:
        for collection in self._collections.values():
            self._client.delete_collection(collection.name)

    def _collection(self, project: str) -> Any:
        if project not in self._collections:
            self._collections[project] = self._client.create_collection(
                f"c{self._prefix}-{len(self._collections)}", embedding_function=None
            )
        return self._collections[project]
