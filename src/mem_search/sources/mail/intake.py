"""What one reading of mail takes: drafts and ledger entries of each message, and of copies none."""

from __future__ import annotations

import logging
from collections.abc import Callable

from mem_search.errors import StorageError
from mem_search.model import LedgerEntry
from mem_search.sources.base import BatchBuilder
from mem_search.sources.mail.attachments import AttachmentReader
from mem_search.sources.mail.drafts import content_digest, drafts_of, identity
from mem_search.sources.mail.message import Mail

log = logging.getLogger(__name__)


class Intake:
    """Puts messages into ``found``, one after the other. Call ``close`` at the end."""

    def __init__(self, found: BatchBuilder) -> None:
        self._found = found
        self._said: dict[str, str] = {}
        """Id → what the message says, so that an id that is used twice loses no message."""
        self._taken: set[str] = set()
        self._attachments = AttachmentReader()

    def close(self) -> None:
        self._attachments.close()

    def take(self, item: str, read: Callable[[], Mail]) -> int:
        """Take the message that ``read`` returns, or say in the ledger why not.

        Returns the number of its records.
        """
        try:
            mail = read()
            is_copy = self._distinguish(mail)
            if not is_copy:
                for name, reason in self._attachments.read(mail):
                    self._found.leave(f"{item}:{name}", reason)
            drafts = [*drafts_of(mail)]
        except ValueError as error:
            self._found.fail(item, str(error))
        except StorageError:
            raise  # a full disk is no fault of the message
        except Exception as error:  # noqa: BLE001 - a broken message may trip the parser anywhere
            log.warning("%s: %r", item, error)
            self._found.fail(item, f"the message is broken ({type(error).__name__}: {error})")
        else:
            if not is_copy:
                records = {draft.source_id: draft for draft in drafts}.values()
                for draft in records:
                    self._found.take(draft, item)
                return len(records)
            self._found.leave(item, "a copy of a message that was read before it")
        return 0

    def note_span(self, place: str, first: int, last: int, taken: int) -> None:
        """One entry for many messages: a mailbox may have a hundred thousand."""
        if taken:
            self._found.note(LedgerEntry(f"{place}:{first}-{last}", "taken", records=taken))

    def _distinguish(self, mail: Mail) -> bool:
        """Whether the same message was read before. Another message with its id gets another id."""
        for inside in mail.messages:
            self._distinguish(inside)
        said = content_digest(mail)
        own = identity(mail)
        if self._said.setdefault(own, said) == said:
            is_copy = own in self._taken
            self._taken.add(own)
            return is_copy
        mail.message_id = f"{own}#{said}"
        is_copy = mail.message_id in self._taken
        self._taken.add(mail.message_id)
        return is_copy
