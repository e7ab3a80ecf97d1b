"""Statistics and scores of mechanisms, on public words."""
