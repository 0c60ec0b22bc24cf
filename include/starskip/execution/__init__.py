"""Engines that run a stage's maps and merges: the contract, and the engine of one process."""
