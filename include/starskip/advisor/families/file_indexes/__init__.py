"""The common part of skipping and secondary indexes: measuring, choosing and proving them."""
