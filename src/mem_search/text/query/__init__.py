"""The query language: a text becomes words that rank and a demand that every result meets.

``lexer`` makes tokens, ``fields`` reads ``field:value``, ``grammar`` builds the tree of operators,
``demands`` normalizes and writes demands, and ``parse`` is the whole: ``read(text) -> Reading``.
Every text can be read: operators that make no sense are read as words, with a warning.
docs/query-language.md describes the language.
"""
