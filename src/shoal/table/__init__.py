"""Tables: what describes them, their cells, their numbers, and where they come from."""
