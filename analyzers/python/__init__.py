"""What one Python file says on its own, read without importing it and mostly without parsing it."""
