-- One value: the mean of a list of numbers, added up in their order, so that it does not depend on the order of rows.
--
-- arguments: numbers
list_avg(list_sort(numbers::DOUBLE[]))
