"""What every judge shares: two tables in, one frozen figure out."""
