"""Who may import whom, who names what, and how large things get."""
