"""Access control: tokens, security levels, rate limits.

This package decides; ``http/core/dispatch`` selects the store of the caller on every route, and
``storage/sqlite/tokens`` stores the tokens. docs/security.md describes the whole.
"""
