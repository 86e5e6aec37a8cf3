//! Trades and metrics under the rules by which vectorbt and backtesting.py trade, as CSV.
//!
//! `cargo run --release --example match_peers -- PRICES FAST SLOW PRESET OUT` reads raw little-endian `f64` pairs (open,
//! close) and writes `OUT.trades.csv` and `OUT.metrics.csv`, to compare with theirs (`docs/conventions.md`).
//! Without arguments it shows the presets on a random walk.

use std::fmt::Write as _;
use std::fs;

use crosscheck::{
    Backend, Compounding, Direction, FeeFormula, Fill, FirstSide, Grid, MetricSet, OpenTrade,
    Rules, Sequential, Series, Sweep, Trade, random_walk,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What the two do alike: the first decided side trades, and a trade open at the end is marked.
fn preset(name: &str) -> Outcome<Rules> {
    let base = Rules::default().with_first_side(FirstSide::Enter);
    let compounded = base
        .with_direction(Direction::LongOnly)
        .with_compounding(Compounding::Compounded);
    Ok(match name {
        // from_signals(..., size=100, size_type='value', direction='both', fees=0.00045)
        "vectorbt-stake" => base
            .with_open_trade(OpenTrade::Mark)
            .with_fee_formula(FeeFormula::Notional)
            .with_fee_per_side_pct(0.045)?,
        // from_signals(..., direction='longonly', fees=0.00045, slippage=0.0001): all cash into each trade
        "vectorbt-cash" => compounded
            .with_open_trade(OpenTrade::Mark)
            .with_fee_formula(FeeFormula::AllCash)
            .with_fee_per_side_pct(0.045)?
            .with_slippage_bps(1.0)?,
        // Backtest(..., exclusive_orders=True, finalize_trades=True): filled at the next open
        "backtesting-flip" => base.with_fill(Fill::NextOpen),
        // the same with trade_on_close=True
        "backtesting-close" => base,
        // FractionalBacktest(..., commission=0.00045, finalize_trades=True), long only, all cash
        "backtesting-cash" => compounded
            .with_fill(Fill::NextOpen)
            .with_fee_formula(FeeFormula::AllCash)
            .with_fee_per_side_pct(0.045)?,
        _ => return Err(format!("no preset {name}").into()),
    })
}

fn read(path: &str) -> Outcome<Series> {
    let bytes = fs::read(path)?;
    let values: Vec<f64> = bytes
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("chunks of 8")))
        .collect();
    let closes: Vec<f64> = values.iter().skip(1).step_by(2).copied().collect();
    let opens = values.iter().step_by(2).copied().collect();
    Ok(Series::from_closes(&closes)?.with_opens(opens)?)
}

fn trades_csv(lists: &[Vec<Trade>]) -> Outcome<String> {
    let mut text = String::from(
        "combination,entry_bar,exit_bar,side,entry_price,exit_price,pnl_pct,is_open\n",
    );
    for (combination, trades) in lists.iter().enumerate() {
        for t in trades {
            let (side, is_open) = (t.side.sign(), u8::from(t.is_open));
            writeln!(
                text,
                "{combination},{},{},{side},{},{},{},{is_open}",
                t.entry_bar, t.exit_bar, t.entry_price, t.exit_price, t.pnl_pct
            )?;
        }
    }
    Ok(text)
}

fn metrics_csv(sweep: &Sweep) -> Outcome<String> {
    let mut text = String::from("fast,slow,trades,pnl_pct,compounded_pct,max_drawdown,sharpe\n");
    for row in &sweep.rows {
        let metrics = row.metrics.as_ref().expect("asked for");
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
        writeln!(
            text,
            "{},{},{},{},{},{},{}",
            row.fast,
            row.slow,
            metrics.trades,
            metrics.pnl_pct,
            number(metrics.compounded_pct),
            number(metrics.max_drawdown),
            number(metrics.sharpe)
        )?;
    }
    Ok(text)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let year = MetricSet::all(365.0)?;
    if let [prices, fast, slow, name, out] = &arguments[..] {
        let (series, grid, rules) = (read(prices)?, Grid::parse(fast, slow)?, preset(name)?);
        let engine = Sequential::new();
        fs::write(
            format!("{out}.trades.csv"),
            trades_csv(&engine.trades(&series, &grid, &rules)?)?,
        )?;
        fs::write(
            format!("{out}.metrics.csv"),
            metrics_csv(&engine.sweep_with(&series, &grid, &rules, &year)?)?,
        )?;
        return Ok(());
    }
    let walk = random_walk(2_000, 42)?;
    let opens = walk.closes().to_vec();
    let walk = walk.with_opens(opens)?;
    let grid = Grid::parse("wma:5,10", "wma:50")?;
    for name in [
        "vectorbt-stake",
        "vectorbt-cash",
        "backtesting-flip",
        "backtesting-close",
        "backtesting-cash",
    ] {
        let sweep = Sequential::new().sweep_with(&walk, &grid, &preset(name)?, &year)?;
        println!("{name}\n{}", metrics_csv(&sweep)?);
    }
    Ok(())
}
