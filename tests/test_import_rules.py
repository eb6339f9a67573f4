"""The rules of imports know every package: one that is left out would be checked by none."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_is_in_the_layers_and_knows_the_store_by_its_ports() -> None:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = {each["name"]: each for each in configured["tool"]["importlinter"]["contracts"]}
    layers = {
        name.strip().split(".")[1]
        for row in contracts["imports point down"]["layers"]
        for name in row.split(":")
    }
    without_store = {
        name.split(".")[1] for name in contracts["a store is known by its ports"]["source_modules"]
    }
    packages = {
        path.stem
        for path in (ROOT / "src" / "mem_search").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    packages -= {"__init__", "__main__"}
    assert packages - layers == set()
    assert packages - without_store == set()
