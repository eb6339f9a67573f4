"""Shows the records around a record, a time, or the best result of a question."""
