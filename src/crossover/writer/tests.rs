//! The writer against the rule of the definitions, bar by bar, and the contract that it holds engines to.

use super::*;

/// The rule of the definitions, bar by bar.
fn by_definition(differences: &[i32]) -> Vec<u32> {
    let (mut side, mut found) = (0, Vec::new());
    for (bar, difference) in differences.iter().enumerate() {
        let sign = difference.signum();
        if sign == 0 || sign == side {
            continue;
        }
        if side != 0 {
            found.push(bar as u32);
        }
        side = sign;
    }
    found
}

fn written(differences: &[i32], first_bar: usize, words_at_once: usize) -> Vec<u32> {
    let words = differences.len().div_ceil(64);
    let bit = |word: usize, is_set: &dyn Fn(i32) -> bool| {
        let bars = differences.iter().skip(word * 64).take(64).enumerate();
        bars.fold(0_u64, |bits, (bit, &d)| {
            bits | (u64::from(is_set(d)) << bit)
        })
    };
    let above: Vec<u64> = (0..words).map(|w| bit(w, &|d| d > 0)).collect();
    let ties: Vec<u64> = (0..words).map(|w| bit(w, &|d| d == 0)).collect();
    let mut found: Vec<u32> = Vec::new();
    let mut writer = SideWriter::new(0, first_bar, differences.len(), &mut found);
    for first in (0..words).step_by(words_at_once) {
        let last = (first + words_at_once).min(words);
        writer.write(first, &above[first..last], Some(&ties[first..last]));
    }
    writer.finish("test").unwrap();
    found
}

#[test]
fn crossovers_follow_the_definition_across_word_boundaries() {
    let mut state = 1_u64;
    for (ties, bars) in [
        (2, 1_000),
        (40, 1_000),
        (97, 777),
        (100, 300),
        (1, 64),
        (3, 65),
    ] {
        let differences: Vec<i32> = (0..bars)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let draw = (state >> 33) % 100;
                if draw < ties {
                    0
                } else if (state >> 50) & 1 == 0 {
                    1
                } else {
                    -1
                }
            })
            .collect();
        let expected = by_definition(&differences);
        for words_at_once in [1, 2, 7] {
            assert_eq!(written(&differences, 0, words_at_once), expected);
        }
    }
}

#[test]
fn warm_up_bits_are_ignored() {
    let mut differences = vec![1; 200];
    differences[..70].fill(-1);
    assert_eq!(written(&differences, 70, 1), Vec::<u32>::new());
    assert_eq!(written(&differences, 69, 1), vec![70]);
}

#[cfg(feature = "gpu")]
#[test]
fn crossovers_from_elsewhere_keep_the_contract() {
    let mut found: Vec<u32> = Vec::new();
    let mut writer = SideWriter::new(0, 70, 300, &mut found);
    assert_eq!(writer.write_crossovers(0..64, None, &[]), Ok(None));
    let wrong: [(std::ops::Range<usize>, Option<u32>, &[u32]); 8] = [
        (192..256, None, &[]),
        (64..192, Some(69), &[]),
        (64..192, Some(192), &[]),
        (64..192, None, &[80]),
        (64..192, Some(80), &[80]),
        (64..192, Some(80), &[81, 81]),
        (64..192, Some(80), &[82, 81]),
        (64..192, Some(80), &[82, 192]),
    ];
    for (bars, armed, crossovers) in wrong {
        let armed = armed.map(|bar| (bar, Side::Long));
        let mut ignored: Vec<u32> = Vec::new();
        let mut writer = SideWriter::new(0, 70, 300, &mut ignored);
        assert_eq!(writer.write_crossovers(bars, armed, crossovers), Err(()));
    }
    let armed = Some((80, Side::Long));
    let side = writer.write_crossovers(64..192, armed, &[81, 90, 191]);
    assert_eq!(side, Ok(Some(Side::Short)));
    assert_eq!(writer.write_crossovers(192..512, armed, &[200]), Err(()));
    let side = writer.write_crossovers(192..512, None, &[192, 299]);
    assert_eq!(side, Ok(Some(Side::Short)));
    writer.finish("test").unwrap();
    assert_eq!(found, [81, 90, 191, 192, 299]);
}

#[test]
fn missing_words_are_an_error() {
    let mut found: Vec<u32> = Vec::new();
    let writer = SideWriter::new(3, 0, 65, &mut found);
    assert!(matches!(
        writer.finish("lazy"),
        Err(Error::EngineContract {
            combination: 3,
            bar: 0,
            ..
        })
    ));
    let mut writer = SideWriter::new(0, 0, 200, &mut found);
    writer.write(1, &[0; 3], None);
    assert!(writer.finish("gap").is_err());
}
