"""How long a test waits for an event before it fails."""

from typing import Final

PATIENCE: Final = 300.0
"""Seconds. Only a failure waits so long; a busy machine may take a minute for what takes one."""
