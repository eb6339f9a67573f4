"""The HTTP surface of the worker: routes, parameters, replies, errors and who may ask.

``app.build_app(settings)`` is the whole of it; ``routes.ROUTES`` is the map. Every answer comes
from ``wiring.Runtime`` and ``renderers``: nothing is searched or phrased here.
"""
