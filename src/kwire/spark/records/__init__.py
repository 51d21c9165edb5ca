"""Record sets in columns: UDFs and table functions that decode and encode them in bulk."""
