"""Webhooks: signed messages to other programs, retried, and only to allowed addresses.

``research`` creates the messages; this package sends each until the receiver accepts it. The format
is Standard Webhooks (https://www.standardwebhooks.com); docs/webhooks.md describes the messages.
"""
