"""The routes of claude-mem's worker that its own clients use, in their shapes (ADR 0007).

Its hooks, its MCP server and its plug-ins for other agents work against this worker when their
settings name its port. Each route is a thin adapter over the parts that every other route uses:
``capture`` leaves events for the same reader as our own hooks, ``reading`` and ``corpora`` search
through the same service, ``importing`` stores through the same writer. ``clients`` says which
requests come from such a client; ``rows`` writes a record as a row of claude-mem's tables.

Requests and replies are those of claude-mem 13.25, as its clients were seen to send and read them.
They are a contract of another program, so they are not in our OpenAPI document;
docs/contracts/claude-mem.md describes them.
"""
