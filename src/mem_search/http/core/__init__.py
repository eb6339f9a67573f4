"""What every HTTP request passes: routing, parsing, dispatch, replies, errors, runtimes."""
