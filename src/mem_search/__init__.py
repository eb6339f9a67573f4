"""mem-search: one local worker that finds anything a coding agent, or its person, has seen."""

__version__ = "0.1.0"
