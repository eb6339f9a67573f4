"""Jobs: long work with progress that can be cancelled and resumed."""
