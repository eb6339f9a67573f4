"""The life of a worker: one per home, from its lock to its last log line.

``run`` is the worker in the foreground; ``start`` and ``stop`` act on one from outside;
``address`` says where it answers. What the worker answers is ``mem_search.http``.
"""
