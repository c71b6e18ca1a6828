"""NumPy's ufuncs, and what they are called here."""
import numpy as np

# What has another name here. There are no dates, so isnat has no meaning.
NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "bitwise_invert": "bitwise_not", "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift", "conjugate": "conj", "degrees": "rad2deg", "divide": "div", "equal": "eq",
    "fabs": "abs", "float_power": "pow", "floor_divide": "floordiv", "greater": "gt", "greater_equal": "ge",
    "invert": "bitwise_not", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "positive": "clone", "power": "pow", "radians": "deg2rad", "remainder": "mod", "rint": "round", "subtract": "sub",
    "true_divide": "div"
}
UFUNCS = {n: getattr(np, n) for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and n != "isnat"}
PRODUCTS = ["matmul", "matvec", "vecdot", "vecmat"]
