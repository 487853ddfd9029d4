"""Work in processes side by side, and a command in a process of its own whose end is always told."""
