"""``mem-search`` and ``python -m mem_search``: the fast path first, else the whole command line.

This imports only what the fast path needs: see ``cli/fast_path.py``.
"""

import sys

from mem_search.cli import fast_path


def main() -> None:
    """Run the command line and exit with its code; docs/guide.md lists the codes."""
    try:
        code = fast_path.run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    if code is None:
        from mem_search.cli.app import main as run_command

        code = run_command(sys.argv[1:])
    sys.exit(code)


if __name__ == "__main__":
    main()
