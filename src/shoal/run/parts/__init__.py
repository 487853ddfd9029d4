"""Steps carried out on a table in parts."""
