"""How many lines of ordinary code, prose and logs are taken for secrets.

The corpus is made of what is installed, so nothing is kept here: Python's own library and the
packages of the environment, this project's documents and history, and logs written for it. Nothing
in it is a secret, but for test keys of some packages: each finding is printed with its line.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import sysconfig
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = 20_000
PIECE = 50
"""Lines that are read together: a finder looks at the lines around a value."""
SORTS = {
    "code": ("*.py", "*.pyi", "*.js", "*.c", "*.h"),
    "prose": ("*.md", "*.rst", "*.txt"),
    "data": ("*.json", "*.toml", "*.yaml", "*.yml", "*.cfg", "METADATA", "RECORD"),
}
MAX_FILE_CHARS = 400_000


def corpus(lines: int = LINES, seed: int = 1) -> list[tuple[str, str]]:
    """(where it is from, text) of ``lines`` lines in all: half of them code, the rest mixed."""
    rng = random.Random(seed)
    sources = {name: pieces(files(*patterns), rng) for name, patterns in SORTS.items()}
    sources |= {"history": pieces_of("git log", history(), rng), "log": logs(rng)}
    shares = {"code": 0.5, "prose": 0.2, "data": 0.1, "history": 0.1, "log": 0.1}
    made: list[tuple[str, str]] = []
    for name, share in shares.items():
        left = round(lines * share)
        for place, text in sources[name]:
            taken = text.split("\n")[:left]
            made.append((f"{name} {place}", "\n".join(taken)))
            left -= len(taken)
            if left <= 0:
                break
    return made


def files(*patterns: str) -> list[Path]:
    """Files of Python's library, of the installed packages and of this project."""
    paths = sysconfig.get_paths()
    found = set()
    for folder in (Path(paths["stdlib"]), Path(paths["purelib"]), ROOT / "docs", ROOT / "src"):
        for each in patterns:
            found |= {file for file in folder.rglob(each) if _is_of(folder, file)}
    return sorted(found)


def _is_of(folder: Path, file: Path) -> bool:
    """Whether ``file`` belongs to Python's library, and not to packages of the system in it."""
    return not {"site-packages", "dist-packages"} & set(file.relative_to(folder).parts)


def pieces(found: list[Path], rng: random.Random) -> Iterator[tuple[str, str]]:
    """A piece of each file, in a random order, again and again."""
    while found:
        for file in rng.sample(found, len(found)):
            if file.is_file() and file.stat().st_size <= MAX_FILE_CHARS:
                text = file.read_text("utf-8", "replace")
                yield next(pieces_of("/".join(file.parts[-3:]), text, rng))


def pieces_of(place: str, text: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Pieces of one text, at random."""
    lines = text.split("\n")
    while True:
        at = rng.randrange(max(1, len(lines) - PIECE))
        yield f"{place}:{at + 1}", "\n".join(lines[at : at + PIECE])


def history() -> str:
    """The log of this checkout; this project's documents where there is none."""
    run = ["git", "-C", str(ROOT), "log", "--stat", "-n", "500"]
    log = subprocess.run(run, capture_output=True, text=True, check=False)
    if log.returncode == 0 and log.stdout:
        return log.stdout
    return "\n".join(file.read_text("utf-8") for file in sorted((ROOT / "docs").rglob("*.md")))


def logs(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Logs of servers, builds and package managers, with ids, hashes and addresses."""

    def id_() -> str:
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))

    def sha(length: int = 40) -> str:
        return f"{rng.getrandbits(length * 4):0{length}x}"

    makers = (
        lambda: f'10.0.{rng.randrange(256)}.7 - - "GET /a/{id_()}?page=2 HTTP/1.1" 200 {sha(4)}',
        lambda: f"INFO request_id={id_()} trace={sha(32)} span={sha(16)} took={rng.random():.3f}s",
        lambda: f"DEBUG session {id_()} opened for user-{rng.randrange(999)} (pid {sha(4)})",
        lambda: f"Step {rng.randrange(30)}/30 : COPY --from=build ---> {sha(12)}",
        lambda: f"docker.io/library/python@sha256:{sha(64)}",
        lambda: f"{sha()} refs/pull/{rng.randrange(9999)}/head",
        lambda: f"ERROR password authentication failed for user app{rng.randrange(99)}",
        lambda: f"WARN token for client {rng.randrange(999)} expired at 2026-01-02T03:04:05Z",
        lambda: f'    "integrity": "sha512-{sha(64)}{sha(22)}==",',
        lambda: f"Downloading wheel-{rng.randrange(9)}.{rng.randrange(99)}.tar.gz#sha256={sha(64)}",
        lambda: f"GET https://cdn.example.com/assets/app.{sha(20)}.js?v={rng.randrange(10**9)}",
        lambda: f"I{rng.randrange(9999)} 12:00:01 key=user:{rng.randrange(10**6)} hit ttl=300",
        lambda: f"at com.example.Auth.checkPassword(Auth.java:{rng.randrange(999)})",
        lambda: f'etag: "{sha(32)}" x-request-id: {id_()}',
    )
    while True:
        yield "made", "\n".join(rng.choice(makers)() for _ in range(PIECE))


def lines_of(folder: Path, rng: random.Random) -> list[tuple[str, str]]:
    """Texts of a folder, for trying another corpus."""
    found = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    taken = []
    for file in rng.sample(found, len(found)):
        text = file.read_bytes()[:MAX_FILE_CHARS].decode("utf-8", "replace")
        if "\0" not in text:
            taken.append((str(file.relative_to(folder)), text))
    return taken


def findings(texts: list[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """(where it is from, kind, line) of each line that redaction changes."""
    from mem_search.text.redaction import redact

    found = []
    for place, text in texts:
        clean, count = redact(text)
        if count:
            before = set(text.split("\n"))
            found += [
                (place, kind[1], line.strip()[:200])
                for line in clean.split("\n")
                if line not in before and (kind := re.search(r"\[redacted:([\w-]+)", line))
            ]
    return found


def main() -> int:
    """Print each finding, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="texts of this folder instead")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    texts = lines_of(options.data, rng) if options.data else corpus(options.lines, options.seed)
    findings([("warm up", "x" * 20)])
    began = time.process_time()
    found = findings(texts)
    seconds = time.process_time() - began
    for place, kind, line in found:
        sys.stdout.write(f"{kind:22} {place}\n    {line}\n")
    lines = sum(text.count("\n") + 1 for _, text in texts)
    size = sum(len(text.encode()) for _, text in texts) / 1e6
    sys.stdout.write(
        f"{len(found)} findings in {lines:,} lines ({size:.1f} MB), one in "
        f"{lines // max(1, len(found)):,}; {size / max(seconds, 1e-9):.1f} MB/s of one processor\n"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
