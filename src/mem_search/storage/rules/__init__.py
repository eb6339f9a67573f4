"""What every store decides alike, as functions without SQL. Stores do not import each other."""
