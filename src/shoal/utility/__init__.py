"""Measures of information loss, one a file."""
