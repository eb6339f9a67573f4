"""The source that docs/extending.md shows, as a module that can be imported."""

import re
import sys
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from mem_search.contracts import Source

_DOCUMENT = Path(__file__).parents[1] / "docs" / "extending.md"
_BLOCK = re.compile(r"^```python\n(\"\"\"The source ``mbox``.*?)^```$", re.MULTILINE | re.DOTALL)


def documented_code() -> str:
    found = _BLOCK.search(_DOCUMENT.read_text("utf-8"))
    assert found is not None, "docs/extending.md shows no source"
    return found[1]


def documented_source() -> Source:
    spec = spec_from_loader("documented_mbox", loader=None)
    assert spec is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    exec(compile(documented_code(), str(_DOCUMENT), "exec"), vars(module))
    source: Source = module.Mbox()
    return source
