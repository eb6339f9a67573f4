"""Records by a facet of theirs."""

from __future__ import annotations

import drafts
from drafts import store
from mem_search.storage.sqlite import facets
from mem_search.storage.sqlite.database import Connection


def test_records_of_the_kind_that_have_it_in_whatever_case(connection: Connection) -> None:
    store(
        connection,
        drafts.draft("a", metadata={"folder": "Scratchpad"}),
        drafts.draft("b", metadata={"folder": "scratchpad"}),
        drafts.draft("c", metadata={"folder": "scratchpad 2"}),
        drafts.draft("d"),
    )
    assert facets.records_with(connection, "note", "folder", "SCRATCHPAD") == (1, 2)
    assert facets.records_with(connection, "file", "folder", "scratchpad") == ()
