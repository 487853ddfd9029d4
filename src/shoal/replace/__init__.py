"""Ways to replace the records of every group, one a file."""
