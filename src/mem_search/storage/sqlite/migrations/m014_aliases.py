"""The step ``m014_aliases``."""

from __future__ import annotations

import sqlite3

_FORMS = (("observation", ""), ("session_summary", "S"), ("user_prompt", "P"))


def m014_aliases(connection: sqlite3.Connection) -> None:
    """Records of claude-mem are known by its own ids, too: ``cm:2001``, ``cm:S12``, ``cm:P7``."""
    for kind, letter in _FORMS:
        # The row's number follows the last colon; a prefix names another store than the usual one.
        connection.execute(
            "insert or ignore into names(name, record_id)"
            " select 'id:cm:' || ?2 || cast(substr(source_id, instr(source_id, ?1) + ?3) as int),"
            " id from records where source = 'claude-mem' and kind = ?4"
            " and (source_id glob ?1 || '[0-9]*' or source_id glob '????????:' || ?1 || '[0-9]*')",
            (f"{kind}:", letter, len(kind) + 1, kind),
        )
    connection.execute(
        "update edges set to_id = (select min(n.record_id) from names n where n.name = edges.key"
        " and n.record_id != edges.from_id)"
        " where to_id is null and key >= 'id:cm:' and key < 'id:cm;'"
    )
