"""Access control: tokens, security levels, rate limits.

This package decides; ``http/core/dispatch`` selects the store of the caller on every route, and
the store keeps tokens and limits. docs/security.md describes the whole.
"""
