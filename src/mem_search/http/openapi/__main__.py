"""``python -m mem_search.http.openapi`` prints the OpenAPI document of the worker."""

from __future__ import annotations

import sys

from mem_search.http.openapi.document import written
from mem_search.http.routes import ROUTES


def main() -> None:
    sys.stdout.write(written(ROUTES))


if __name__ == "__main__":
    main()
