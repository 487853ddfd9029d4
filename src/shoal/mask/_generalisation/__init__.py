"""The search for the least generalisation."""
