"""Shows what is related to a record, and writes parts of the graph as files and pictures."""
