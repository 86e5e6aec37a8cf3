// Kernel (d): from the words of kernel (c) to lists of the bars on which a combination's state changes.
//
// A combination is a row, whose words lie a whole set of rows apart, cut into runs; a thread takes one run of one row. The state of a bar is above, below,
// undecided, or never computed. `count` counts the changes of each run, `list` writes them where the host says: it
// sums the counts, so that the lists lie densely without atomics, and a fiftieth of the bars crosses the bus. Both
// read the same words, in integers alone, so they find the same changes. The twin in Rust is `twin::crossings`.
//
// A run's list is a header (the stamp of its submission in the upper half, the state of the run's first bar in two bits,
// the number of changes in fourteen), then the changes, two a word, the earlier in the lower half: the bar, counted from
// the run's first, in fourteen bits, and the new state in the upper two.

struct Params {
    blocks: u32,      // blocks of 32 bars a row, a multiple of 4
    run: u32,         // blocks a run, a multiple of 4
    rows: u32,        // rows of words
    first_row: u32,   // first row that `list` writes
    last_row: u32,    // one past the last
    stamp: u32,       // of this submission, in the upper half
    epoch: u32,       // its number
    stamp_at: u32,    // where `count` puts the number: behind all counts
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> sides: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> lists: array<u32>;

// Four blocks: 128 bars perhaps above, and perhaps below.
struct Four {
    above: vec4<u32>,
    below: vec4<u32>,
}

fn four(at: u32) -> Four {
    let a = sides[at];
    let b = sides[at + params.rows];
    let c = sides[at + 2u * params.rows];
    let d = sides[at + 3u * params.rows];
    return Four(vec4<u32>(a.x, b.x, c.x, d.x), vec4<u32>(a.y, b.y, c.y, d.y));
}

// The bars whose bit differs from that of the bar before; `before` is the bit before the first.
fn changes(words: vec4<u32>, before: u32) -> vec4<u32> {
    return words ^ ((words << vec4<u32>(1u)) | vec4<u32>(before, words.xyz >> vec3<u32>(31u)));
}

// 0 below, 1 above, 2 undecided, 3 never computed.
fn state(above: u32, below: u32) -> u32 {
    return ((~(above ^ below) & 1u) << 1u) | (~below & 1u);
}

@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x;
    if (row >= params.rows) {
        return;
    }
    let first = id.y * params.run;
    let last = min(first + params.run, params.blocks);
    let newest = sides[first * params.rows + row] & vec2<u32>(1u);
    var above = newest.x;
    var below = newest.y;
    var number = 0u;
    for (var block = first; block < last; block += 4u) {
        let words = four(block * params.rows + row);
        let found = countOneBits(changes(words.above, above) | changes(words.below, below));
        number += found.x + found.y + found.z + found.w;
        above = words.above.w >> 31u;
        below = words.below.w >> 31u;
    }
    counts[id.y * params.rows + row] = params.stamp | (state(newest.x, newest.y) << 14u) | number;
    if (row == 0u && last == params.blocks) {
        counts[params.stamp_at] = params.epoch;
    }
}

@compute @workgroup_size(64)
fn list(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = params.first_row + id.x;
    if (row >= params.last_row) {
        return;
    }
    var to = offsets[id.x];
    for (var run = 0u; run < id.y; run++) {
        to += 1u + (((counts[run * params.rows + row] & 0x3fffu) + 1u) >> 1u);
    }
    lists[to] = counts[id.y * params.rows + row];
    to += 1u;
    let first = id.y * params.run;
    let last = min(first + params.run, params.blocks);
    let newest = sides[first * params.rows + row] & vec2<u32>(1u);
    var above = newest.x;
    var below = newest.y;
    var earlier = 0u;
    var is_second = false;
    for (var block = first; block < last; block += 4u) {
        let words = four(block * params.rows + row);
        let found = changes(words.above, above) | changes(words.below, below);
        for (var part = 0u; part < 4u; part++) {
            var left = found[part];
            let base = (block + part - first) << 5u;
            while (left != 0u) {
                let bit = countTrailingZeros(left);
                left &= left - 1u;
                let change = (base + bit) | (state(words.above[part] >> bit, words.below[part] >> bit) << 14u);
                if (is_second) {
                    lists[to] = earlier | (change << 16u);
                    to += 1u;
                }
                earlier = change;
                is_second = !is_second;
            }
        }
        above = words.above.w >> 31u;
        below = words.below.w >> 31u;
    }
    if (is_second) {
        lists[to] = earlier;
    }
    if (id.x == 0u && last == params.blocks) {
        lists[0] = params.epoch;
    }
}
