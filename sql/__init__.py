"""The views: one SELECT a file, documented column by column."""
