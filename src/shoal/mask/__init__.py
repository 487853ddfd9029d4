"""Ways to mask a table column by column, one a file."""
