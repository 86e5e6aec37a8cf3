//! Averages of a sliding window at a constant cost a bar, from sums that never leave the window.
//!
//! The series is cut into blocks as long as the window, so each window is the tail of one block and the head of
//! the next. Sums grow forwards from each block's start and backwards from its end, and a window adds one of each.
//! Nothing is ever subtracted: the error is that of a direct sum, it cannot grow with the length of the series, a
//! spike leaves no trace once it has left the window, and NaN is returned exactly while it is inside.
//! (The two-sided scheme of van Herk 1992 and Gil and Werman 1993, there for maxima.)

/// Writes the mean of each window of `period` values; NaN where the window is not full.
pub(super) fn sma(input: &[f64], period: usize, out: &mut [f64]) {
    let divisor = period as f64;
    two_sided(input, period, out, |tail, head| {
        (tail.plain + head.plain) / divisor
    });
}

/// Writes the linearly weighted mean of each window of `period` values; NaN where the window is not full.
pub(super) fn wma(input: &[f64], period: usize, out: &mut [f64]) {
    let divisor = (period as f64) * (period as f64 + 1.0) / 2.0;
    two_sided(input, period, out, |tail, head| {
        (tail.weighted + (head.weighted + tail.bars * head.plain)) / divisor
    });
}

/// Plain and weighted sum of a part of a window, and its length: weights 1, 2, ... from the part's oldest bar.
#[derive(Clone, Copy, Default)]
struct Part {
    bars: f64,
    plain: f64,
    weighted: f64,
}

fn two_sided(input: &[f64], period: usize, out: &mut [f64], finish: impl Fn(Part, Part) -> f64) {
    let bars = input.len();
    out[..bars.min(period - 1)].fill(f64::NAN);
    let mut tails = vec![Part::default(); period.min(bars)];
    let mut start = 0;
    while start + period <= bars {
        backwards(&input[start..start + period], &mut tails);
        // the window that is this whole block, then those that reach into the next one
        out[start + period - 1] = finish(tails[0], Part::default());
        let mut head = Part::default();
        let reach = (bars - start - period).min(period - 1);
        for step in 1..=reach {
            let value = input[start + period + step - 1];
            head.bars += 1.0;
            head.plain += value;
            head.weighted += head.bars * value;
            out[start + period + step - 1] = finish(tails[step], head);
        }
        start += period;
    }
}

/// Fills `tails[i]` with the sums of `block[i..]`: one more weight on every value for each older bar.
fn backwards(block: &[f64], tails: &mut [Part]) {
    let mut tail = Part::default();
    for (value, slot) in block.iter().zip(tails.iter_mut()).rev() {
        tail.bars += 1.0;
        tail.plain += value;
        tail.weighted += tail.plain;
        *slot = tail;
    }
}

/// Writes the sum of each window times `weights`, oldest first; NaN where the window is not full.
pub(super) fn fir(input: &[f64], weights: &[f64], out: &mut [f64]) {
    let period = weights.len();
    out[..input.len().min(period - 1)].fill(f64::NAN);
    for (bar, window) in input.windows(period).enumerate() {
        out[bar + period - 1] = window
            .iter()
            .zip(weights)
            .fold(0.0, |sum, (x, w)| sum + x * w);
    }
}
