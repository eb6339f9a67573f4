"""Repositories of git: the only package that opens git's files, and the only one that runs git.

Whoever made a repository chose everything in it: its settings, which may name programs; its links,
pipes and devices, which may have no end. So git's own files are read here, by us, as regular files
with a limit of size (``places``, ``references``, ``changes``), and ``git`` itself runs only in
``process``: on a directory of our own, whose objects are links to those of the repository. None of
its settings, attributes and hooks is there, so there is nothing that git could run. ADR 0015.
"""
