"""``mem-search`` and ``python -m mem_search``: the quick path first, else the whole command line.

Nothing is imported here but what the quick path needs: see ``cli/fast_path.py``.
"""

import sys

from mem_search.cli.fast_path import quick


def main() -> None:
    """Run the command line and exit with its code; see docs/guide.md for what each means."""
    try:
        code = quick(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    if code is None:
        from mem_search.cli.app import main as whole

        code = whole(sys.argv[1:])
    sys.exit(code)


if __name__ == "__main__":
    main()
