"""Telling other programs over HTTP: signed, retried, and never to an address it must not reach.

What happened and who wants to know is for ``research`` to say; here a message becomes one
signed request, or several until one is accepted. The format is Standard Webhooks
(https://www.standardwebhooks.com), docs/webhooks.md explains ours.
"""
