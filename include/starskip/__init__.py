"""Starskip: nightly index advice for analytic tables."""
