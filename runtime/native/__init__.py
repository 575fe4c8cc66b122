"""Native operators: schemas, registration, capability probes, and the trace of what ran."""
