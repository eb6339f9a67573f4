"""The frame of the worker's own pages: one document, one style, nothing from outside."""

from __future__ import annotations

import base64
import hashlib
from html import escape

TYPE = "text/html"


def policy(style: str) -> str:
    """A Content-Security-Policy under which only ``style`` has any effect."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )


def document(title: str, style: str, body: str) -> str:
    """A page; ``body`` is HTML, ``title`` is text."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{body}</body>\n</html>\n"
    )
