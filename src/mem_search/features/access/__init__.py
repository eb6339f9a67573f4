"""Tokens, users who have a store of their own, and what one shows another.

`access/` and `http/access/` are the gate.
"""
