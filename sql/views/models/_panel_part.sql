-- One value: a part of a panel's text without a slash; NULL is a single tilde, which no other part is.
--
-- arguments: part
coalesce(replace(replace(part, '~', '~0'), '/', '~1'), '~')
