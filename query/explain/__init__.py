"""Any printed figure traced to its SQL, its samples and its files."""
