"""The doors for programs: the schemas of what commands answer, and a server that answers questions with their doubt."""
