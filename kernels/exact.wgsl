// Kernel (e): bars that kernel (c) left undecided, decided in integers of 128 bits.
//
// A filter of averages is a few taps on prefix sums of prefix sums of the closes (docs/numerics-gpu.md, section 6). Closes
// are whole numbers, sums and products wrap at 2^128, and the host lets a row take part only where the true numbers fit:
// so the sign is exact. A proven side clears the other bit of kernel (c)'s words; a tie leaves both, for the host.
// A thread takes one run of one row. It looks for its next undecided bar first, so that neighbouring threads, whose bars are
// elsewhere, add up their taps together. It tries so many bars and leaves the others to the host: a driver in software was
// seen to end a thread's loops, whatever they were at, after 65,535 steps. The twin in Rust is `Sums::decide`.

struct Params {
    blocks: u32,      // blocks of 32 bars a row
    run: u32,         // blocks a run
    rows: u32,        // rows of words
    first_row: u32,   // which of all rows is the first of them
    bars: u32,        // bars of the chunk that the series has
    sums_at: u32,     // where the sum up to the chunk's first bar is
    closes_at: u32,   // where its close is
    settled_at: u32,  // where the numbers of settled bars begin
}

struct Row {
    fast: u32,
    slow: u32,
    first: u32,       // first bar of the chunk that may be settled
    unused: u32,
}

struct Filter {
    first_tap: u32,
    taps: u32,
    denominator: vec2<u32>,
}

struct Tap {
    lag: u32,
    is_negative: u32,
    size: vec2<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> sides: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;
@group(0) @binding(3) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read> filters: array<Filter>;
@group(0) @binding(5) var<storage, read> taps: array<Tap>;
@group(0) @binding(6) var<storage, read> sums: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> closes: array<vec2<u32>>;

const MOST_BARS: u32 = 256u;

// All 64 bits of a product, from products of halves.
fn wide(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let left = (a & 0xffffu) * (b >> 16u);
    let right = (a >> 16u) * (b & 0xffffu);
    let middle = (low >> 16u) + (left & 0xffffu) + (right & 0xffffu);
    let high = (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u) + (middle >> 16u);
    return vec2<u32>((low & 0xffffu) | (middle << 16u), high);
}

fn add(a: vec4<u32>, b: vec4<u32>) -> vec4<u32> {
    let sum = a + b;
    let carry = select(vec4<u32>(), vec4<u32>(1u), sum < b);
    let y = sum.y + carry.x;
    let over_y = carry.y | select(0u, 1u, y < carry.x);
    let z = sum.z + over_y;
    let over_z = carry.z | select(0u, 1u, z < over_y);
    return vec4<u32>(sum.x, y, z, sum.w + over_z);
}

fn negative(a: vec4<u32>) -> vec4<u32> {
    return add(~a, vec4<u32>(1u, 0u, 0u, 0u));
}

// The product with a number of 64 bits, modulo 2^128.
fn times(a: vec4<u32>, b: vec2<u32>) -> vec4<u32> {
    let xx = wide(a.x, b.x);
    let yx = wide(a.y, b.x);
    let zx = wide(a.z, b.x);
    let xy = wide(a.x, b.y);
    let yy = wide(a.y, b.y);
    let top = a.w * b.x + a.z * b.y;
    let sum = add(vec4<u32>(xx, zx), vec4<u32>(0u, yx, top));
    return add(sum, add(vec4<u32>(0u, xy, 0u), vec4<u32>(0u, 0u, yy)));
}

// A filter's numerator over closes counted from that of the bar.
fn numerator(filter_row: u32, bar: u32) -> vec4<u32> {
    let exact = filters[filter_row];
    let at = params.sums_at + bar;
    var sum = negative(times(vec4<u32>(closes[params.closes_at + bar], 0u, 0u), exact.denominator));
    for (var index = 0u; index < exact.taps; index++) {
        let tap = taps[exact.first_tap + index];
        let term = times(sums[at - tap.lag], tap.size);
        sum = add(sum, select(term, negative(term), tap.is_negative != 0u));
    }
    return sum;
}

// Bits of a block's bars from `first` on and below `params.bars`.
fn valid(block: u32, first: u32) -> u32 {
    let start = block << 5u;
    let below_first = clamp(first, start, start + 32u) - start;
    let below_end = clamp(params.bars, start, start + 32u) - start;
    let from_first = select(0xffffffffu << (below_first & 31u), 0u, below_first == 32u);
    let from_end = select(0xffffffffu << (below_end & 31u), 0u, below_end == 32u);
    return from_first & ~from_end;
}

@compute @workgroup_size(64)
fn exact(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= params.rows) {
        return;
    }
    let row = rows[params.first_row + id.x];
    var block = id.y * params.run;
    let last = min(block + params.run, params.blocks);
    var at = 0u;
    var words = vec2<u32>();
    var left = 0u;
    var settled = 0u;
    for (var tried = 0u; tried < MOST_BARS; tried++) {
        while (left == 0u && block < last) {
            at = block * params.rows + id.x;
            words = sides[at];
            left = words.x & words.y & valid(block, row.first);
            block += 1u;
        }
        if (left == 0u) {
            break;
        }
        let bit = countTrailingZeros(left);
        left &= left - 1u;
        let bar = ((block - 1u) << 5u) + bit;
        let fast = times(numerator(row.fast, bar), filters[row.slow].denominator);
        let slow = times(numerator(row.slow, bar), filters[row.fast].denominator);
        let difference = add(fast, negative(slow));
        if (any(difference != vec4<u32>())) {
            let is_below = (difference.w >> 31u) != 0u;
            words &= ~(select(vec2<u32>(0u, 1u), vec2<u32>(1u, 0u), is_below) << vec2<u32>(bit));
            sides[at] = words;
            settled += 1u;
        }
    }
    counts[params.settled_at + id.y * params.rows + id.x] = settled;
}
