//! An engine whose sides are given, so that a test can write down the signals it wants.

use crosscheck::{Backend, Diagnostics, Filter, FilterMatrix, Grid, Question, Result, SideWriter};

/// One row of sides a combination: +1, -1, or 0 for a tie.
#[derive(Debug, Clone)]
pub struct Scripted(pub Vec<Vec<i8>>);

impl Scripted {
    pub fn one(sides: &[i8]) -> Self {
        Self(vec![sides.to_vec()])
    }

    /// A grid with as many combinations as there are rows, each decided from bar 0 on. The fast filters are named by
    /// their rows, so that a part of the grid has its own rows.
    pub fn grid(&self) -> Grid {
        let close = Filter::sma(1).unwrap();
        let row = |row: usize| Filter::fir(&row.to_string(), &[1.0 + row as f64]).unwrap();
        let pairs: Vec<_> = (0..self.0.len())
            .map(|index| (row(index), close.clone()))
            .collect();
        Grid::from_pairs(&pairs).unwrap()
    }
}

impl Backend for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn filters(&self, _: &Question<'_>) -> Result<FilterMatrix> {
        unreachable!("sides are written directly")
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        for writer in writers {
            let (fast, _) = question.grid().combination(writer.combination());
            let sides = &self.0[fast.name().parse::<usize>().unwrap()];
            assert_eq!(sides.len(), question.series().bars());
            for (word, bars) in sides.chunks(64).enumerate() {
                let bits = |of: i8| {
                    let bits = bars.iter().enumerate();
                    bits.fold(0_u64, |bits, (bit, &side)| {
                        bits | (u64::from(side == of) << bit)
                    })
                };
                writer.write(word, &[bits(1)], Some(&[bits(0)]));
            }
        }
        Ok(Diagnostics::new(self.name(), true))
    }
}

/// A step of a small generator (Knuth's constants), for tests that need any sequence, always the same.
pub fn draw(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Sides that change with a chance of one in `stay`, ties among them.
pub fn random_sides(bars: usize, stay: u64, seed: u64) -> Vec<i8> {
    let (mut state, mut side) = (seed, 0_i8);
    let next = |_| {
        if draw(&mut state).is_multiple_of(stay) {
            side = [1, -1, 0][(draw(&mut state) % 3) as usize];
        }
        side
    };
    (0..bars).map(next).collect()
}
