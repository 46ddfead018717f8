-- One value: a case in a list of names: its name and its parameters without the marks of JSON.
--
-- arguments: name, parameters
concat_ws(' ', name, translate(parameters, '{}"', ''))
