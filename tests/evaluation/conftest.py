"""The scripts under test are no package: their folder is put on the path, as they do."""

from __future__ import annotations

import sys

from judged_sets import EVALUATION

sys.path.insert(0, str(EVALUATION))
