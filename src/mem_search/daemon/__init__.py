"""The worker process: one for each home.

``run`` is the worker in the foreground, ``control`` starts and stops it from outside, ``address``
tells where it answers. What it answers is in ``mem_search.http``.
"""
