"""ORC files: stripes, and the tail that tells of them."""
