"""Reading and writing of tables in files, with labels kept and every write atomic."""
