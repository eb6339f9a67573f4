"""One folder a feature: its nouns (``model``), rules and jobs (``service``), statements (``sql``),
routes (``http``) and command (``cli``), of these what it has. ``docs/architecture.md`` lists them.

The core knows no feature. ``wiring`` makes their services, ``http.routes`` has their routes,
``cli.app`` their commands, and ``store.part(…)`` gives each its statements.
"""
