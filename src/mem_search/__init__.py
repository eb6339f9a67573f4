"""mem-search: a local worker that searches everything a coding agent, or its user, has seen."""

__version__ = "0.1.0"

NO_HOME = "/nonexistent"
"""The home directory of a user who has none, as in Debian's passwd (Debian Policy 9.2.3)."""
