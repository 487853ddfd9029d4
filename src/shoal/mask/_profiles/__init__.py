"""Groups of persons by all their records, and the structure that is common to a group."""
