"""The command line: a thin client of the worker, which it starts when none runs.

``search_options`` lists the search commands and their options; ``fast_path`` answers plain
searches without loading the framework, ``app`` has every command. The worker makes the listings.
"""
