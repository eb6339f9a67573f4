"""Tokens, and users who have a store of their own; `access/` and `http/access/` are the gate."""
