"""A package of a third party whose kind does to the worker what its records say."""

from pathlib import Path

from mem_search.records.registry import ENTRY_POINTS

KIND = """
import os, re, signal, sys, time
from mem_search.records.base import BaseKind, Metadata

class Hostile(BaseKind[Metadata]):
    name = "hostile"
    plural = "hostiles"
    label = "Hostile"
    sign = "H"
    model = Metadata

    def compose(self, draft):
        print("a plug-in may print")
        match draft.text.partition(" ")[0]:
            case "spin":
                re.match("(a|a)*b", "a" * 60)  # for hours, with the interpreter's lock held
            case "sleep":
                time.sleep(3600)
            case "grow":
                held = [bytes(2**20) for _ in range(100_000)]
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "break":
                raise ZeroDivisionError("a bug")
            case "once":
                marker = draft.text.split()[1]
                if not os.path.exists(marker):
                    open(marker, "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)
        return draft
"""


def install(folder: Path) -> None:
    """Write the package into ``folder``, which has to be on the import path."""
    folder.mkdir(exist_ok=True)
    (folder / "hostile_module.py").write_text(KIND)
    info = folder / "hostile-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nhostiles = hostile_module:Hostile\n")
