"""``/api/v1``: the universal search of seed 000, and the search and fetch of research agents.

The shapes are fixed by contract; docs/api.md explains them. Nothing here searches or renders.
"""
