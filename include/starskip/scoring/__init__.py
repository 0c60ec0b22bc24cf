"""Shapes and candidates to votes: strategy leapfrog, and the baselines frequency and parser."""
