//! The command line `crosscheck`.

fn main() {}
