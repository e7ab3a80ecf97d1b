"""Randomised claims: each test says its level, its sample size and its power."""
