"""Webhooks: signed messages to other programs, retried, and only to allowed addresses.

``research`` decides what is sent and to whom; this package sends it until the receiver accepts
it. The format is Standard Webhooks (https://www.standardwebhooks.com); docs/webhooks.md describes
the messages.
"""
