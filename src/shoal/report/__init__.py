"""Evidence as self-contained offline pages."""
