//! Every choice that rules make, each combined with every other, without costs and with all kinds of them.

use crosscheck::{Compounding, Direction, FeeFormula, Fill, FirstSide, OpenTrade, Rules};

/// All 108 combinations of direction, fill, first side, open trade and compounding, without costs.
pub fn every_choice() -> Vec<Rules> {
    use OpenTrade::{Close, Exclude, Mark};
    let mut rules = Vec::new();
    for direction in [
        Direction::LongShort,
        Direction::LongOnly,
        Direction::ShortOnly,
    ] {
        for fill in [Fill::SignalClose, Fill::NextClose, Fill::NextOpen] {
            for first_side in [FirstSide::Arm, FirstSide::Enter] {
                for open_trade in [Close, Mark, Exclude] {
                    for compounding in [Compounding::Additive, Compounding::Compounded] {
                        let base = Rules::default()
                            .with_direction(direction)
                            .with_fill(fill)
                            .with_first_side(first_side)
                            .with_open_trade(open_trade);
                        rules.push(base.with_compounding(compounding));
                    }
                }
            }
        }
    }
    rules
}

/// Each choice without costs, then with costs by each formula: 540 rule sets.
pub fn every_rule() -> Vec<Rules> {
    let with_all = |base: Rules| std::iter::once(base).chain(with_costs(base));
    every_choice().into_iter().flat_map(with_all).collect()
}

/// A proportional fee, a fixed fee and slippage, which differ enough to tell the formulas apart.
fn with_costs(base: Rules) -> impl Iterator<Item = Rules> {
    use FeeFormula::{Additive, AllCash, Multiplicative, Notional};
    let formulas = [Additive, Notional, Multiplicative, AllCash];
    formulas.into_iter().map(move |formula| {
        let fees = base.with_fee_per_side_pct(0.3).unwrap();
        let fees = fees.with_fixed_fee(2.0, 1_000.0).unwrap();
        let slipped = fees.with_slippage_bps(15.0).unwrap();
        slipped.with_fee_formula(formula)
    })
}
