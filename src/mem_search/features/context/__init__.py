"""What an agent gets from memory: the newest sessions, and the briefing for its situation."""
