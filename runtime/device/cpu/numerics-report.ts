import { numerics } from '../../numerics/math.ts';
import { hasSimd } from './wasm/assembler/module-builder.ts';
import { fusesMultiplyAdd } from './wasm/assembler/multiply-add.ts';
import { wideVectors } from './wasm/assembler/wide-vectors.ts';

/** Describes the arithmetic of CPU kernels for reports: `default: WebAssembly SIMD, fused multiply-add`. */
export function describeNumerics(): string {
  const simd = hasSimd ? 'WebAssembly SIMD' : 'plain JavaScript';
  const fused = hasSimd && fusesMultiplyAdd() ? ', fused multiply-add' : '';
  const wide = wideVectors.areUsed ? ', 256 bits' : '';
  return `${numerics()}: ${simd}${wide}${fused}`;
}
