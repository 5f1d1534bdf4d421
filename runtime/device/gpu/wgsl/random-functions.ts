/** The random numbers of `runtime/random/philox.ts` as WGSL functions. */

import { numberText } from './math-functions.ts';

export const randomFunctions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    f_high_product: `(a : u32, b : u32) -> u32 {
  let middle = (a >> 16u) * (b & 0xffffu) + (((a & 0xffffu) * (b & 0xffffu)) >> 16u);
  let carry = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (carry >> 16u);
}`,
    f_philox: `(block : vec2<u32>, seed : vec2<u32>) -> vec4<u32> {
  var c = vec4<u32>(block, 0u, 0u);
  var k = seed;
  for (var round = 0u; round < 10u; round = round + 1u) {
    let high0 = f_high_product(0xd2511f53u, c.x);
    let high1 = f_high_product(0xcd9e8d57u, c.z);
    c = vec4<u32>(high1 ^ c.y ^ k.x, c.z * 0xcd9e8d57u, high0 ^ c.w ^ k.y, c.x * 0xd2511f53u);
    k = k + vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}`,
    f_uniform: `(words : vec4<u32>) -> vec4<f32> {
  return vec4<f32>(words >> vec4<u32>(8u, 8u, 8u, 8u)) * ${numberText(2 ** -24)};
}`,
    // For numbers in (0, 1], as in fdlibm: WGSL's log is inexact near 1, where radii are small.
    f_log_of_part: `(x : f32) -> f32 {
  let bits = bitcast<u32>(x) + (0x3f800000u - 0x3f3504f3u);
  let power = f32(i32(bits >> 23u) - 127);
  let f = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  let s = f / (2.0f + f);
  let z = s * s;
  let w = z * z;
  let r = z * (${numberText(0.66666662693)} + w * ${numberText(0.28498786688)}) + w * (${numberText(0.40000972152)} + w * ${numberText(0.24279078841)});
  let half = 0.5f * f * f;
  return power * ${numberText(0.693138122559)} - ((half - (s * (half + r) + power * ${numberText(0.0000090580006145)})) - f);
}`,
    // Box–Muller. The angle is reduced as a fraction of a turn, which float32 represents exactly.
    f_normal_pair: `(u : vec2<f32>) -> vec2<f32> {
  let radius = sqrt(-2.0f * f_log_of_part(1.0f - u.x));
  let quarters = u.y * 4.0f;
  let turns = floor(quarters + 0.5f);
  let r = (quarters - turns) * ${numberText(Math.PI / 2)};
  return radius * vec2<f32>(f_quarter_sine(r, turns + 1.0f), f_quarter_sine(r, turns));
}`,
    f_normal: `(words : vec4<u32>) -> vec4<f32> {
  let u = f_uniform(words);
  return vec4<f32>(f_normal_pair(u.xy), f_normal_pair(u.zw));
}`,
  }).map(([name, source]) => [name, `fn ${name}${source}`]),
);
