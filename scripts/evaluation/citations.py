"""Are the pages that each report of an archive cites found, and nothing else.

``citations.tsv`` has the columns ``report`` and ``url``. Addresses are compared by the name of
their page (``text/page_names.py``). An address that lost its closing bracket, as
some tools write it, is compared as it is and counts against the product.
"""

from __future__ import annotations

import csv
import sys
import time
from collections import Counter, defaultdict

from stores import SHARED, options

from mem_search.text import cites
from mem_search.text.page_names import page_name

LEAST_PRECISION, LEAST_RECALL = 0.98, 0.97


def main() -> int:
    told = "with citations.tsv and reports"
    parser = options("citations", __doc__, data=told, default=SHARED / "archive")
    folder = parser.parse_args().data
    truth: dict[str, set[str]] = defaultdict(set)
    with (folder / "citations.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            truth[row["report"]].add(page_name(row["url"]))
    counts, forms = Counter[str](), Counter[str]()
    started = time.process_time()
    for report, wanted in sorted(truth.items()):
        text = (folder / "research-archive" / f"{report}.md").read_text("utf-8")
        places = cites.find(text)
        forms.update(place.form for place in places)
        found = {page for place in places if (page := page_name(place.target))}
        counts.update(right=len(found & wanted), extra=len(found - wanted),
                      missed=len(wanted - found))  # fmt: skip
        for word, pages in (("extra", found - wanted), ("missed", wanted - found)):
            for page in sorted(pages):
                print(f"{report}: {word}: {page}")
    precision = counts["right"] / max(1, counts["right"] + counts["extra"])
    recall = counts["right"] / max(1, counts["right"] + counts["missed"])
    print(f"{len(truth)} reports, {sum(map(len, truth.values()))} pages, {forms.total()} places:",
          ", ".join(f"{count} {form}" for form, count in forms.most_common()))  # fmt: skip
    print(f"precision {precision:.4f}, recall {recall:.4f}, {time.process_time() - started:.2f} s")
    return 0 if precision >= LEAST_PRECISION and recall >= LEAST_RECALL else 1


if __name__ == "__main__":
    sys.exit(main())
