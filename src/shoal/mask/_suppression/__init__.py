"""The search for the fewest cells to suppress."""
