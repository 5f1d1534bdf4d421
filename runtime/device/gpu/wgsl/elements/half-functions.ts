/**
 * float16 and bfloat16 as WGSL functions, bitwise identical to `spec/half.ts`. Uses integers, because a driver may
 * round packed halves differently and flush subnormal numbers to 0.
 */
export const halfFunctions: ReadonlyMap<string, string> = new Map(
  Object.entries({
    f_from_float16: `(bits : u32) -> f32 {
  let sign = (bits & 0x8000u) << 16u;
  let size = bits & 0x7fffu;
  if (size >= 0x7c00u) { return bitcast<f32>(sign | 0x7f800000u | (size << 13u)); }
  if (size >= 0x400u) { return bitcast<f32>(sign | ((size << 13u) + 0x38000000u)); }
  let small = f32(size) * 0.000000059604644775390625f;
  return select(small, -small, sign != 0u);
}`,
    f_float16_bits: `(value : f32) -> u32 {
  let bits = bitcast<u32>(value);
  let sign = (bits >> 16u) & 0x8000u;
  let size = bits & 0x7fffffffu;
  if (size >= 0x47800000u) { return sign | select(0x7c00u, 0x7e00u, size > 0x7f800000u); }
  if (size >= 0x38800000u) { return sign | ((size - 0x38000000u + 0xfffu + ((size >> 13u) & 1u)) >> 13u); }
  // Below half of the least of them there is 0; what is above has at most 24 digits to drop.
  if (size <= 0x33000000u) { return sign; }
  let digits = (size & 0x7fffffu) | 0x800000u;
  let dropped = 126u - (size >> 23u);
  let half = 1u << (dropped - 1u);
  return sign | ((digits + half - 1u + ((digits >> dropped) & 1u)) >> dropped);
}`,
    f_bfloat16_bits: `(value : f32) -> u32 {
  let bits = bitcast<u32>(value);
  let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
  let isNumber = (bits & 0x7fffffffu) <= 0x7f800000u;
  return select(((bits >> 16u) & 0x8000u) | 0x7fc0u, rounded, isNumber);
}`,
  }).map(([name, source]) => [name, `fn ${name}${source}`]),
);
