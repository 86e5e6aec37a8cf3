// Arithmetic that a sound driver gets right, run once when the device is opened: plain differences in f32, and running
// sums in i32 and u32. Drivers have shipped with each of them wrong.

@group(0) @binding(0) var<storage, read> given: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> counts: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> differences: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec4<u32>>;

@compute @workgroup_size(1)
fn smoke() {
    differences[0] = vec4<f32>(given[0].x) - given[1];
    differences[1] = vec4<f32>(given[0].x - given[0].y, given[0].z + given[0].w, given[0].z * given[0].w, given[0].y);
    // what the device does with a fused and a compensated sum: no side rests on either, reports tell
    let product = given[2];
    let sum = given[0].z + given[0].w;
    let part = sum - given[0].z;
    let lost = (given[0].z - (sum - part)) + (given[0].w - part);
    differences[2] = vec4<f32>(product.x * product.y + product.z, sum, lost, 0.0);
    let n = counts[0];
    sums[0] = vec4<u32>(n.x, n.x + n.y, n.x + n.y + n.z, n.x + n.y + n.z + n.w);
    let i = vec4<i32>(counts[0]);
    sums[1] = vec4<u32>(vec4<i32>(i.x, i.x + i.y, i.x + i.y + i.z, i.x + i.y + i.z + i.w));
}
