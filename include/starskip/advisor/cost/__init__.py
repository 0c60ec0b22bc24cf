"""Votes for indexes from shapes and candidates, by strategy or from cardinalities alone; sizes of indexes."""
