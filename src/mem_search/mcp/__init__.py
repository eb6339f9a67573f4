"""The worker as an MCP server: tools and resources over the runtime, spoken by the official SDK.

- ``contract``: what a tool is, and who asks it.
- ``tools``: one file each; to add one, a file and a line in ``tools.TOOLS``. Six at most.
- ``calling``: a tool call from its arguments to its outcome, without any protocol.
- ``resources``: records as ``mem://kind/number``.
- ``server``: all of it as a server of the SDK. The only module that imports the SDK.
- ``endpoint``: one HTTP request to one reply; loads ``server`` when it is first needed.

Which HTTP requests come here, and from whom, is ``http/mcp.py``; the program that agents start
is ``cli/stdio.py``.
"""
