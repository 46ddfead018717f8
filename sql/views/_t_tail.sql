-- One value: the probability that Student's t with `df` degrees of freedom (fractions too) exceeds t; NULL below df = 1.
-- Hill's normal transformation (Algorithm 395, Communications of the ACM 13, 1970). It errs on the small side where there
-- are few degrees: of probabilities down to one in a million it lacks up to 6 % at df = 3, 1.1 % at 4, 0.3 % at 5 and less
-- than one in a thousand from 6 up; down to 1e-12 it lacks 58 %, 24 %, 10 % and 4 %, and 0.8 % from 8 up. At df = 2 it
-- lacks 5 % at 0.001 already.
--
-- arguments: t, df
CASE WHEN df >= 1 THEN list_transform(
    [{
        'sign': sign(t), 'y': (df - 0.5::DOUBLE) * ln(1 + least(t * t, 1e300::DOUBLE) / df),
        'b': 48 * (df - 0.5::DOUBLE) * (df - 0.5::DOUBLE)
    }],
    lambda its: _normal_tail(its.sign * sqrt(its.y) * (1 + (
        its.y + 3 + (
            (((-0.4::DOUBLE * its.y - 3.3::DOUBLE) * its.y - 24) * its.y - 85.5::DOUBLE)
            / (0.8::DOUBLE * its.y * its.y + 100 + its.b)
        )
    ) / its.b))
)[1] END
