"""What programs print that know nothing of redaction reaches the disk without secrets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from forked import SOURCE
from mem_search.redacted_output import RedactedOutput
from patience import PATIENCE
from secret_shapes import SHAPES

MOST = 10_000


def written(file: Path, *pieces: bytes) -> str:
    output = RedactedOutput(file, MOST)
    with subprocess.Popen(
        [sys.executable, "-c", "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, "
         "sys.stdout.buffer, 1000)"],
        stdin=subprocess.PIPE, stdout=output.writer,
    ) as process:  # fmt: skip
        output.close()
        process.communicate(b"".join(pieces))
    output.join(PATIENCE)
    return file.read_text()


def test_lines_are_written_without_secrets_as_they_are_otherwise(tmp_path: Path) -> None:
    secrets = [shape for shape in SHAPES.values() if "\n" not in shape.text]
    lines = [f"WARN cannot read {shape.text} here\n".encode() for shape in secrets]
    file = tmp_path / "chroma.log"
    said = written(file, b"started\n", *lines, b"no end of line")
    assert said.startswith("started\n")
    assert said.endswith("no end of line")
    assert said.count("[redacted:") >= len(secrets)
    assert [shape.secret for shape in secrets if shape.secret in said] == []
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_key_of_several_lines_is_one_secret(tmp_path: Path) -> None:
    key = SHAPES["pem"].text if "pem" in SHAPES else next(
        shape.text for shape in SHAPES.values() if "PRIVATE KEY" in shape.text
    )  # fmt: skip
    said = written(tmp_path / "log", b"loading ", key.encode(), b"\ndone\n")
    assert "PRIVATE KEY" not in said
    assert said.endswith("done\n")


def test_a_log_that_has_grown_starts_anew(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("x" * (MOST + 1))
    assert written(file, b"one\n") == "one\n"
    assert written(file, b"two\n") == "one\ntwo\n"


def test_tracebacks_of_a_worker_in_the_background_are_redacted(tmp_path: Path) -> None:
    secret = SHAPES["github pat"].secret
    script = (
        "import atexit, os, sys\n"
        "from pathlib import Path\n"
        "from mem_search.redacted_output import end_own_output, redact_own_output\n"
        "atexit.register(end_own_output, redact_own_output(Path(sys.argv[1]), 9000))\n"
        f"os.system('echo from a child {secret}')\n"
        f"raise SystemError('cannot use {secret}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "worker.out")],
        env={"PYTHONPATH": SOURCE}, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    said = (tmp_path / "worker.out").read_text()
    assert "from a child [redacted:" in said
    assert "SystemError: cannot use [redacted:" in said
    assert secret not in said
