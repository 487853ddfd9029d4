"""Tables: schema, cells, numbers, hierarchies, file formats, and work in parts."""
