"""Ways to divide the records of a table into groups, one algorithm a file."""
