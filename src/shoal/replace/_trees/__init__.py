"""Sequential synthesis by trees: columns as trees see them, donors in leaves, smoothing, and the sequence of draws."""
