"""Searches that are remembered: research chains and their replay, jobs, saved searches, scopes.

All of them ask the universal search and keep, in the store, what is needed to go on after a
restart or to do it again. How any of it looks over HTTP is for ``http/v1`` and ``renderers``.
"""
