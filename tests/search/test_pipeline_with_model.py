"""What the bundled model finds, and what it must not find, over realistic records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import drafts
from mem_search.model import SearchRequest
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill, small

TEXTS = {
    "login": "Authentication: the login form now checks the password against the session store.",
    "pool": "Raised the database connection pool to 40 because requests timed out under load.",
    "cache": "The cache kept stale prices for an hour; entries now expire after a minute.",
    "ci": "The build failed since the runner had no disk space left; old images are pruned.",
    "parser": "Rewrote the tokenizer so that nested quotes in CSV fields are read correctly.",
    "bread": "Sourdough recipe: 500 g flour, 350 g water, 10 g salt, rest overnight.",
    "trip": "Train to Lisbon on the 14th, hotel near the river, back on Sunday evening.",
    "mail": "Outgoing mail was rejected as spam until we published SPF and DKIM records.",
    "memory": "The worker leaked memory: listeners were never removed after a reconnect.",
    "index": "Added an index on orders(customer_id); the report went from 9 s to 80 ms.",
    "rename": "Renamed the module billing to invoicing and moved its tests along.",
    "dark": "Dark mode: colours come from variables, the switch follows the system.",
    "retry": "HTTP calls are tried again three times with growing pauses and some jitter.",
    "docs": "Wrote a guide for new contributors: set up, first test, first pull request.",
    "flaky": "The flaky test waited for a fixed second; it now waits for the event itself.",
    "unicode": "File names with accents were decomposed on macOS; names are now normalised.",
    "deploy": "Deployment moves to blue-green: the old version stays until checks pass.",
    "rights": "Only admins may delete a project; members can archive it instead.",
    "upload": "Large uploads are sent in parts of 8 MB and go on after a lost connection.",
    "search": "Search results are highlighted and grouped by the folder they lie in.",
    "tax": "VAT for customers in Norway is 25 percent and is shown on every invoice.",
    "queue": "Moved image resizing out of the request into a background queue.",
    "log": "Logs are rotated daily and kept for two weeks; errors go to a file of their own.",
    "cookie": "The cookie banner came back at each visit since the choice was not kept.",
    "types": "Turned on strict type checks; forty places returned None without saying so.",
    "garden": "Tomatoes need water every morning in July; the basil stands in the shade.",
    "meeting": "Meeting notes: the release slips by one week, Anna writes to the customers.",
    "lock": "Two jobs wrote to the same file; a lock file now keeps the second one out.",
    "zone": "Dates were shifted by a day for users west of Greenwich; all times are UTC now.",
    "pdf": "Exported PDFs had empty pages when a table was longer than the page.",
    "sso": "Company accounts can use single sign-on with SAML, set up per tenant.",
    "price": "Prices are kept in cents as whole numbers; floats had lost a cent here and there.",
    "font": "The web font is loaded late so that text shows at once in a system font.",
    "graph": "The chart of weekly sales skips days without an order instead of showing zero.",
    "backup": "Backups run at 3 a.m., are encrypted, and a restore is tried each month.",
    "limit": "Clients get at most 100 requests a minute, then an answer with status 429.",
    "undo": "Deleting a note can be undone for ten seconds before it is really gone.",
    "wasm": "The image filter was compiled to WebAssembly and is now five times faster.",
    "book": "Read The Name of the Rose; the library as a labyrinth is a lovely idea.",
    "run": "Ran 12 km along the canal in 65 minutes; the left knee is fine again.",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runtime]:
    home: Path = tmp_path_factory.mktemp("home")
    async with open_runtime(small(home, embedder="bundled")) as runtime:
        await fill(runtime, *(drafts.draft(name, text) for name, text in TEXTS.items()))
        yield runtime


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    "text", ["zzqqxx", "qwxzv bnmpl", "asdf jkl qwer", "xyzzy", "ŋŋŋ ßßß", "!!! ???"]
)
async def test_nonsense_finds_nothing(full: Runtime, text: str) -> None:
    page = await full.search.pipeline.search(SearchRequest(text))
    assert [result.record.source_id for result in page.results] == []
    assert page.total == 0


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how do users sign in", "login"),
        ("slow query made fast", "index"),
        ("wrong day shown because of time zones", "zone"),
        ("monetary rounding mistakes", "price"),
        ("holiday in Portugal", "trip"),
    ],
)
async def test_a_question_in_other_words_finds_what_it_means(
    full: Runtime, question: str, expected: str
) -> None:
    page = await full.search.pipeline.search(SearchRequest(question, limit=5))
    assert expected in [result.record.source_id for result in page.results]
