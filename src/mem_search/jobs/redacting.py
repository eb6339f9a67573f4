"""The job that redacts again what an older version stored, when there are new rules."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from mem_search.ingest.prepare import flagged, redacted
from mem_search.ingest.prepare_process import PrepareProcess
from mem_search.jobs.kept_transcripts import KeptTranscripts
from mem_search.jobs.queue import JobQueue, Report
from mem_search.model import Draft, Filters, Record
from mem_search.model.ingest import PreparedDraft
from mem_search.model.records import HOLDINGS, RecordWithLinks
from mem_search.records.registry import installed_kinds
from mem_search.storage.redacted import SecretBox, clean
from mem_search.storage.store import Store
from mem_search.text.counted import counted
from mem_search.text.redaction import Redaction, rules
from mem_search.text.search_fields import names_in
from mem_search.text.stems import language_of
from mem_search.text.word_forms import has_forms

NAME: Final = "redact"
_PAGE: Final = 200
"""Records at a time: about a tenth of a second of redaction."""


Why = Literal["changed", "flagged", "words", "facts", "citations"]
"""As the result of the job counts them: a secret, a text like instructions, words that other rules
put into the index, facts, citations."""


@dataclass(frozen=True, slots=True)
class _Differing:
    """A record that the rules of today may store otherwise, and why."""

    record: Record
    draft: Draft
    why: Why


class RedactJob:
    """Redact every text of the store with the rules of today, and purge the bytes of the old ones.

    Texts that read like instructions are flagged in the same pass, words put into the index in the
    forms of today, the facts found that documents state, and the citations of reports and pages,
    also those without a link.

    Records keep their numbers; only those that change are prepared, embedded and indexed again.
    ``stored`` is called after records changed. A record that cannot be prepared, such as one of
    a kind whose package is missing, stays as it is and is counted as ``left``.
    """

    name = NAME

    def __init__(
        self,
        store: Store,
        preparing: PrepareProcess,
        purge: Callable[[], Awaitable[object]],
        redaction: Redaction,
        secret_box: SecretBox,
        stored: Callable[[], None],
        kept: KeptTranscripts,
    ) -> None:
        self._store = store
        self._preparing = preparing
        self._purge = purge
        self._redaction = redaction
        self._secret_box = secret_box
        self._stored = stored
        self._kept = kept

    async def run(self, params: Mapping[str, Any], report: Report) -> Mapping[str, Any]:
        """Safe to repeat: a marker is never redacted again."""
        total = sum((await self._store.statistics.totals()).records.values())
        looked = left = after = 0
        counts: dict[str, int] = dict.fromkeys(get_args(Why), 0)
        while page := await self._store.records.export_page(Filters(), after, _PAGE):
            differing = await asyncio.to_thread(self._differing, page)
            for why in counts:
                some = [each for each in differing if each.why == why]
                outcomes = await self._preparing.prepare([each.draft for each in some])
                ready = [
                    (each.record, outcome)
                    for each, outcome in zip(some, outcomes, strict=True)
                    if isinstance(outcome, PreparedDraft)
                ]
                left += len(some) - len(ready)
                if why == "facts":
                    ready = [each for each in ready if each[1].draft.metadata != each[0].metadata]
                elif why == "citations":  # whose places are spans of the text
                    ready = [each for each in ready if each[1].draft.text == each[0].text]
                if not ready:
                    continue
                redacting = self._store.redacting
                write = redacting.relate if why == "citations" else redacting.replace
                counts[why] += await write(ready)
                self._stored()
            after, looked = page[-1][0].number, looked + len(page)
            had = f"{counted(counts['changed'], 'record')} had a secret"
            await report(looked, max(total, looked), had)
        await self._kept.redact()
        texts = await self._store.redacting.redact_texts(self._clean, self._seal_url)
        if counts["changed"] or texts:
            await self._purge()  # their old bytes
        await self._store.redacting.note_rules(rules())
        return {"records": looked, **counts, "texts": texts, "left": left}

    def _differing(self, page: Sequence[RecordWithLinks]) -> list[_Differing]:
        differing = []
        for record, links in page:
            draft = Draft(
                kind=record.kind, source=record.source, source_id=record.source_id,
                text=record.text, title=record.title, created_at=record.created_at,
                updated_at=record.updated_at, project=record.project, session=record.session,
                tags=record.tags, url=record.url, importance=record.importance,
                metadata={**record.metadata, **({"archived": True} if record.archived else {})},
                links=tuple(links),
            )  # fmt: skip
            named = clean(draft, self._redaction)
            if redacted(named) != draft:
                differing.append(_Differing(record, named, "changed"))
            elif flagged(draft) != draft.metadata:
                differing.append(_Differing(record, named, "flagged"))
            elif has_forms(
                f"{record.title}\n{record.text}\n{names_in(record.metadata)}"
            ) or language_of(f"{record.title}\n{record.text}"):
                differing.append(_Differing(record, named, "words"))
            elif installed_kinds().get(record.kind).documents:
                differing.append(_Differing(record, named, "facts"))
            elif record.kind in HOLDINGS:
                differing.append(_Differing(record, named, "citations"))
        return differing

    def _clean(self, text: str) -> str:
        return clean(text, self._redaction)

    def _seal_url(self, url: str) -> str:
        return self._secret_box.close(url) if self._secret_box.open(url) == url else url


async def redact_if_older(store: Store, jobs: JobQueue) -> None:
    """Queue the job if other rules redacted this store, unless it waits already."""
    if await store.redacting.rules() == rules():
        return
    if not any(job.name == NAME for job in await store.jobs.unfinished()):
        await jobs.submit(NAME, {})
