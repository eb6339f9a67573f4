"""What the product needs of a store, as protocols that no database is named in.

``search`` is the reading side of every search. A store implements them in a package of its own
(``storage/sqlite``); ``tests/contracts/test_stores*.py`` run every store through the same suite.
"""
