"""Who asks, what they may, and how much of it: tokens, levels, limits, flags.

Decisions only. Whose store answers is chosen in ``http/dispatch``, on every route; what is kept
of tokens is in ``storage/sqlite/tokens``. docs/security.md is the whole of it in words.
"""
