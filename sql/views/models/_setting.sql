-- One value: a panel without its backend: suite, mode, dtype and device in one text. Backends compare within a setting.
--
-- arguments: panel
regexp_replace(panel, '/[^/]*$', '')
