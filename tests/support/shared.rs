//! Recorded prices and expected trades from the folder that `CROSSCHECK_SHARED` names, `../shared` without it.

use std::path::PathBuf;

use crosscheck::Series;

/// The path of a shared file, if it is there.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let folder =
        std::env::var_os("CROSSCHECK_SHARED").map_or_else(|| "../shared".into(), PathBuf::from);
    let path = folder.join(name);
    path.is_file().then_some(path)
}

/// The text of a shared file that was found before.
pub(crate) fn text(name: &str) -> String {
    let path = shared(name).unwrap_or_else(|| panic!("{name} is not in the shared folder"));
    std::fs::read_to_string(path).unwrap()
}

/// Closes of a price file in ticks of its smallest step: decimal text to integers, without a float between.
pub(crate) fn ticks(name: &str, decimals: usize) -> Series {
    let text = text(name);
    let close = |line: &str| {
        let close = line.split(',').nth(4).unwrap();
        let (whole, fraction) = close.split_once('.').unwrap_or((close, ""));
        format!("{whole}{fraction:0<decimals$}")
            .parse::<i64>()
            .unwrap()
    };
    let ticks: Vec<i64> = text.lines().skip(1).map(close).collect();
    Series::from_ticks(
        &ticks,
        [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8][decimals],
    )
    .unwrap()
}
