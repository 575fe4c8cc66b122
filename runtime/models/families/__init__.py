"""One module a family; importing it registers the family."""
