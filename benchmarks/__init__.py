"""Measurements that print ratios within one run; results with versions and sizes lie in results/."""
