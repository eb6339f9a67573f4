"""Long work: jobs that run in the background, and what starts the store's own."""
