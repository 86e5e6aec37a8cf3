"""The probabilistic and the deflated Sharpe ratio from their published formulas, in 40 digits, for tests/selection.rs.

    pip install mpmath==1.3.0
    python tests/peers/deflated.py

Nothing is shared with the crate: closes and sides come from a small generator, returns bar by bar, correlations pair by
pair. Sources: Bailey and Lopez de Prado, The Sharpe Ratio Efficient Frontier, J. Risk 15(2), 2012 (PSR); The Deflated
Sharpe Ratio, J. Portfolio Management 40(5), 2014 (expected best, effective trials).
"""

from mpmath import erf, erfinv, e, euler, fdot, fsum, mp, mpf, sqrt

mp.dps = 40
BARS, ROWS, FEE = 400, 70, mpf("0.0005")


def draws(state):
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 33


def closes():
    draw, close, out = draws(11), 1000, []
    for _ in range(BARS):
        close = max(500, close + next(draw) % 21 - 10)
        out.append(mpf(close))
    return out


def sides(seed):
    """One chance in 12 a bar of another side: long, short, or a tie, which keeps the side before it."""
    draw, side, out = draws(seed), 0, []
    for _ in range(BARS):
        if next(draw) % 12 == 0:
            side = [1, -1, 0][next(draw) % 3]
        out.append(side)
    return out


def row(index):
    """Rows are alike for 24 bars in 40, so that they correlate; row 3 never trades."""
    own, common = sides(index), sides(1000)
    return [0 if index == 3 else (common if bar % 40 < 24 else own)[bar] for bar in range(BARS)]


def returns(close, sides, compounds):
    """Each bar's return and the number of trades: armed by the first side, always in the market from the first change on."""
    equity, settled, held, entry, signal, out, trades = mpf(1), mpf(1), 0, None, 0, [], 0
    grow = lambda pnl: settled * (1 + pnl) if compounds else settled + pnl
    for bar in range(BARS):
        side = sides[bar] or signal
        turns = signal != 0 and side != signal
        signal = side
        if held and (turns or bar == BARS - 1):
            settled = grow(held * (close[bar] / entry - 1) - 2 * FEE)
            held, trades = 0, trades + 1
        if turns and bar < BARS - 1:
            held, entry = side, close[bar]
        if turns and bar == BARS - 1:
            settled, trades = grow(-2 * FEE), trades + 1
        now = grow(held * (close[bar] / entry - 1) - FEE) if held else settled
        out.append(now / equity - 1 if compounds else now - equity)
        equity = now
    return out, trades


def moments(values):
    mean = fsum(values) / len(values)
    about = lambda power: fsum((v - mean) ** power for v in values) / len(values)
    deviation = sqrt(about(2) * len(values) / (len(values) - 1))
    return mean / deviation, about(3) / about(2) ** mpf("1.5"), about(4) / about(2) ** 2


def probabilistic(sharpe, skewness, kurtosis, bars, benchmark):
    z = (sharpe - benchmark) * sqrt(bars - 1) / sqrt(1 - skewness * sharpe + (kurtosis - 1) / 4 * sharpe**2)
    return (1 + erf(z / sqrt(2))) / 2


def standardised(values):
    mean = fsum(values) / len(values)
    size = sqrt(fsum((v - mean) ** 2 for v in values))
    return [(v - mean) / size for v in values]


def deflated(compounds, min_trades):
    close = closes()
    rows = [returns(close, row(index), compounds) for index in range(ROWS)]
    varied = [values for values, _ in rows if any(v != values[0] for v in values)]
    sharpes = [moments(values)[0] for values in varied]
    n = len(varied)
    units = [standardised(values) for values in varied]
    pairs = [fdot(units[i], units[j]) for i in range(n) for j in range(i)]
    rho = fsum(pairs) / len(pairs)
    trials = rho + (1 - rho) * n
    mean = fsum(sharpes) / n
    variance = fsum((s - mean) ** 2 for s in sharpes) / (n - 1)
    z = lambda p: sqrt(2) * erfinv(2 * p - 1)
    best = sqrt(variance) * ((1 - euler) * z(1 - 1 / trials) + euler * z(1 - 1 / (trials * e)))
    candidates = [index for index, (_, trades) in enumerate(rows) if trades >= min_trades]
    scores = {index: moments(rows[index][0])[0] for index in candidates}
    chosen = max(scores, key=scores.get)
    of = moments(rows[chosen][0])
    show = lambda value: mp.nstr(value, 17)
    print(f"compounds {compounds}, {min_trades} trades at least: combination {chosen} ({rows[chosen][1]} trades), {n} trials of {ROWS}")
    for name, value in [
        ("sharpe", of[0]),
        ("mean correlation", rho),
        ("effective trials", trials),
        ("expected best", best),
        ("probabilistic", probabilistic(*of, BARS, 0)),
        ("deflated", probabilistic(*of, BARS, best)),
    ]:
        print(f"  {name:17} {show(value)}")


if __name__ == "__main__":
    # the example of 2012: 24 months of 0.036 +- 0.079, printed there as 0.982 and 0.913
    for skewness, kurtosis in [(0, 3), (mpf("-2.448"), mpf("10.164"))]:
        print(mp.nstr(probabilistic(mpf("0.458"), skewness, kurtosis, 24, 0), 17))
    for compounds, min_trades in [(False, 1), (False, 22), (True, 1)]:
        deflated(compounds, min_trades)
