// Kernel (a): batched direct windowed sums of the centred closes, four windows a thread on eight bars.
//
// One thread holds 4 x 8 sums in registers. A step of the loop takes four taps: it loads four older closes and four
// weights a window, and makes 128 products of them. The closes of a tile lie behind one another, oldest first, its halo
// before its own bars; a read before the tile's start is clamped, and meets only weights of 0 or bars nobody reads.
// The twin in Rust is `twin::conv`.

struct Params {
    row_length: u32,   // vec4s a tile: halo and own bars
    first: u32,        // first position that is computed, a multiple of 8
    halo: u32,         // positions before the tile's own bars, a multiple of 32
    tile_blocks: u32,  // blocks of 32 bars a tile
    blocks: u32,       // blocks of 32 bars in the chunk
    inner_rows: u32,   // rows that the second stage reads
    first_group: u32,  // first group of this dispatch
    positions: u32,    // 4 * row_length
}

struct Group {
    first_weight: u32,   // index of its first vec4 of weights
    steps: u32,          // taps / 4
    first: u32,          // first position that anyone reads
    unused: u32,
    outputs: vec4<u32>,  // where each window goes: see `store`
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> closes: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> groups: array<Group>;
@group(0) @binding(4) var<storage, read_write> inner: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> values: array<f32>;

const NOWHERE: u32 = 0xffffffffu;
const INNER: u32 = 0x80000000u;

// An output is a row of filter values, transposed so that neighbouring blocks of 32 bars are neighbouring words; or
// with the top bit a row of the second stage's input; or nowhere.
fn store(output: u32, tile: u32, position: u32, low: vec4<f32>, high: vec4<f32>) {
    if (output == NOWHERE) {
        return;
    }
    if ((output & INNER) != 0u) {
        let row = tile * params.inner_rows + (output & 0x7fffffffu);
        let at = row * params.row_length + (position >> 2u);
        inner[at] = low;
        inner[at + 1u] = high;
        return;
    }
    if (position < params.halo) {
        return;
    }
    let own = position - params.halo;
    let step = params.blocks;
    let block = tile * params.tile_blocks + (own >> 5u);
    let at = (output * 32u + (own & 31u)) * step + block;
    values[at] = low.x;
    values[at + step] = low.y;
    values[at + 2u * step] = low.z;
    values[at + 3u * step] = low.w;
    values[at + 4u * step] = high.x;
    values[at + 5u * step] = high.y;
    values[at + 6u * step] = high.z;
    values[at + 7u * step] = high.w;
}

@compute @workgroup_size(32)
fn conv(@builtin(global_invocation_id) id: vec3<u32>) {
    let position = params.first + 8u * id.x;
    let group = groups[params.first_group + id.y];
    if (position >= params.positions || position < group.first) {
        return;
    }
    let start = id.z * params.row_length;
    var at = position >> 2u;
    var newer = closes[start + at + 1u];
    var middle = closes[start + at];
    var low0 = vec4<f32>();
    var low1 = vec4<f32>();
    var low2 = vec4<f32>();
    var low3 = vec4<f32>();
    var high0 = vec4<f32>();
    var high1 = vec4<f32>();
    var high2 = vec4<f32>();
    var high3 = vec4<f32>();
    var weight = group.first_weight;
    for (var step = 0u; step < group.steps; step++) {
        at = max(at, 1u) - 1u;
        let older = closes[start + at];
        let w0 = weights[weight];
        let w1 = weights[weight + 1u];
        let w2 = weights[weight + 2u];
        let w3 = weights[weight + 3u];
        weight += 4u;
        let low_1 = vec4<f32>(older.w, middle.xyz);
        let low_2 = vec4<f32>(older.zw, middle.xy);
        let low_3 = vec4<f32>(older.yzw, middle.x);
        let high_1 = vec4<f32>(middle.w, newer.xyz);
        let high_2 = vec4<f32>(middle.zw, newer.xy);
        let high_3 = vec4<f32>(middle.yzw, newer.x);
        low0 += w0.x * middle;
        low1 += w1.x * middle;
        low2 += w2.x * middle;
        low3 += w3.x * middle;
        high0 += w0.x * newer;
        high1 += w1.x * newer;
        high2 += w2.x * newer;
        high3 += w3.x * newer;
        low0 += w0.y * low_1;
        low1 += w1.y * low_1;
        low2 += w2.y * low_1;
        low3 += w3.y * low_1;
        high0 += w0.y * high_1;
        high1 += w1.y * high_1;
        high2 += w2.y * high_1;
        high3 += w3.y * high_1;
        low0 += w0.z * low_2;
        low1 += w1.z * low_2;
        low2 += w2.z * low_2;
        low3 += w3.z * low_2;
        high0 += w0.z * high_2;
        high1 += w1.z * high_2;
        high2 += w2.z * high_2;
        high3 += w3.z * high_2;
        low0 += w0.w * low_3;
        low1 += w1.w * low_3;
        low2 += w2.w * low_3;
        low3 += w3.w * low_3;
        high0 += w0.w * high_3;
        high1 += w1.w * high_3;
        high2 += w2.w * high_3;
        high3 += w3.w * high_3;
        newer = middle;
        middle = older;
    }
    store(group.outputs.x, id.z, position, low0, high0);
    store(group.outputs.y, id.z, position, low1, high1);
    store(group.outputs.z, id.z, position, low2, high2);
    store(group.outputs.w, id.z, position, low3, high3);
}
