"""The vector index over Chroma. No other package of the store uses Chroma.

    index ── server ┬─ process ── launch ── child      a Chroma that the worker owns
      │             │     └────── directory            its folder: lock, quarantine
      │             └─ remote                          a server that somebody else runs
      └── connection ── wire                           the client, and its way to the owned one

The index is derived data: SQLite holds every vector, so the index can always be rebuilt.
``storage.opening.open_index`` opens it.
"""
