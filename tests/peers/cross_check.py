"""Holds crosscheck's trades, PnL and drawdown to those of vectorbt and backtesting.py under the same rules.

    pip install vectorbt==1.2.0 backtesting==0.6.6 numpy==2.4.6 pandas==3.1.1 numba==0.68.1
    cargo build --release --example match_peers
    python tests/peers/cross_check.py target/release/examples/match_peers

With `vectorbt` or `backtesting` as a second argument, that one alone. Trade lists must be equal: entry and exit bars and
sides, and prices within 1e-15 (vectorbt reports an average of fills, off by a last bit; backtesting.py within 1e-12). PnL and
drawdown must agree within 1e-9 relative. docs/conventions.md says what the presets set and why.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

TOOL = sys.argv[1]
# lasts for the losses of thousands of stakes of 100, and is small enough that values beside it keep their digits
CASH = 1e5
FOLDER = Path(tempfile.mkdtemp())


def series(bars, seed, opens_apart):
    rng = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(rng.normal(0, 0.001, bars)))
    open_ = close * np.exp(rng.normal(0, 0.0003, bars)) if opens_apart else close
    return open_, close


def crosscheck(open_, close, fast, slow, preset):
    prices = FOLDER / "prices.f64"
    np.column_stack([open_, close]).astype("<f8").tofile(prices)
    out = FOLDER / preset
    subprocess.run([TOOL, prices, fast, slow, preset, out], check=True)
    return pd.read_csv(f"{out}.trades.csv"), pd.read_csv(f"{out}.metrics.csv")


def wma(close, period):
    weights = np.arange(1.0, period + 1)
    out = np.full(len(close), np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(close, period)
    out[period - 1 :] = windows @ weights / weights.sum()
    return out


def near(what, ours, theirs, tolerance=1e-9):
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, f"{what}: {ours.shape} {theirs.shape}"
    apart = np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1.0)
    assert ours.size and apart.max() <= tolerance, f"{what}: {apart.max()} apart"
    return apart.max()


def drawdown(equity):
    peak = np.maximum.accumulate(np.concatenate([[1.0], equity]))[1:]
    return ((peak - equity) / peak).max()


def compare_lists(what, ours, bars_in, bars_out, side, price_in, price_out, tolerance):
    for name, theirs in [("entry_bar", bars_in), ("exit_bar", bars_out), ("side", side)]:
        assert np.array_equal(ours[name].to_numpy(), np.asarray(theirs)), f"{what}: {name} differs"
    near(f"{what}: entry prices", ours.entry_price, price_in, tolerance)
    near(f"{what}: exit prices", ours.exit_price, price_out, tolerance)


def against_vectorbt():
    import vectorbt as vbt

    open_, close = series(150_000, 42, False)
    fasts, slows = range(5, 41, 5), range(50, 141, 10)
    stake, stake_metrics = crosscheck(open_, close, "wma:5..=40:5", "wma:50..=140:10", "vectorbt-stake")
    cash, cash_metrics = crosscheck(open_, close, "wma:5..=40:5", "wma:50..=140:10", "vectorbt-cash")
    averages = {period: wma(close, period) for period in [*fasts, *slows]}
    price = pd.Series(close)
    compared, worst = 0, 0.0
    for index, (fast, slow) in enumerate((f, s) for f in fasts for s in slows):
        above = averages[fast] > averages[slow]
        below = averages[fast] < averages[slow]
        both = vbt.Portfolio.from_signals(
            price, above, below, direction="both", size=100, size_type="value", fees=0.00045, init_cash=CASH, freq="D"
        )
        records = both.trades.records
        ours = stake[stake.combination == index]
        compared += len(ours)
        side = np.where(records.direction == 0, 1, -1)
        compare_lists(f"{fast}/{slow}", ours, records.entry_idx, records.exit_idx, side, records.entry_price, records.exit_price, 1e-15)
        worst = max(worst, near("returns", ours.pnl_pct / 100, records["return"]))
        # the equity of one stake of 100, whatever cash lies beside it
        equity = 1 + (both.value().to_numpy() - CASH) / 100
        worst = max(worst, near("stake PnL", stake_metrics.pnl_pct[index], (records["return"] * 100).sum()))
        worst = max(worst, near("stake drawdown", stake_metrics.max_drawdown[index], drawdown(equity)))

        long = vbt.Portfolio.from_signals(price, above, below, direction="longonly", fees=0.00045, slippage=0.0001, init_cash=1.0, freq="D")
        records = long.trades.records
        ours = cash[cash.combination == index]
        compared += len(ours)
        compare_lists(f"{fast}/{slow} long", ours, records.entry_idx, records.exit_idx, np.ones(len(records)), records.entry_price, records.exit_price, 1e-15)
        worst = max(worst, near("compounded PnL", cash_metrics.compounded_pct[index] / 100, long.total_return()))
        worst = max(worst, near("drawdown", cash_metrics.max_drawdown[index], -long.max_drawdown()))
        worst = max(worst, near("Sharpe", cash_metrics.sharpe[index], long.sharpe_ratio()))
    total = int((stake.combination >= 0).sum())
    print(f"vectorbt {vbt.__version__}: {compared:,} trades equal ({total:,} of them long and short), worst value {worst:.1e} apart")
    assert total == 261_896, total


def against_backtesting():
    import backtesting
    from backtesting import Backtest, Strategy
    from backtesting.lib import FractionalBacktest

    open_, close = series(6_000, 7, True)
    frame = pd.DataFrame({"Open": open_, "High": np.maximum(open_, close), "Low": np.minimum(open_, close), "Close": close, "Volume": 1.0})
    compared, worst = 0, 0.0
    for fast, slow in [(5, 50), (20, 60), (10, 90)]:
        sign = np.nan_to_num(np.sign(wma(close, fast) - wma(close, slow)))

        class Flip(Strategy):
            long_only = False

            def init(self):
                self.held = 0

            def next(self):
                want = sign[len(self.data) - 1]
                if want in (0, self.held):
                    return
                self.held = want
                if not self.long_only:
                    (self.buy if want > 0 else self.sell)(size=1)
                elif want > 0:
                    self.buy()
                else:
                    self.position.close()

        class LongOnly(Flip):
            long_only = True

        def run(kind, strategy, preset, **options):
            ours, metrics = crosscheck(open_, close, f"wma:{fast}", f"wma:{slow}", preset)
            stats = kind(frame, strategy, finalize_trades=True, exclusive_orders=True, **options).run()
            theirs = stats["_trades"].sort_values(["EntryBar", "ExitBar"])
            # the trade open at the end is finalised at the last open, not at the last close
            is_closed = ours.is_open.to_numpy() == 0
            assert len(ours) == len(theirs), f"{preset}: {len(ours)} {len(theirs)}"
            ours, theirs = ours[is_closed], theirs[is_closed]
            compare_lists(f"{preset} {fast}/{slow}", ours, theirs.EntryBar, theirs.ExitBar, np.sign(theirs.Size), theirs.EntryPrice, theirs.ExitPrice, 1e-12)
            return ours, metrics, stats, theirs

        for preset, on_close in [("backtesting-flip", False), ("backtesting-close", True)]:
            ours, _, _, theirs = run(Backtest, Flip, preset, cash=1e7, trade_on_close=on_close)
            worst = max(worst, near("returns", ours.pnl_pct / 100, theirs.ReturnPct))
            compared += len(ours)
        ours, metrics, stats, theirs = run(
            FractionalBacktest, LongOnly, "backtesting-cash", cash=1e4, commission=0.00045, fractional_unit=1e-12
        )
        # cash after each closed trade, theirs from the PnL in money
        worst = max(worst, near("compounded PnL", (1 + ours.pnl_pct / 100).cumprod(), 1 + theirs.PnL.cumsum() / 1e4))
        worst = max(worst, near("drawdown", metrics.max_drawdown[0], -stats["Max. Drawdown [%]"] / 100))
        compared += len(ours)
    print(f"backtesting.py {backtesting.__version__}: {compared:,} trades equal, worst value {worst:.1e} apart")
    assert compared > 1_000


if "vectorbt" not in sys.argv: against_backtesting()
if "backtesting" not in sys.argv: against_vectorbt()
