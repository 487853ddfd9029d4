"""Files to tables and back, with labels kept and nothing half written."""
