import { numerics } from '../../../../numerics/math.ts';
import { type Code, lane, op } from './code.ts';

/**
 * A function (v128, v128, v128) → v128 with the single instruction f32x4.relaxed_madd, as a module; engines
 * without relaxed SIMD reject it.
 */
const probe = new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 8, 1, 0x60, 3, 0x7b, 0x7b, 0x7b, 1, 0x7b],
  ...[3, 2, 1, 0],
  ...[10, 13, 1, 11, 0, 0x20, 0, 0x20, 1, 0x20, 2, 0xfd, 0x85, 0x02, 0x0b],
]);

/** Whether the engine has a fused multiply-add instruction; known after the first query. */
export const relaxedMadd: { exists?: boolean | undefined } = {};

function hasRelaxedMadd(): boolean {
  relaxedMadd.exists ??= globalThis.WebAssembly?.validate(probe) ?? false;
  return relaxedMadd.exists;
}

/** Whether kernels fuse multiply-add, rounding once: not with portable numerics. */
export function fusesMultiplyAdd(): boolean {
  return numerics() === 'default' && hasRelaxedMadd();
}

/** a · b + sum of four float32 each, rounded once if the engine supports it and numerics allow it. */
export function mulAdd(a: Code, b: Code, sum: Code): Code {
  if (fusesMultiplyAdd()) return op('f32x4.relaxed_madd', a, b, sum);
  return op('f32x4.add', sum, op('f32x4.mul', a, b));
}

/** sum − a · b */
export function mulSub(a: Code, b: Code, sum: Code): Code {
  if (fusesMultiplyAdd()) return op('f32x4.relaxed_nmadd', a, b, sum);
  return op('f32x4.sub', sum, op('f32x4.mul', a, b));
}

/** a · b + sum of one float32 each, bitwise identical to a lane of `mulAdd`. */
export function mulAddOne(a: Code, b: Code, sum: Code): Code {
  if (!fusesMultiplyAdd()) return op('f32.add', sum, op('f32.mul', a, b));
  const splat = (x: Code): Code => op('f32x4.splat', x);
  return lane('f32x4.extract_lane', 0, mulAdd(splat(a), splat(b), splat(sum)));
}
