"""``mem-search`` and ``python -m mem_search``: the fast path first, else the whole command line.

``main`` decides first what Ctrl-C does, so that it ends the program without a traceback in the
middle of an import, too. Then it imports only what the fast path needs: see ``cli/fast_path.py``.
"""

import os
import sys

# The C module alone: ``signal`` imports enum, which takes as long as the fast path.
from _signal import SIGINT, default_int_handler, getsignal, signal  # type: ignore[import-not-found]

from mem_search import NO_HOME


def leave(_number: int, _frame: object) -> None:
    """End at once with the code for Ctrl-C. Nothing is lost: output is flushed when written."""
    if os.isatty(2):
        os.write(2, b"\n")  # the prompt begins its own line
    os._exit(130)


def fill_closed() -> None:
    """Open the null device for what is closed of standard input, output and errors, as git does.

    Otherwise a file or a connection gets the number, and is sent what is meant for a person.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def main() -> None:
    """Run the command line and exit with its code; docs/guide.md lists the codes."""
    fill_closed()
    if not os.environ.get("HOME"):
        os.environ.pop("HOME", None)
        if os.path.expanduser("~") == "~":  # noqa: PTH111  nor does passwd have this user
            os.environ["HOME"] = NO_HOME
    if getsignal(SIGINT) is default_int_handler:  # else it is ignored, as after nohup
        signal(SIGINT, leave)
    from mem_search.cli import fast_path

    code = fast_path.run(sys.argv[1:])
    if code is None:
        from mem_search.cli.app import main as run_command

        code = run_command(sys.argv[1:])
    sys.exit(code)


if __name__ == "__main__":
    main()
