"""A table as an ordered list of parts."""
