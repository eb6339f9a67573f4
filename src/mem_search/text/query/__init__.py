"""The query language: a text becomes words that rank and a demand that every result meets.

``lexer`` makes tokens, ``fields`` reads ``field:value``, ``grammar`` builds the tree of operators,
``demands`` normalizes and writes demands, and ``parse`` is the whole: ``read(text) -> Reading``.
Every text can be read: operators that make no sense are read as words, with a warning.
docs/query-language.md describes the language.
"""

from mem_search.text.query.demands import canonical
from mem_search.text.query.fields import KnownKinds
from mem_search.text.query.parse import Reading, read

__all__ = ["KnownKinds", "Reading", "canonical", "read"]
