"""The folder of data that an evaluation reads."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from data_folder import add_data


@pytest.mark.parametrize("arguments", [[], ["--data", "elsewhere"]])
def test_data_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_data(parser, tmp_path / "default", "with reports")
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(arguments)
    assert ended.value.code == 2
    missing = arguments[1] if arguments else tmp_path / "default"
    assert f"argument --data: {missing} is no folder" in capsys.readouterr().err


def test_a_folder_that_is_there_is_taken(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_data(parser, tmp_path, "with reports")
    assert parser.parse_args([]).data == tmp_path
