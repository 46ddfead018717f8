-- One value: whether an interval of ln(candidate / base) excludes every change below the floor.
--
-- arguments: low, high, floor
low > ln(1 + floor) OR high < -ln(1 + floor)
