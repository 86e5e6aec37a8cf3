//! Filters that have no short form of taps: long windows, custom kernels, deep trees, stage by stage over a tile.
