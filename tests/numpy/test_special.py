"""Special functions over their ranges in every floating dtype: SciPy says what is right."""

import numpy as np
import pytest
import scipy.special

from against import WAYS, run

BESSEL = ["j0", "j1", "y0", "y1", "i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e", "exp1", "expi"]
NORMAL = ["erfcx", "erfcinv", "ndtr", "log_ndtr", "ndtri"]  # the second and the last of numbers from 0 to 2
DTYPES = ["float16", "float32", "float64"]
EDGES = [0, -0.0, 1, 1.1, 12, 3000, 8, -8, 1e-30, 1e30, np.inf, -np.inf, np.nan]


def arguments(g):
    """x for all; a of the incomplete gamma functions, where SciPy's are exact: below 200, or x within 4.5 deviations."""
    x = np.concatenate([EDGES, g.uniform(-60, 60, 300), 10**g.uniform(-6, 2, 300)])
    a, b = np.concatenate([[v, np.full(len(EDGES), w)] for w in EDGES for v in [EDGES]], axis=1)
    size = np.concatenate([10**g.uniform(-6, 2.3, 400), g.uniform(0, 5, 200), 10**g.uniform(3, 6, 200)])
    far = np.where(size < 200, size * np.exp(g.standard_normal(size.size) * np.minimum(2, 4 / np.sqrt(size))),
                   size + g.uniform(-4.4, 4.4, size.size) * np.sqrt(size))
    p = np.concatenate([EDGES, g.uniform(0, 2, 300), 10**g.uniform(-300, 0, 300)])
    return x, np.concatenate([a, size]), np.concatenate([b, far]), p


def kind(f):
    return "p" if f in ["erfcinv", "ndtri"] else "x"


def close(got, want, swing, t):
    eps = np.finfo(t).eps
    with np.errstate(all="ignore"):
        known = 1 - np.log(np.clip(np.abs(want), 1e-300, 1))  # digits of exponents
        off = np.abs(got - want) <= 30 * max(eps, 2e-15) * np.maximum(np.abs(want), swing) * known + np.finfo(t).tiny
        huge = np.isinf(want) & (np.abs(got) > np.finfo(t).max / 8)  # SciPy's i0 and i1 overflow sooner
        return off | (got == want) | (np.isnan(got) & np.isnan(want)) | huge


def results(folder, way, lines):
    """What the lines make of in.npz, `v`, in the table `out`."""
    run(folder, way, [f"local v, out = gpu.load('{folder}/in.npz'), {{}}", *lines, f"gpu.save('{folder}/out.npz', out)"])
    return np.load(folder / "out.npz")


@pytest.mark.parametrize("way", WAYS)
def test_special_functions(way, tmp_path):
    dtypes = DTYPES[2:] if way == "generated" else DTYPES
    x, a, b, p = arguments(np.random.default_rng(5))
    with np.errstate(all="ignore"):
        arrays = {f"{k}_{t}": v.astype(t) for t in dtypes for k, v in [("x", x), ("a", a), ("b", b), ("p", p)]}
    np.savez(tmp_path / "in.npz", **arrays)
    lines = [f"out.{f}_{t} = v.x_{t}:{f}()" for f in BESSEL for t in dtypes]
    lines += [f"out.{f}_{t} = v.{kind(f)}_{t}:{f}()" for f in NORMAL for t in dtypes]
    lines += [f"out.{f}_{t} = gpu.{f}(v.a_{t}, v.b_{t})" for f in ["gammainc", "gammaincc"] for t in dtypes]
    out = results(tmp_path, way, lines)
    for t in dtypes:
        wide = {k: arrays[f"{k}_{t}"].astype(float) for k in "xabp"}
        for f in BESSEL + NORMAL + ["gammainc", "gammaincc"]:
            args = [wide["x"]] if f in BESSEL else [wide[kind(f)]] if f in NORMAL else [wide["a"], wide["b"]]
            if f in BESSEL:  # SciPy's are NaN at infinity, and not exact far out
                args[0] = np.where(np.abs(args[0]) < 1e5, args[0], 1.0)
            with np.errstate(all="ignore"):
                want = getattr(scipy.special, f)(*args).astype(t)
                swing = 3e4 / np.sqrt(1 + np.abs(args[0])) if f[0] in "jy" and t == "float64" else 0  # CUDA's: 5e-12
            got = np.where(wide["x"] == args[0], out[f"{f}_{t}"], want) if f in BESSEL else out[f"{f}_{t}"]
            assert got.dtype == want.dtype
            wrong = ~close(got.astype(float), want.astype(float), swing, t)
            assert not wrong.any(), (f, t, [v[wrong][:5] for v in args], got[wrong][:5], want[wrong][:5])


def spread(g, low, high, n=300):
    return 10 ** g.uniform(low, high, n)


