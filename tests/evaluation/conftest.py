"""Put the folder of the scripts on the path, as the scripts do: they are no package."""

from __future__ import annotations

import sys

from judged_sets import EVALUATION

sys.path.insert(0, str(EVALUATION))
