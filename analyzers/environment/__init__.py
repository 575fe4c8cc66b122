"""Who uses the process environment, and which variables are registered."""