def beta_cases(g):
    """Expressions over x, y and z, and the same by SciPy."""
    s, whole = scipy.special, lambda low, high: g.integers(low, high, 300).astype(float)
    a, b = np.concatenate([spread(g, -2, 1.9), spread(g, 0, 3)]), np.concatenate([spread(g, -2, 1.9), spread(g, 0, 3)])
    yield "x:beta(y)", (a[:300], b[:300]), s.beta  # of larger numbers SciPy's is not exact
    yield "x:betaln(y)", (a, b), s.betaln
    yield "x:betainc(y, z)", (a, b, np.clip(a / (a + b) * np.exp(g.standard_normal(600) * 0.5), 0, 1)), s.betainc
    yield "x:betainc(y, z)", (a, b, g.random(600)), s.betainc
    yield "x:zeta(y)", (g.uniform(1.01, 20, 300), spread(g, -1, 2)), s.zeta
    # Between two whole numbers the terms of odd orders cancel but for those from 1 - y on.
    yield "x:zeta(y)", (np.array([23.0, 3, 5, 61, 9]), np.array([-0.5, -2.5, -1.5, -0.5, -40.5])), lambda x, y: s.zeta(x, 1 - y)
    yield "x:zeta(y)", (np.array([5.0, 4, 3, 2]), np.array([-1e-3, -3.25, -7.999, -0.5])), s.zeta
    yield "x:zeta()", (g.uniform(1.01, 20, 300),), s.zeta
    yield "x:polygamma(y)", (whole(0, 12), spread(g, -1, 2)), s.polygamma
    yield "x:ellipk()", (np.concatenate([g.uniform(-9, 1, 300), [0, 1, 1.5, -1e6]]),), s.ellipk
    yield "x:ellipe()", (np.concatenate([g.uniform(-9, 1, 300), [0, 1, 1.5, -1e6]]),), s.ellipe
    yield "x:expn(y)", (whole(0, 30), spread(g, -4, 1.8)), s.expn
    yield "x:factorial()", (np.concatenate([whole(-2, 170), g.uniform(0, 30, 300)]),), s.factorial
    yield "x:comb(y)", (whole(0, 60), whole(0, 60)), s.comb
    yield "x:comb(y)", (g.uniform(0, 60, 300), g.uniform(0, 60, 300)), s.comb


@pytest.mark.parametrize("way", WAYS)
def test_beta_zeta_and_integrals(way, tmp_path):
    cases = [(code, [v.astype(t) for v in args], f) for t in (["float64"] if way == "generated" else ["float64", "float32"])
             for code, args, f in beta_cases(np.random.default_rng(7))]
    np.savez(tmp_path / "in.npz", **{f"{n}{k}": v for k, (_, args, _) in enumerate(cases) for n, v in zip("xyz", args)})
    lines = [f"do local x, y, z = v.x{k}, v.y{k}, v.z{k} out.r{k} = {code} end" for k, (code, _, _) in enumerate(cases)]
    out = results(tmp_path, way, lines)
    for k, (code, args, f) in enumerate(cases):
        with np.errstate(all="ignore"):
            want, t = f(*[v.astype(float) for v in args]), args[0].dtype
            got, want = out[f"r{k}"].astype(float), want.astype(t).astype(float)
            known, least, slack = 4 + np.abs(np.log(np.clip(np.abs(want), 1e-300, 1e300))), 0, max(np.finfo(t).tiny, 1e-290)
            if "betaln" in code:  # SciPy's is a difference of logarithms of gamma, which here and there are a unit off
                least, slack = 1, 4 * np.finfo(float).eps * scipy.special.gammaln(args[0] + args[1])
            off = np.abs(got - want) <= 30 * np.finfo(t).eps * np.maximum(np.abs(want), least) * known + slack
        wrong = ~(off | (got == want) | (np.isnan(got) & np.isnan(want)))
        assert not wrong.any(), (code, t, [v[wrong][:5] for v in args], got[wrong][:5], want[wrong][:5])


@pytest.mark.parametrize("way", WAYS)
def test_sigmoid_below_the_normal_numbers_and_digamma_beside_its_poles(way, tmp_path):
    g = np.random.default_rng(3)
    x = {t: np.concatenate([EDGES, g.uniform(-reach, 0, 700), g.uniform(-5, 40, 300), [-100, -88.8, -709.9, -720]]).astype(t)
         for t, reach in (("float32", 103), ("float64", 740))}
    np.savez(tmp_path / "in.npz", poles=np.array([0, -0.0, -1, -2, -1e20, -np.inf, np.nan]), **x)
    out = results(tmp_path, way, [f"out.sigmoid{t}, out.silu{t}, out.digamma{t} = v.{t}:sigmoid(), v.{t}:silu(), "
                                  f"v.poles:to('{t}'):digamma()" for t in x])
    for t, v in x.items():
        with np.errstate(all="ignore"):
            wide = v.astype(np.longdouble)
            sigmoid, least = np.exp(wide) / (1 + np.exp(wide)), np.finfo(t).smallest_subnormal
            sigmoid = np.where(wide > 0, 1 / (1 + np.exp(-wide)), sigmoid)
        for name, want in (("sigmoid", sigmoid), ("silu", wide * sigmoid)):
            got = out[name + t]
            inside = np.isfinite(want)  # silu(-inf) is NaN, as Torch's
            slack = least * (1 if name == "sigmoid" else np.maximum(1, np.abs(v[inside])))
            assert (np.abs(got[inside] - want[inside]) <= 4 * np.finfo(t).eps * np.abs(want[inside]) + slack).all(), (name, t)
        assert out["sigmoid" + t][list(v).index(-100)] > 0
        poles = out["digamma" + t]
        np.testing.assert_array_equal(poles, [-np.inf, np.inf] + [np.nan] * 5)
