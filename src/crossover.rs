//! The crossover as an adaptive exact predicate: on which bars fast is above slow, decided for certain.
//!
//! A trade depends on the *sign* of fast - slow, not on its value. Engines compute the difference fast with a proven
//! bound; what the bound leaves undecided is settled here, first in `f64` on the window alone, then in integers.

mod difference;
mod exact;
mod found;
mod narrow;
mod predicate;
mod writer;

pub(crate) use found::Found;
pub(crate) use predicate::FilterForm;
pub use predicate::{Decision, Predicate, Stage};
pub use writer::{CrossoverSink, Side, SideWriter};
