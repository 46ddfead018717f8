"""Questions over the views."""
