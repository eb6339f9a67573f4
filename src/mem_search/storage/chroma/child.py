"""The process that holds Chroma: run as a script by ``launch``, never imported by mem-search.

It calls the server inside Chroma's native library without importing ``chromadb`` (60 ms instead
of a second). It asks the kernel to end it together with the worker that started it. The server
never releases the interpreter, so no Python thread could watch the worker. Where the kernel cannot
help (macOS), the next worker ends a stale child (``directory``).
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve ``--path`` on ``--host``:``--port`` until SIGTERM."""
    parser = argparse.ArgumentParser(prog="mem-search-chroma")
    for name in ("path", "host", "port"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--parent", required=True, type=int)
    options = parser.parse_args()
    _end_with(options.parent)

    from chromadb_rust_bindings import cli

    cli(["chroma", "run", "--path", options.path, "--host", options.host, "--port", options.port])


def _end_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    # The worker may have ended before the request above: then no signal would come.
    if os.getppid() != parent:
        sys.exit("the worker that started this process has ended")


if __name__ == "__main__":
    main()
