"""Stores elsewhere: where files lie, what a store holds, and how it is copied and mirrored."""
