"""What both engines run, written once: the statements, and the rows that become objects.

``storage.sqlite.connection`` lists the dialect. What only one engine does (words, vectors,
snapshots, claims of several workers, replicas) is in its own folder.
"""
