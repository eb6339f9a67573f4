"""Opening records by what a caller wrote for them: a ref, a number, ``S12``, or an alias."""

from __future__ import annotations

from collections.abc import Sequence

from mem_search.errors import InputError, NotFound
from mem_search.model import Ref
from mem_search.model.records import RecordWithLinks
from mem_search.records.registry import installed_kinds
from mem_search.storage.sql.snapshot import SearchSnapshot
from mem_search.storage.store import SearchStore
from mem_search.text.record_ids import ALIASED, RecordId, is_of_default_store


async def open_record(store: SearchStore, ref: RecordId, field: str = "ref") -> RecordWithLinks:
    """The record that ``ref`` means, with its links.

    Raises NotFound naming ``field``; InputError for an unknown kind, and for an alias that records
    of several stores have.
    """
    opened, others = await store.read(_looked_up, ref)
    if ref.commit:
        if len(opened) == 1:
            return opened[0]
        if not opened:
            raise NotFound(
                f"no commit here begins with {ref.commit};"
                " read its repository: mem-search sync git",
                field=field,
            )
        refs = ", ".join(str(record.ref) for record, _ in opened)
        raise InputError(f"several commits begin with {ref.commit}: open {refs}", field=field)
    if ref.alias:
        if not opened:
            raise NotFound(
                f"no record of {ALIASED} has the id {ref};"
                f" read its store again: mem-search sync {ALIASED}",
                field=field,
            )
        if len(opened) > 1:
            refs = ", ".join(str(record.ref) for record, _ in opened)
            raise InputError(f"{ref} is in several {ALIASED} stores: open {refs}", field=field)
        return opened[0]
    kinds = installed_kinds()
    if ref.foreign:
        kinds.check(Ref(ref.kind, 0), field)
        raise NotFound(f"no record has the id {ref}; ids here end in a number", field=field)
    if ref.kind and (not opened or opened[0][0].kind != ref.kind):
        kinds.check(Ref(ref.kind, ref.number), field)
    hint = "".join(
        f"; {ALIASED}'s own is {ref.as_alias}, here {record.ref}" for record, _ in others
    )
    if not opened:
        raise NotFound(f"no record has the number {ref.number}{hint}", field=field)
    record, links = opened[0]
    if ref.kind and record.kind != ref.kind:
        label = kinds.get(record.kind).label
        raise NotFound(
            f"number {ref.number} is of the kind {label}, not {ref.kind};"
            f" open {record.ref} (HTTP: /api/records/{record.ref}){hint}",
            field=field,
        )
    return record, links


async def open_records(
    store: SearchStore, ids: Sequence[RecordId]
) -> tuple[list[RecordWithLinks], list[RecordId]]:
    """The records that ``ids`` mean, in that order and each once; and the ids that open none."""
    return await store.read(_all_looked_up, ids)


def _looked_up(
    snapshot: SearchSnapshot, ref: RecordId
) -> tuple[list[RecordWithLinks], list[RecordWithLinks]]:
    """What ``ref`` means; and what another program means by it, where it opens nothing here."""
    if ref.alias or ref.foreign or ref.commit:
        return _chosen(snapshot, ref), []
    opened = snapshot.records_with_links([ref.number])
    if opened and ref.kind in ("", opened[0][0].kind):
        return opened, []
    alias = ref.as_alias
    return opened, _chosen(snapshot, RecordId(alias=alias))[:1] if alias else []


def _all_looked_up(
    snapshot: SearchSnapshot, ids: Sequence[RecordId]
) -> tuple[list[RecordWithLinks], list[RecordId]]:
    opened: dict[int, RecordWithLinks] = {}
    missing: dict[RecordId, None] = {}
    for called in ids:
        chosen = _chosen(snapshot, called)
        if len(chosen) == 1:
            opened.setdefault(chosen[0][0].number, chosen[0])
        else:
            missing[called] = None
    return [*opened.values()], [*missing]


def _chosen(snapshot: SearchSnapshot, ref: RecordId) -> list[RecordWithLinks]:
    """The records that ``ref`` means. Of several, the one of the usual store."""
    opened = snapshot.records_with_links(snapshot.records_called([ref])[0])
    usual = [each for each in opened if is_of_default_store(each[0].source_id)]
    return usual if len(usual) == 1 else opened
