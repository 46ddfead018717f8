"""The reasons for which a case is slower: parts that add up to the difference."""
