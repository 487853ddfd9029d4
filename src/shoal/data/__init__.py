"""Tables: what describes them, their cells, their numbers."""
