"""``/api/v2/search``: search with the caller's own weights, by meaning alone, and its numbers.

The shapes are fixed by contract; docs/hybrid-search.md explains them. Nothing here searches.
"""
