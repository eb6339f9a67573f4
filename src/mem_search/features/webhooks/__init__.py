"""Webhooks: signed messages to other programs, retried, and only to allowed addresses.

Other features create the messages; ``service`` sends each until the receiver accepts it, ``mail``
one as e-mail. The format is Standard Webhooks (https://www.standardwebhooks.com); docs/webhooks.md
describes the messages.
"""
