"""What reads files, ours and other tools', into the event log."""
