"""The viewer in a browser, and the link that logs one in."""
