"""Whether the local links of maintained documents lead somewhere."""
