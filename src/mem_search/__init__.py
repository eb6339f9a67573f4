"""mem-search: a local worker that searches everything a coding agent, or its user, has seen."""

__version__ = "0.1.0"
