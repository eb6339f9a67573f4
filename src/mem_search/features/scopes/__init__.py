"""Filters with a name. The core reads them: ``scope:`` is a field of the query language."""
