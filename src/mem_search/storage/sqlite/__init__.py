"""The record store on SQLite: one writer, pooled readers, SQL near its use.

``database`` owns the connections. Every other module holds plain functions over one
``sqlite3.Connection``, run by ``Database.read`` or ``Database.write``; a write is one
transaction. Nothing outside this package sees a connection for longer than one call.
"""
