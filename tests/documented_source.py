"""The examples of docs/extending.md: code that tests run."""

import re
import sys
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from mem_search.contracts import Source

_DOCUMENT = Path(__file__).parents[1] / "docs" / "extending.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def documented_code(title: str) -> str:
    """The example with ``title`` at the start of its docstring, or as a line."""
    blocks = _BLOCK.findall(_DOCUMENT.read_text("utf-8"))
    found = [block for block in blocks if f'"""{title}' in block or f"{title}\n" in block]
    assert len(found) == 1, f"docs/extending.md shows no example {title!r}"
    return str(found[0])


def documented_source() -> Source:
    spec = spec_from_loader("documented_mbox", loader=None)
    assert spec is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    exec(compile(documented_code("The source ``mbox``"), str(_DOCUMENT), "exec"), vars(module))
    source: Source = module.Mbox()
    return source
