"""The worker as an MCP server: tools and resources over the runtime, through the official SDK.

- ``tools``: the list of tools, seven at most, and what stores; ``searching``, ``records`` and the
  features have the others. ``records`` also has records as resources, ``mem://kind/number``.
- ``tool``: a tool call from its arguments to its outcome, without any protocol; the JSON Schemas of
  arguments and replies.
- ``server``: tools and resources as a server of the SDK. The only module that imports the SDK.
- ``endpoint``: one HTTP request to one reply; loads ``server`` with the first request.

``http/mcp.py`` has the route; ``cli/mcp_relay.py`` is the program that agents start.
"""
