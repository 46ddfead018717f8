"""Reading journals: the parts of their files, the records in these, and the rows."""
