"""A plan carried out, step after step."""
