"""Randomised claims: each test states its level, its sample size and its power."""
