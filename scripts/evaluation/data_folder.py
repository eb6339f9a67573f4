"""The option ``--data`` of every evaluation: a folder of data that is not part of the project."""

from __future__ import annotations

import argparse
from pathlib import Path

SHARED = Path(__file__).parents[3] / "shared" / "data"
"""Beside a checkout."""


def add_data(parser: argparse.ArgumentParser, default: Path, holds: str) -> None:
    """Add ``--data``. ``holds`` says what the folder has: ``citations.tsv and reports``."""
    # A default that is a string is checked like a value that is given.
    parser.add_argument("--data", type=_folder, default=str(default), metavar="DIR", help=holds)


def _folder(value: str) -> Path:
    if not (folder := Path(value)).is_dir():
        raise argparse.ArgumentTypeError(f"{folder} is no folder; name the one with the data")
    return folder
