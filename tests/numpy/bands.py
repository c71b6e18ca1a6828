"""What the tests of filters share: the kinds of bands, and where one begins and ends."""
KINDS = ["lowpass", "highpass", "bandpass", "bandstop"]


def edges(r, kind, fs):
    """Random frequencies at which a filter of this kind begins or ends, and the same in Lua."""
    low, high = sorted(r.sample(range(1, 20), 2))
    if kind.startswith("band"):
        return [low / 40 * fs, high / 40 * fs], f"{{{low / 40 * fs}, {high / 40 * fs}}}"
    return low / 40 * fs, str(low / 40 * fs)
