"""What every command shares: its options, its tables, and numbers as a person reads them."""
