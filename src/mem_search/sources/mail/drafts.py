"""A message as drafts: an e-mail, its attachments as files, the messages inside it as e-mails."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from mem_search.model import Draft, Link
from mem_search.model.ingest import with_unread
from mem_search.model.records import CONTENT_ID, ONLY_COPY, WHOLE_TEXT
from mem_search.sources.mail.attachments import inner_draft
from mem_search.sources.mail.bodies import take_apart
from mem_search.sources.mail.message import MAX_TEXT_CHARS, Attachment, Event, Mail
from mem_search.text.date_words import to_ms
from mem_search.text.shortening import cut

NAME: Final = "mail"
ATTACHED: Final = "attachment"
"""The relation from a message to what is attached to it. The attached record has no link back: a
message that was forwarded as a file is the same record wherever it was found."""

_MAX_ATTACHMENTS: Final = 200
_MAX_LISTED: Final = 50
_DIGEST: Final = 16
"""Characters of the hash of an attachment in its id: the same file has the same id in a message
that uses the message id of another one, and another file has not."""


def drafts_of(mail: Mail) -> Iterator[Draft]:
    """The drafts of ``mail``, the message itself first. Raises ValueError when it is empty."""
    own = identity(mail)
    reply = take_apart(cut(mail.text, MAX_TEXT_CHARS))
    files: list[Draft] = []
    held: list[Draft] = []
    shown: list[Draft] = []
    sent = to_ms(mail.sent) if mail.sent else None
    for number, attachment in enumerate(mail.attachments[:_MAX_ATTACHMENTS], 1):
        file = _file(own, number, attachment, mail)
        inner = [inner_draft(draft, file.source_id, sent) for draft in attachment.inner]
        # Appointments are linked as they are: nobody looks for the file that they came in.
        (shown if attachment.is_told else held).extend(inner)
        files += [] if attachment.is_told else [file]
    if (more := len(mail.attachments) - _MAX_ATTACHMENTS) > 0:
        mail.unread.append(f"{more} of its attachments were not read")
    if (more := len(mail.messages) - _MAX_ATTACHMENTS) > 0:
        mail.unread.append(f"{more} of the messages in it were not read")
    inside = [[*drafts_of(each)] for each in mail.messages[:_MAX_ATTACHMENTS] if not is_empty(each)]
    attached = [
        *(draft.source_id for draft in (*files, *shown)),
        *(drafts[0].source_id for drafts in inside),
    ]
    if is_empty(mail):
        raise ValueError("the message is empty: it has no subject, no text and no attachment")
    answered = mail.in_reply_to[:1] or mail.references[-1:]
    names = [
        *(a.name or a.media_type for a in mail.attachments),
        *(m.subject for m in mail.messages),
    ]
    thread = next(iter([*mail.references, *mail.in_reply_to]), own)
    metadata: dict[str, object] = {
        CONTENT_ID: content_digest(mail),
        "from": mail.sender,
        "to": mail.to,
        "cc": mail.cc,
        "bcc": mail.bcc,
        "reply_to": mail.reply_to,
        "date": mail.sent.isoformat() if mail.sent else "",
        "message_id": mail.message_id,
        "in_reply_to": answered[0] if answered else "",
        "thread_id": thread,
        "mailing_list": mail.mailing_list,
        "attachments": [name for name in names if name],
        "quoted": reply.quoted,
        "signature": reply.signature,
        WHOLE_TEXT: "\n\n".join([reply.whole, *mail.more]) if reply.whole else "",
        ONLY_COPY: mail.only_copy,
        **_of_event(mail.events),
    }
    if len(mail.text) > MAX_TEXT_CHARS:
        metadata["cut_at"] = MAX_TEXT_CHARS
    yield Draft(
        kind="email",
        source=NAME,
        source_id=own,
        title=mail.subject,
        text="\n\n".join(filter(None, (reply.own, *mail.more, *map(_event_text, mail.events))))
        or ", ".join(names),
        created_at=sent,
        session=thread,
        tags=tuple(label for label in mail.labels if label),
        metadata=with_unread({n: value for n, value in metadata.items() if value}, mail.unread),
        links=(
            *(Link(answer, "replies_to") for answer in answered),
            *(Link(each, ATTACHED) for each in attached),
        ),
    )
    yield from files
    yield from held
    yield from shown
    for drafts in inside:
        yield from drafts


def identity(mail: Mail) -> str:
    """Its message id, else a hash of what it says, the same in whatever file it lies."""
    if mail.message_id:
        return mail.message_id
    said = [mail.subject, *mail.sender, "\0", *mail.to, str(mail.stated), mail.text]
    said += [each.digest for each in mail.attachments]
    return "sha256:" + hashlib.sha256("\n".join(said).encode("utf-8", "replace")).hexdigest()[:32]


def held_as(draft: Draft) -> str:
    """How a location names a record that it has (``Batch.released``): a message by its id and its
    content, an attachment by its id, which has the hash of its content."""
    content = draft.metadata.get(CONTENT_ID)
    if not content or draft.source_id.endswith(f"#{content}"):
        return draft.source_id
    return f"{draft.source_id}#{content}"


def content_digest(mail: Mail) -> str:
    """A digest that tells messages with one message id apart when they say different things.

    It is made from what was sent, so that it stays when a later version reads a text better.
    """
    said = [mail.subject, str(mail.stated), *(mail.parts or [mail.text])]
    said += [each.digest for each in mail.attachments]
    data = "\0".join(said).encode("utf-8", "replace")
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def is_empty(mail: Mail) -> bool:
    """Whether there is nothing that it could be found by."""
    content = (
        mail.subject
        or mail.text.strip()
        or mail.more
        or mail.attachments
        or mail.messages
        or mail.events
    )
    return not content


def _file(own: str, number: int, attached: Attachment, mail: Mail) -> Draft:
    """Without text of its own, a file is found by its name, its type and the message's subject."""
    name = attached.name or f"attachment {number}"
    about = f"{name} ({attached.media_type}), attached to “{mail.subject or own}”"
    if attached.inner:
        titles = [each.title for each in attached.inner[:_MAX_LISTED]]
        more = len(attached.inner) - len(titles)
        about += f"\n\nIt holds {', '.join(titles)}{f' and {more} more' if more else ''}"
    metadata: dict[str, object] = {
        "path": name,
        "media_type": attached.media_type,
        "size": attached.size,
        "sha256": attached.digest,
        "attached_to": own,
        **({"sender": mail.sender} if mail.sender else {}),
        **attached.said,
    }
    if len(attached.text) > MAX_TEXT_CHARS:
        metadata["cut_at"] = MAX_TEXT_CHARS
    return Draft(
        kind="file",
        source=NAME,
        source_id=f"{own}#{attached.digest[:_DIGEST]}",
        title=name,
        text=cut(attached.text, MAX_TEXT_CHARS) if attached.text.strip() else about,
        created_at=to_ms(mail.sent) if mail.sent else None,
        metadata=with_unread(metadata, attached.unread),
    )


def _of_event(events: list[Event]) -> dict[str, object]:
    """The metadata of the first appointment; the text has all."""
    if not events:
        return {}
    first = events[0]
    return {"event_name": first.name, "event_date": first.start, "location": first.location}


def _event_text(event: Event) -> str:
    when = " to ".join(filter(None, (_event_time(event.start), _event_time(event.end))))
    lines = (
        ("Event", event.name), ("When", when), ("Where", event.location),
        ("Organizer", event.organizer), ("", event.description),
    )  # fmt: skip
    return "\n".join(f"{label}: {value}" if label else value for label, value in lines if value)


def _event_time(value: str) -> str:
    """``20260301T100000Z`` as ``2026-03-01 10:00 UTC``; anything else as it is."""
    day, _, clock = value.partition("T")
    if len(day) != 8 or not day.isdigit():
        return value
    shown = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    if len(clock) < 4 or not clock[:4].isdigit():
        return shown
    return f"{shown} {clock[:2]}:{clock[2:4]}" + (" UTC" if clock.endswith("Z") else "")
