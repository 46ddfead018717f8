-- One value: whether a judgement of accuracy lets a case pass.
--
-- arguments: status
status IN ('pass', 'pass_due_to_skip')
