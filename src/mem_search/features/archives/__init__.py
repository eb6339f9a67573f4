"""Archives of research: reports and saved pages, and which of them cites which."""
