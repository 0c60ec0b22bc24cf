"""Shapes and candidates to votes, by strategy or as a guess without a log; sizes of the indexes."""
