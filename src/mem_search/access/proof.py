"""The proof that a program on a port is the worker that wrote ``worker.json``.

A port is free between two workers, and while one stops; another local user can listen there then.
So a client first sends a challenge, and sends its token only after the reply proved the key in
``worker.json``, which only the owner of the home can read. The proof is a keyed BLAKE2b (RFC 7693)
over challenge and port, so that it cannot be relayed from a worker on another port. Every start
of a worker has a new key.

The command line runs this before every search: the C module loads eight times as fast as hashlib.
"""

from _blake2 import blake2b

CHALLENGE = "X-Mem-Search-Challenge"
PROOF = "X-Mem-Search-Proof"
MAX_CHALLENGE_CHARS = 128


def proof(key: str, challenge: str, port: int) -> str:
    """The answer of the worker with ``key`` (64 characters at most) on ``port``; hexadecimal."""
    message = f"{challenge} {port}".encode("utf-8", "replace")
    return blake2b(message, key=key.encode(), digest_size=32, person=b"mem-search").hexdigest()
