"""Long work: its state lives in the database, it reports progress, can be cancelled, resumes."""
