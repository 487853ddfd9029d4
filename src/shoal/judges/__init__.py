"""Tools shared by all judges: two tables in, one frozen figure out."""
