"""From a built tree to answers: its nodes in memory, its documents read by row group, SQL in, Arrow out."""
