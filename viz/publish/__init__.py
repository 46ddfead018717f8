"""`bench publish`: a store as a static site that a team looks at; `docs/publish.md` says what it holds."""
