//! The options by which crossovers become trades.

use crosscheck::{Compounding, Direction, Fill, Rules, Series};

use super::{Failure, Outcome};

/// How crossovers are traded.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RulesArgs {
    /// Fee of a round trip, in percent of the entry price
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    fee_pct: f64,

    /// Slippage of each fill, in basis points
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    slippage_bps: f64,

    /// Sides that may be held
    #[arg(long, value_enum, default_value_t)]
    direction: DirectionArg,

    /// Price at which a signal is filled
    #[arg(long, value_enum, default_value_t)]
    fill: FillArg,

    /// Stake the whole equity on each trade, so that PnL multiplies
    #[arg(long)]
    compound: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum DirectionArg {
    #[default]
    LongShort,
    LongOnly,
    ShortOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum FillArg {
    #[default]
    SignalClose,
    NextClose,
    NextOpen,
}

impl RulesArgs {
    /// Refuses fills that the prices do not have.
    pub(crate) fn check(&self, series: &Series, prices: &str) -> Outcome {
        if self.fill != FillArg::NextOpen || series.opens().is_some() {
            return Ok(());
        }
        Err(Failure::Data(format!(
            "--fill next-open needs opens, {prices} has none: give a file with a column of opens, or --fill next-close"
        )))
    }

    /// Returns the library's rules.
    pub(crate) fn rules(&self) -> Outcome<Rules> {
        let direction = match self.direction {
            DirectionArg::LongShort => Direction::LongShort,
            DirectionArg::LongOnly => Direction::LongOnly,
            DirectionArg::ShortOnly => Direction::ShortOnly,
        };
        let fill = match self.fill {
            FillArg::SignalClose => Fill::SignalClose,
            FillArg::NextClose => Fill::NextClose,
            FillArg::NextOpen => Fill::NextOpen,
        };
        let compounding = if self.compound {
            Compounding::Compounded
        } else {
            Compounding::Additive
        };
        if self.fee_pct < 0.0 {
            return Err(Failure::Usage(format!(
                "a fee of {} % a round trip: give 0 or more",
                self.fee_pct
            )));
        }
        Ok(Rules::default()
            .with_fee_pct(self.fee_pct)?
            .with_slippage_bps(self.slippage_bps)?
            .with_direction(direction)
            .with_fill(fill)
            .with_compounding(compounding))
    }
}
