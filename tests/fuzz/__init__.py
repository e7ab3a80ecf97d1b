"""Random and damaged input for each reader of untrusted bytes; `make fuzz` runs it for a bounded time."""
