"""Attacks and measures of disclosure risk, one a file."""
