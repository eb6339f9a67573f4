"""Names that people give: fit to stand in a path, after a colon, and in a shell."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import StringConstraints

LONGEST: Final = 64
NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{LONGEST - 1}}}")
Name = Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$")]
