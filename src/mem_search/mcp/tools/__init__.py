"""The tools, one file each. At most seven: a model reads all of them before its first call."""

from mem_search.features.archives.mcp import SEARCH_LOCAL_ARCHIVES
from mem_search.features.timeline.mcp import TIMELINE
from mem_search.mcp.tool import Tool
from mem_search.mcp.tools.fetch import FETCH
from mem_search.mcp.tools.get_records import GET_RECORDS
from mem_search.mcp.tools.remember import REMEMBER
from mem_search.mcp.tools.search import SEARCH
from mem_search.mcp.tools.search_local_knowledge import SEARCH_LOCAL_KNOWLEDGE

TOOLS: tuple[Tool, ...] = (
    SEARCH,
    FETCH,
    TIMELINE,
    GET_RECORDS,
    SEARCH_LOCAL_KNOWLEDGE,
    SEARCH_LOCAL_ARCHIVES,
    REMEMBER,
)
