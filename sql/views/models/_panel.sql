-- One value: suite, mode, dtype, device and backend in one text, that is equal where all of these are, be they known or not.
--
-- arguments: suite, mode, dtype, device, backend
concat_ws(
    '/', _panel_part(suite), _panel_part(mode), _panel_part(dtype), _panel_part(device), _panel_part(backend)
)
