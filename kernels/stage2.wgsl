// Kernel (b): the second-stage windowed sums, over linear combinations of rows that kernel (a) made.
//
// A thread makes sixteen bars of one filter, in registers. Its input is combined while it is loaded, so that no
// combination is ever stored. Layout and clamping are those of kernel (a). The twin in Rust is `twin::stage2`.

struct Params {
    row_length: u32,   // vec4s a tile: halo and own bars
    first: u32,        // first position that is computed, a multiple of 32
    halo: u32,         // positions before the tile's own bars, a multiple of 32
    tile_blocks: u32,  // blocks of 32 bars a tile
    blocks: u32,       // blocks of 32 bars in the chunk
    inner_rows: u32,   // rows that kernel (a) made
    first_group: u32,  // first row of this dispatch
    positions: u32,    // 4 * row_length
}

struct Row {
    first_weight: u32,        // index of its first vec4 of weights
    steps: u32,               // taps / 4
    output: u32,              // the row of `values` that it makes
    terms: u32,               // terms of the linear combination, 1 to 4
    rows: vec4<u32>,          // the rows that it combines
    coefficients: vec4<f32>,  // their coefficients, whole numbers
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> inner: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weights: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> rows: array<Row>;
@group(0) @binding(4) var<storage, read_write> values: array<f32>;

fn combined(row: Row, tile: u32, at: u32) -> vec4<f32> {
    let first = tile * params.inner_rows;
    let length = params.row_length;
    var sum = row.coefficients.x * inner[(first + row.rows.x) * length + at];
    if (row.terms > 1u) {
        sum += row.coefficients.y * inner[(first + row.rows.y) * length + at];
    }
    if (row.terms > 2u) {
        sum += row.coefficients.z * inner[(first + row.rows.z) * length + at];
    }
    if (row.terms > 3u) {
        sum += row.coefficients.w * inner[(first + row.rows.w) * length + at];
    }
    return sum;
}

fn store(at: u32, sums: vec4<f32>) {
    let step = params.blocks;
    values[at] = sums.x;
    values[at + step] = sums.y;
    values[at + 2u * step] = sums.z;
    values[at + 3u * step] = sums.w;
}

@compute @workgroup_size(32)
fn stage2(@builtin(global_invocation_id) id: vec3<u32>) {
    let position = params.first + 16u * id.x;
    if (position >= params.positions) {
        return;
    }
    let row = rows[params.first_group + id.y];
    var at = position >> 2u;
    var part4 = combined(row, id.z, at + 3u);
    var part3 = combined(row, id.z, at + 2u);
    var part2 = combined(row, id.z, at + 1u);
    var part1 = combined(row, id.z, at);
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    var sum4 = vec4<f32>();
    var weight = row.first_weight;
    for (var step = 0u; step < row.steps; step++) {
        at = max(at, 1u) - 1u;
        let part0 = combined(row, id.z, at);
        let w = weights[weight];
        weight += 1u;
        sum1 += w.x * part1;
        sum2 += w.x * part2;
        sum3 += w.x * part3;
        sum4 += w.x * part4;
        sum1 += w.y * vec4<f32>(part0.w, part1.xyz);
        sum2 += w.y * vec4<f32>(part1.w, part2.xyz);
        sum3 += w.y * vec4<f32>(part2.w, part3.xyz);
        sum4 += w.y * vec4<f32>(part3.w, part4.xyz);
        sum1 += w.z * vec4<f32>(part0.zw, part1.xy);
        sum2 += w.z * vec4<f32>(part1.zw, part2.xy);
        sum3 += w.z * vec4<f32>(part2.zw, part3.xy);
        sum4 += w.z * vec4<f32>(part3.zw, part4.xy);
        sum1 += w.w * vec4<f32>(part0.yzw, part1.x);
        sum2 += w.w * vec4<f32>(part1.yzw, part2.x);
        sum3 += w.w * vec4<f32>(part2.yzw, part3.x);
        sum4 += w.w * vec4<f32>(part3.yzw, part4.x);
        part4 = part3;
        part3 = part2;
        part2 = part1;
        part1 = part0;
    }
    let own = position - params.halo;
    let block = id.z * params.tile_blocks + (own >> 5u);
    let out = (row.output * 32u + (own & 31u)) * params.blocks + block;
    store(out, sum1);
    store(out + 4u * params.blocks, sum2);
    store(out + 8u * params.blocks, sum3);
    store(out + 12u * params.blocks, sum4);
}
