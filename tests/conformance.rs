//! One suite, every engine, one line each; and engines with one fault each, which the suite must catch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crosscheck::equivalence::conformance;
use crosscheck::{
    Backend, Diagnostics, FilterMatrix, Naive, Pool, Question, Result, Sequential, SideWriter,
    Vectorized, conformance,
};

conformance!(naive, Naive::new());
conformance!(vectorized, Vectorized::new());
conformance!(sequential, Sequential::new());
conformance!(pool, Pool::new(None));
conformance!(pool_of_three, Pool::new(Some(3)));

/// What is wrong with a mutant.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// None: the control, so that a catch is the fault's and not the mutant's.
    None,
    /// `fast > slow` on rounded values: a bound of 0.
    ZeroBound,
    /// An exact tie counts as above: `>=` for `>`.
    TiesAreAbove,
    /// An exact tie counts as below: no mark, so it does not keep the side.
    TiesAreBelow,
    /// The last word is never written.
    Lazy,
    /// The last bar is read as the first one.
    OffByOne,
}

#[derive(Debug)]
struct Mutant(Fault);

impl Backend for Mutant {
    fn name(&self) -> &str {
        "mutant"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        Naive::new().filters(question)
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let values = self.filters(question)?.values;
        let bars = question.series().bars();
        for writer in writers {
            let combination = writer.combination();
            let (fast, slow) = question.grid().pairs()[combination];
            let predicate = question.predicate(combination);
            let words = bars.div_ceil(64) - usize::from(self.0 == Fault::Lazy);
            for word in writer.next_word()..words {
                let (mut above, mut ties) = (0_u64, 0_u64);
                for bar in (word * 64).max(writer.first_bar())..(word * 64 + 64).min(bars) {
                    let bit = 1 << (bar % 64);
                    let at =
                        bar - usize::from(self.0 == Fault::OffByOne && bar > writer.first_bar());
                    let exact = predicate.decide(at).ordering;
                    let rounded = values[[fast as usize, bar]] > values[[slow as usize, bar]];
                    let (is_above, is_tie) = match self.0 {
                        Fault::ZeroBound => (rounded, false),
                        Fault::TiesAreAbove => (exact.is_ge(), false),
                        Fault::TiesAreBelow => (exact.is_gt(), false),
                        _ => (exact.is_gt(), exact.is_eq()),
                    };
                    above |= if is_above { bit } else { 0 };
                    ties |= if is_tie { bit } else { 0 };
                }
                writer.write(word, &[above], Some(&[ties]));
            }
        }
        Ok(Diagnostics::new(self.name(), true))
    }
}

type Check = fn(&dyn Backend) -> conformance::Compared;

fn catches(fault: Fault, check: Check) -> bool {
    let mutant = Mutant(fault);
    catch_unwind(AssertUnwindSafe(|| check(&mutant))).is_err()
}

#[test]
fn an_engine_without_fault_passes() {
    for check in [
        conformance::ticks as Check,
        conformance::flat_stretches,
        conformance::hostile,
    ] {
        assert!(!catches(Fault::None, check));
    }
}

#[test]
fn a_bound_of_zero_is_noticed() {
    assert!(catches(Fault::ZeroBound, conformance::ticks));
    assert!(catches(Fault::ZeroBound, conformance::flat_stretches));
    assert!(catches(Fault::ZeroBound, conformance::hostile));
}

#[test]
fn a_tie_that_takes_a_side_is_noticed() {
    for fault in [Fault::TiesAreAbove, Fault::TiesAreBelow] {
        assert!(catches(fault, conformance::ticks), "{fault:?}");
        assert!(catches(fault, conformance::flat_stretches), "{fault:?}");
    }
    assert!(catches(
        Fault::TiesAreAbove,
        conformance::equal_filters_never_cross
    ));
}

#[test]
fn missing_words_and_shifted_bars_are_noticed() {
    for fault in [Fault::Lazy, Fault::OffByOne] {
        assert!(
            catches(fault, conformance::lengths_around_words_and_tiles),
            "{fault:?}"
        );
        assert!(catches(fault, conformance::continuous), "{fault:?}");
    }
}
