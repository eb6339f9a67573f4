"""The HTTP surface of the worker: routes, parameters, replies, errors and access checks.

``core.app.build_app(settings)`` builds the application; ``routes.ROUTES`` lists the routes.
Handlers call the services of ``runtime.Runtime`` and ``renderers``; they do not search or render.
"""
