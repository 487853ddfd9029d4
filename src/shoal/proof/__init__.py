"""Requirements proved or refuted on a table in parts."""
