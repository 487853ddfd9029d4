"""Classification and regression trees (native/trees)."""
