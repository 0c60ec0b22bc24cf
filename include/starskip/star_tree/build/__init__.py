"""From rows to documents and nodes: dictionaries, partial aggregates, subtrees, the published tree."""
