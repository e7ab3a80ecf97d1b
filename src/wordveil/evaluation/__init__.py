"""Statistics and scores of mechanisms, measured on public words and on labelled texts."""
