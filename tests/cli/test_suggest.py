"""``suggest`` and ``--max-tokens``, as a user runs them."""

from __future__ import annotations

import json

from homes import Home


def test_words_are_completed_and_listings_keep_to_their_size(mem: Home) -> None:
    lines = [
        {"kind": "note", "source_id": f"n{i}", "title": f"Authentication {i}", "text": "tokens"}
        for i in range(30)
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    mem.ok("import", "jsonl", "-", given=text)
    assert mem.ok("suggest", "aut").splitlines()[0] == "authentication\tword, 30 records"
    assert json.loads(mem.ok("suggest", "aut", "--json"))["completions"][0]["records"] == 30
    assert mem.run("suggest", "zzz").returncode == 1

    within = mem.ok("search", "tokens", "--max-tokens", "200")
    assert "shown to fit --max-tokens 200; next: --offset " in within
    assert len(within) < len(mem.ok("search", "tokens"))
    assert "Did you mean: tokens?" in mem.run("search", "tokenns", "--mode", "keyword").stdout

    told = mem.ok("analytics")
    assert told.splitlines()[0].startswith("3 searches since ")
    assert "    2  tokens  (30 found, " in told
    assert json.loads(mem.ok("analytics", "--json"))["popular"][0]["query"] == "tokens"
    assert "tokenns\tasked before, 30 records" in mem.ok("suggest", "toke")
    assert mem.ok("analytics", "--forget", "--yes") == "forgot 3 searches\n"
    assert mem.run("analytics").returncode == 1

    refused = mem.run("search", "tokens", "--max-tokens", "7")
    assert refused.returncode == 2
    assert "--max-tokens" in refused.stderr
