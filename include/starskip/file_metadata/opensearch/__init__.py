"""The metadata store whose rows are documents of OpenSearch: clauses become its queries."""
