"""The notes of a vault: their links are edges, whichever note comes first and where it goes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mem_search.model import Location, SearchRequest
from mem_search.retrievers.graph import related
from mem_search.wiring import Runtime, open_runtime
from runtimes import small

NOTES = {
    "trips/Lisbon.md": "---\naliases: [White City]\n---\n# Lisbon\n\n"
    "Went with [[Ana]] ![[Tram 28#Route|map]].",
    "people/Ana.md": "Lives in the [[White City|city]]: [the tram](../trips/Tram%2028.md#Route).",
    "trips/Tram 28.md": "Runs past [[trips/Lisbon]].\n\n```sh\nif [[ -f x ]]; then [[Ana]]; fi\n"
    "echo [Ana](../people/Ana.md)\n```\nNot `[[Ana]]`, nor `[a](../people/Ana.md)`.",
}


def write(vault: Path, notes: Mapping[str, str]) -> None:
    for name, text in notes.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text, "utf-8")


async def edges(runtime: Runtime, path: Path) -> set[tuple[str, str, str]]:
    record = await runtime.store.records.named("files", str(path))
    assert record is not None
    cloud = await runtime.search.store.read(related, record.number, depth=2)
    titles = {node.ref: node.title for node in cloud.nodes}
    found = (e for e in cloud.edges if e.origin != "derived")
    return {(titles[edge.start], edge.relation, titles[edge.end]) for edge in found}


async def test_the_links_of_a_vault_are_edges_and_follow_a_renamed_note(tmp_path: Path) -> None:
    vault, place = tmp_path / "vault", Location("files", str(tmp_path / "vault"))
    write(vault, NOTES)
    async with open_runtime(small(tmp_path / "home")) as runtime:
        await runtime.ingest.reader.read(place)
        assert await edges(runtime, vault / "trips/Lisbon.md") == {
            ("Lisbon", "mentions", "Ana"),
            ("Lisbon", "embeds", "Tram 28"),
            ("Ana", "mentions", "Lisbon"),
            ("Ana", "mentions", "Tram 28"),
            ("Tram 28", "mentions", "Lisbon"),
        }
        # As an editor renames a note: the file moves, and so do the links to it that it knows of.
        (vault / "trips/Tram 28.md").rename(vault / "Eléctrico 28.md")
        write(vault, {"trips/Lisbon.md": NOTES["trips/Lisbon.md"].replace("Tram", "Eléctrico")})
        await runtime.ingest.reader.read(place)
        assert ("Lisbon", "embeds", "Eléctrico 28") in await edges(
            runtime, vault / "trips/Lisbon.md"
        )
        # A link that was not changed waits until there is such a note again.
        assert ("Ana", "mentions", "Tram 28") not in await edges(runtime, vault / "people/Ana.md")
        write(vault, {"trips/Tram 28.md": "The tram is back."})
        await runtime.ingest.reader.read(place)
        assert ("Ana", "mentions", "Tram 28") in await edges(runtime, vault / "people/Ana.md")


async def test_a_note_is_in_its_folder_and_the_scratchpad_stays_hidden(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, {"Top.md": "kestrel one", "birds/2025/Kestrel.md": "kestrel two",
                  "birds/Own.md": "---\nfolder: Mine\n---\nkestrel three",
                  "Scratchpad/later.md": "kestrel four"})  # fmt: skip
    async with open_runtime(small(tmp_path / "home")) as runtime:
        await runtime.ingest.reader.read(Location("files", str(vault)))

        async def found(**asked: Any) -> set[str]:
            request = SearchRequest("kestrel", mode="keyword", **asked)
            page = await runtime.search.pipeline.search(request)
            return {result.record.text.removeprefix("kestrel ") for result in page.results}

        assert await found() == {"one", "two", "three"}
        assert await found(scratchpad=True) == {"one", "two", "three", "four"}
        assert await found(folder="birds/2025") == {"two"}
        assert await found(folder="mine") == {"three"}
        assert await found(folder="scratchpad") == {"four"}
