"""Laws of noise, for whole tables and for groups."""
