"""The gates behind the stages of the night; the only home of Great Expectations."""
