//! M2, sequential: one thread, every filter computed once for all the combinations that use it.

use ndarray::Array2;

use super::{Backend, FilterMatrix};
use crate::error::Result;
use crate::filter::Filter;
use crate::question::Question;

/// The sequential engine, rung M2.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sequential;

impl Sequential {
    /// Makes the engine.
    pub fn new() -> Self {
        Self
    }
}

impl Backend for Sequential {
    fn name(&self) -> &str {
        "m2"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let closes = question.series().closes();
        let mut values = Array2::zeros((question.filters().len(), closes.len()));
        for (mut row, filter) in values.rows_mut().into_iter().zip(question.filters()) {
            let row = row
                .as_slice_mut()
                .expect("rows of a standard-layout matrix are slices");
            filter.evaluate_into(closes, row)?;
        }
        let bounds = question
            .filters()
            .iter()
            .map(Filter::relative_error_bound)
            .collect();
        Ok(FilterMatrix {
            values,
            relative_bounds: Some(bounds),
        })
    }
}
