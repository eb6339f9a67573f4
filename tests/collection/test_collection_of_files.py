"""Files of many kinds and odd shapes, read as ``add`` reads a folder: none is lost in silence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import Case
from collected_chats import CHATS
from collected_mail import MAIL
from collected_notes import NOTES
from collected_office import OFFICE
from collected_old_office import OLD_OFFICE
from collected_packed import PACKED
from collected_pages import PAGES
from collected_pdfs import PDFS

from mem_search import sources
from mem_search.extractors.extraction import Extractions
from mem_search.model import Location
from mem_search.model.ingest import unread_of
from mem_search.sources import evernote, files
from mem_search.sources.mail import attachments
from ocr_programs import install_nothing

CASES: tuple[Case, ...] = (*OFFICE, *OLD_OFFICE, *PDFS, *PAGES, *MAIL, *CHATS, *NOTES, *PACKED)


class SharedExtractions(Extractions):
    """Processes that outlast a reading, until ``end``."""

    def close(self) -> None:
        """Nothing: the next case reads on."""

    def end(self) -> None:
        super().close()


@pytest.fixture(scope="module", autouse=True)
def one_reading_of_all() -> Iterator[None]:
    """The processes read one case after the other, as they do the files of one folder: to start
    one takes ten times what it reads.
    """
    shared = SharedExtractions()
    with pytest.MonkeyPatch.context() as patch:
        for module in (files, attachments, evernote):
            patch.setattr(module, "Extractions", lambda *_: shared)
        yield
    shared.end()


def read(folder: Path) -> tuple[list[str], list[str]]:
    """The words of each record, and what is said of things that were not read."""
    words, said = [], []
    for name in sources.names_at(folder):
        for batch in sources.by_name(name).read(Location(name, str(folder)), {}):
            for draft in batch.drafts:
                told = json.dumps(dict(draft.metadata), ensure_ascii=False)
                words.append("\n".join([draft.title, draft.text, *draft.tags, draft.url, told]))
                said += unread_of(draft.metadata)
            said += [
                f"{entry.item}: {entry.reason}"
                for entry in batch.ledger
                if entry.outcome != "taken" and not entry.item.startswith("files of the source")
            ]
    return words, list(dict.fromkeys(said))


@pytest.mark.worker
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}-{case.shape}")
def test_what_a_file_says_is_found_or_named(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_nothing(tmp_path, monkeypatch)
    folder = tmp_path / "folder"
    for name, data in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    words, said = read(folder)
    whole = "\n".join(words)
    assert [each for each in case.found if each not in whole] == [], whole[:2000]
    assert [each for each in case.absent if each in whole] == [], whole[:2000]
    assert [each for each in case.said if not any(each in line for line in said)] == [], said
    assert [line for line in said if not any(each in line for each in case.said)] == []
    assert case.records in (0, len(words))


def test_the_collection_is_large_and_of_many_kinds() -> None:
    assert len(CASES) >= 150
    assert len({case.kind for case in CASES}) >= 30
    assert [
        each for each, count in Counter((c.kind, c.shape) for c in CASES).items() if count > 1
    ] == []
