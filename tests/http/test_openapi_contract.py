"""The worker keeps what its own OpenAPI document promises, whatever is sent (schemathesis).

Every operation is asked, those that write with the home's token: what is documented as an
example, the borders of every parameter and field, and values made at random from a fixed seed.
What touches a machine (sync, import) sees a temporary home and a temporary ``HOME`` only.

More of the same by hand: set MEM_SEARCH_FUZZ_EXAMPLES (random requests an operation),
MEM_SEARCH_FUZZ_SEED, and MEM_SEARCH_FUZZ_MOST (of all requests made, those sent to an operation).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import requests
import schemathesis
from http_worker import AUTHORIZED
from schemathesis.checks import load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import derive_operation_seed
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,
)
from threaded_worker import serving

from mem_search.http.openapi import describe
from mem_search.http.routes import ROUTES
from patience import PATIENCE

NDJSON = "application/x-ndjson"
MOST = int(os.environ.get("MEM_SEARCH_FUZZ_MOST", "60"))
CONFIG: dict[str, Any] = {
    "seed": int(os.environ.get("MEM_SEARCH_FUZZ_SEED", "1")),
    "suppress-health-check": ["all"],  # they time how fast examples are made; slow is fine here
    "cache": {"enabled": False},  # nothing is left in the checkout
    "analysis": {"constants": {"enabled": False}},
    "generation": {
        "max-examples": int(os.environ.get("MEM_SEARCH_FUZZ_EXAMPLES", "3")),
        "database": "none",
        "no-shrink": True,
    },
    "checks": {
        # Dates in words, time zones, questions in the query language, paths that have to exist:
        # a schema says their form only. What is refused beyond it says why, with 422, and has
        # its own tests (test_*_bad_input).
        "positive_data_acceptance": {"enabled": False},
    },
}


@schemathesis.serializer(NDJSON)
def ndjson(_context: object, value: Any) -> bytes | None:
    """As it is: lines of JSON have no model, the handler reads them in pieces."""
    return str(value).encode("utf-8", "replace")


OPERATIONS = [f"{route.method} {route.path}" for route in ROUTES if route.is_rest]


@cache
def api() -> schemathesis.BaseSchema:
    """The whole document."""
    load_all_checks()
    config = SchemathesisConfig.from_dict(CONFIG)
    return schemathesis.openapi.from_dict(describe(ROUTES), config=config)


@cache
def operations() -> dict[str, schemathesis.APIOperation]:
    """Each operation by its method and path."""
    return {each.ok().label: each.ok() for each in api().get_all_operations()}


def requests_to(label: str) -> list[schemathesis.Case]:
    """The requests to one operation, as ``schema.parametrize()`` makes them.

    That makes all requests to all operations when the file is collected, in every test process.
    """
    config = api().config
    operation = operations()[label]
    settings = config.get_hypothesis_settings(operation=operation, phase="fuzzing")
    made: list[schemathesis.Case] = []
    create_test(
        operation=operation,
        test_func=lambda case: made.append(case),
        config=HypothesisTestConfig(
            modes=list(HypothesisTestMode),
            settings=settings,
            seed=derive_operation_seed(config.seed, operation.label),
            project=config,
        ),
    )()
    return made


def share(made: list[schemathesis.Case], turn: int) -> list[schemathesis.Case]:
    """At most ``MOST`` of them. The twenty operations with a thousand requests each have their
    parameters in common, so each asks for other borders.
    """
    step = -(-len(made) // MOST)
    return made[turn % step :: step]


def a_refusal_names_every_place(
    _context: object, response: schemathesis.Response, _case: schemathesis.Case
) -> None:
    """What is refused for what was sent says where, by a parameter or a JSON pointer."""
    if response.status_code == 422:
        faults = response.json().get("errors", [])
        assert faults, response.text
        for fault in faults:
            assert fault["detail"], fault
            assert ("parameter" in fault) != ("pointer" in fault), fault
            assert fault.get("pointer", "/").startswith("/") or fault["pointer"] == "", fault


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # Before the worker's thread starts: schemathesis imports the rest of itself here, pytest parses
    # each of those modules, and CPython 3.11 fails where two threads parse (its gh-106905).
    operations()
    directory = tmp_path_factory.mktemp("machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(directory))
        with serving(directory) as address:
            yield address


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as opened:
        yield opened


@pytest.mark.parametrize("label", OPERATIONS)
def test_what_is_promised_is_kept(label: str, base: str, session: requests.Session) -> None:
    made = requests_to(label)
    assert len(made) > 1
    for case in share(made, OPERATIONS.index(label)):
        case.call_and_validate(
            base_url=base,
            session=session,
            headers={**AUTHORIZED},
            timeout=PATIENCE,
            additional_checks=[a_refusal_names_every_place],
        )


def test_every_operation_gets_a_request() -> None:
    assert sorted(operations()) == sorted(OPERATIONS)


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    match value:
        case dict():
            if isinstance(value.get("type"), str):
                yield value
            for inner in value.values():
                yield from schemas(inner)
        case list():
            for inner in value:
                yield from schemas(inner)


def test_what_is_there_by_default_could_have_been_sent() -> None:
    found = [schema for schema in schemas(describe(ROUTES)) if "default" in schema]
    assert len(found) > 50
    for schema in found:
        assert schema["type"] != "string" or isinstance(schema["default"], str), schema
