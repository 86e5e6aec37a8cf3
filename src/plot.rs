//! Pictures of results, as SVG or PNG by the path's extension: the one module that draws.
//!
//! It only draws what other modules computed: no money is counted and no filter bound is stated here. Colours can be told
//! apart by colour-blind readers (viridis for amounts, Okabe and Ito's set for lines). PNG text uses the font that this
//! feature brings along, so a machine without fonts draws the same picture.

mod axes;
mod canvas;
mod equity;
mod formula_error;
mod heatmap;
mod ladder;
mod price;

pub use equity::{Curve, equity};
pub use formula_error::{ErrorCurve, formula_error};
pub use heatmap::heatmap;
pub use ladder::{Rung, ladder};
pub use price::price;
