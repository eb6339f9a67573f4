"""The query language: what a person types, read into words that rank and demands that hold.

``lexer`` cuts the text into tokens, ``fields`` knows what ``field:value`` means, ``grammar``
puts operators and their operands together, ``demands`` normalises and writes what is demanded,
``reading`` is the whole of it: ``read(text) -> Reading``. Every text can be read; what cannot
be meant as it is written is read as words, with a warning. docs/query-language.md is the page
for people.
"""

from mem_search.text.query.demands import canonical
from mem_search.text.query.fields import KnownKinds
from mem_search.text.query.parse import Reading, read

__all__ = ["KnownKinds", "Reading", "canonical", "read"]
