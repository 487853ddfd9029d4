"""Requirements that a partition keeps while it is formed."""
