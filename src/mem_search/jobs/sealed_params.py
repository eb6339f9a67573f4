"""What jobs are given before the rules of secrets are compiled: stored encrypted, then redacted.

Until then nobody can tell whether a parameter has a secret, so the job waits with its parameters
sealed. Only the worker that was given a secret knows it: it is stored redacted.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from mem_search.errors import MemSearchError
from mem_search.model.jobs import JobState
from mem_search.storage.redacted import Sealed, SecretBox
from mem_search.storage.sql.jobs import StoredJobs
from mem_search.text import secret_rules
from mem_search.text.redaction import MARKER, redact

log = logging.getLogger(__name__)

WAITS_FOR_RULES: Final = "preparing the rules that recognise secrets, once after each start"
RETRY_SECONDS: Final = 5.0
"""Until the store is asked again, after it could not be."""


class SealedParams:
    """The parameters of the jobs in ``store``; without ``secret_box`` nothing waits."""

    def __init__(self, store: StoredJobs, secret_box: SecretBox | None) -> None:
        self._store, self._secret_box = store, secret_box
        self.has_rules = secret_box is None
        self.given: dict[str, Mapping[str, Any]] = {}
        """Parameters of unfinished jobs, which are stored without secrets."""
        self._submitting = asyncio.Lock()
        """Between a look whether there are rules, and what is stored because of it."""

    async def store(
        self, job: str, name: str, params: Mapping[str, Any], *, anywhere: bool
    ) -> None:
        """Store a new job; ``anywhere``: each worker may run it that can know its parameters."""
        self.given[job] = params
        try:
            async with self._submitting:
                if is_early := not self.has_rules:
                    sealed: Any = Sealed(params)
                    await self._store.create(job, name, sealed)
            if not is_early:
                # Only this worker knows a parameter that is not stored.
                is_secret = await asyncio.to_thread(_is_secret, params)
                await self._store.create(job, name, params, anywhere=anywhere and not is_secret)
        except BaseException:
            del self.given[job]
            raise

    def of(self, state: JobState) -> Mapping[str, Any]:
        """The parameters as they are stored, opened where they are sealed."""
        if self._secret_box is not None and Sealed.hold(state.params):
            return Sealed.opened(state.params, self._secret_box)
        return state.params

    async def ready(self) -> None:
        """Wait for the rules of secrets, then store redacted what jobs were given before."""
        if self.has_rules:
            return
        try:
            await secret_rules.ready()
        except Exception:  # each job that has something to redact fails with it
            log.exception("the rules of secrets cannot be compiled")
            self.has_rules = True
        while not self.has_rules:
            try:
                async with self._submitting:
                    for state in await self._store.unfinished(here=True):
                        if Sealed.hold(state.params):
                            params = self.of(state)
                            self.given.setdefault(state.id, params)
                            await self._store.queue_again(state.id, params)
                    self.has_rules = True
            except Exception as error:
                if isinstance(error, MemSearchError):
                    log.warning("jobs wait: %s", error)
                else:
                    log.exception("jobs wait")
                await asyncio.sleep(RETRY_SECONDS)


def names_a_secret(state: JobState) -> bool:
    """Whether a parameter is known only to the worker that was given it."""
    return MARKER in json.dumps(state.params) and "spooled" not in state.params


def _is_secret(params: Mapping[str, Any]) -> bool:
    return redact(json.dumps(params))[1] > 0
