// Kernel (c): on which bars fast is surely above, or surely not above, slow: 32 bars x 1 fast x 8 slow filters a thread.
//
// Two words of 32 bars are made for each combination: a bit of the first says that fast may be above, a bit of the
// second that it may be below. One of them alone is a proven side, both are undecided, and neither is a code that no
// finished thread leaves: the output is cleared to it first, and a stale or killed dispatch shows.
// The words of a block lie together, so that kernel (d), whose neighbouring threads take neighbouring rows, reads
// neighbouring words. All jobs of 64 blocks run before those of the next: their values stay in the cache (the other order took four
// times as long on an H200). The bound of a combination is the sum of its filters' bounds, each a factor of the filter times the largest centred
// close of its window (`docs/numerics-gpu.md`). The twin in Rust is `twin::bits`.

struct Params {
    blocks: u32,     // blocks of 32 bars in the chunk
    first_job: u32,  // first job of this dispatch
    first_row: u32,  // first row of the output
    rows: u32,       // rows of the output
    unused0: u32,
    unused1: u32,
    unused2: u32,
    unused3: u32,
}

struct Job {
    fast: u32,
    first_row: u32,  // row of its first combination
    count: u32,      // combinations, 1 to 8
    unused: u32,
    slow: array<u32, 8>,
}

struct Bound {
    factor: f32,
    reach: u32,  // which row of `largest` covers the filter's window
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> values: array<f32>;
@group(0) @binding(2) var<storage, read> largest: array<f32>;
@group(0) @binding(3) var<storage, read> bounds: array<Bound>;
@group(0) @binding(4) var<storage, read> jobs: array<Job>;
@group(0) @binding(5) var<storage, read_write> sides: array<vec2<u32>>;

fn bound(filter_row: u32, block: u32) -> f32 {
    let bound = bounds[filter_row];
    return bound.factor * largest[bound.reach * params.blocks + block];
}

@compute @workgroup_size(64)
fn bits(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let block = 64u * group.y + local.x;
    if (block >= params.blocks) {
        return;
    }
    let job = params.first_job + group.x;
    let count = jobs[job].count;
    let step = params.blocks;
    let slow_low = vec4<u32>(jobs[job].slow[0], jobs[job].slow[1], jobs[job].slow[2], jobs[job].slow[3]);
    let slow_high = vec4<u32>(jobs[job].slow[4], jobs[job].slow[5], jobs[job].slow[6], jobs[job].slow[7]);
    let own = bound(jobs[job].fast, block);
    let bound_low = own + vec4<f32>(bound(slow_low.x, block), bound(slow_low.y, block),
                                    bound(slow_low.z, block), bound(slow_low.w, block));
    let bound_high = own + vec4<f32>(bound(slow_high.x, block), bound(slow_high.y, block),
                                     bound(slow_high.z, block), bound(slow_high.w, block));
    var fast = jobs[job].fast * 32u * step + block;
    var low = slow_low * (32u * step) + block;
    var high = slow_high * (32u * step) + block;
    var above_low = vec4<u32>();
    var above_high = vec4<u32>();
    var below_low = vec4<u32>();
    var below_high = vec4<u32>();
    let none = vec4<u32>();
    for (var bar = 0u; bar < 32u; bar++) {
        let value = values[fast];
        let d_low = value - vec4<f32>(values[low.x], values[low.y], values[low.z], values[low.w]);
        let d_high = value - vec4<f32>(values[high.x], values[high.y], values[high.z], values[high.w]);
        let bit = vec4<u32>(1u << bar);
        above_low |= select(none, bit, d_low >= -bound_low);
        above_high |= select(none, bit, d_high >= -bound_high);
        below_low |= select(none, bit, d_low <= bound_low);
        below_high |= select(none, bit, d_high <= bound_high);
        fast += step;
        low += step;
        high += step;
    }
    let at = block * params.rows + jobs[job].first_row - params.first_row;
    sides[at] = vec2<u32>(above_low.x, below_low.x);
    if (count > 1u) { sides[at + 1u] = vec2<u32>(above_low.y, below_low.y); }
    if (count > 2u) { sides[at + 2u] = vec2<u32>(above_low.z, below_low.z); }
    if (count > 3u) { sides[at + 3u] = vec2<u32>(above_low.w, below_low.w); }
    if (count > 4u) { sides[at + 4u] = vec2<u32>(above_high.x, below_high.x); }
    if (count > 5u) { sides[at + 5u] = vec2<u32>(above_high.y, below_high.y); }
    if (count > 6u) { sides[at + 6u] = vec2<u32>(above_high.z, below_high.z); }
    if (count > 7u) { sides[at + 7u] = vec2<u32>(above_high.w, below_high.w); }
}
