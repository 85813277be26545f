"""Folding of unilateral constraints: the substitutions s = |x| and s = Π(x) on Routh's function (V. F. Zhuravlev, 1978)."""
