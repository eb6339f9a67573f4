"""The command line: a thin client of the worker, which it starts when none runs.

``table`` lists the search commands and their options; ``quick`` answers the plain ones without
loading the framework, ``app`` has everything. Listings are the worker's own text.
"""
