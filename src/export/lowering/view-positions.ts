import { contiguousStrides, sizeOf } from '../../../runtime/spec/shape.ts';

/** The position of each element of a view in its row-major operand. */
export function viewPositions(
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
): Int32Array {
  const positions = new Int32Array(sizeOf(shape));
  const steps = contiguousStrides(shape);
  for (let i = 0; i < positions.length; i++) {
    let at = offset;
    for (let d = 0; d < shape.length; d++)
      at += (Math.floor(i / steps[d]!) % shape[d]!) * strides[d]!;
    positions[i] = at;
  }
  return positions;
}
