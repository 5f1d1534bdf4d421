import type { Attrs } from '../../../runtime/device/kernel-op.ts';
import { contiguousStrides, sizeOf } from '../../../runtime/spec/shape.ts';
import { isFixedAttr } from '../target/attributes.ts';
import { fixedDims } from '../target/dims.ts';
import type { OpCall, TargetValue } from '../target/target.ts';

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

/** Positions of a view's elements in its row-major operand; null if a size or attribute isn't a constant. */
export function viewPlaces({
  op,
  metas,
  attrs,
  inputs,
  outputs,
}: OpCall<TargetValue>): { places: Int32Array; shape: readonly number[] } | null {
  const isKnown =
    fixedDims([...inputs[0]!.shape, ...outputs[0]!.shape]) &&
    Object.values(attrs).every(isFixedAttr);
  if (op.kernel.kind !== 'view' || !isKnown) return null;
  const { shape, strides, offset } = op.kernel.view(metas, attrs as Attrs);
  return { places: viewPositions(shape, strides, offset), shape };
}
