/** A tensor with one source inside a region, and another outside it. */

import { E } from '../../../../ops/expr/expr.ts';
import { identity } from '../../../../ops/expr/expr-type.ts';
import { dtypes } from '../../../../spec/dtype.ts';
import { contiguousStrides, sizeOf } from '../../../../spec/shape.ts';
import { toInt32 } from '../../../cpu/scalar/pointwise.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output, type Slot } from '../../core/kernel-plan.ts';
import { eachElement } from '../each-element.ts';
import { elementTypeOf, valueTypeOf } from '../elements/element-type.ts';
import { splitText } from '../index-text.ts';
import { singleBody } from '../pointwise-bodies.ts';
import { pointwiseStage } from '../pointwise-kernel.ts';
import {
  chosenByNothing,
  type KernelPlanner,
  type WgslOperand,
  type WgslStage,
} from '../wgsl-plan.ts';
import { workgroupThreads } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';
import { partBody } from './joining.ts';

/** A dimension of the whole, and the region's range in it. */
interface Side {
  readonly size: number;
  readonly start: number;
  readonly length: number;
  /** The stride of the region's tensor. */
  readonly stride: number;
  /** The stride of the surroundings; 0 for a number. */
  readonly around: number;
}

/** Merges adjacent dimensions if the region covers the inner one entirely and both have the same traversal. */
function joined(sides: readonly Side[]): readonly Side[] {
  const found: Side[] = [];
  for (const side of sides) {
    const outer = found.at(-1);
    const isWhole = side.length === side.size;
    const isStep = (own: number, inner: number) => own === inner * side.size;
    if (
      outer &&
      isWhole &&
      isStep(outer.stride, side.stride) &&
      isStep(outer.around, side.around)
    ) {
      found[found.length - 1] = {
        ...side,
        size: outer.size * side.size,
        start: outer.start * side.size,
        length: outer.length * side.size,
      };
    } else if (side.size > 1) found.push(side);
  }
  return found;
}

/** Returns the region's sides if it is a box: the whole's strides, with an offset; else null. */
function boxOf(
  part: TensorMeta,
  strides: readonly number[],
  offset: number,
  whole: TensorMeta,
  around: readonly number[] | null,
): readonly Side[] | null {
  const wholeStrides = contiguousStrides(whole.shape);
  let rest = offset;
  let next = 0;
  const sides = whole.shape.map((size, d): Side => {
    const start = Math.floor(rest / wholeStrides[d]!);
    rest -= start * wholeStrides[d]!;
    while (part.shape[next] === 1) next++;
    const isIn =
      next < part.shape.length && strides[next] === wholeStrides[d] && part.shape[next]! <= size;
    const [length, stride] = isIn ? [part.shape[next]!, part.strides[next]!] : [1, 0];
    if (isIn) next++;
    return { size, start, length, stride, around: around?.[d] ?? 0 };
  });
  while (part.shape[next] === 1) next++;
  const isBox = next === part.shape.length && sizeOf(part.shape) > 0;
  return isBox && sides.every(({ size, start, length }) => start + length <= size) ? sides : null;
}

/** Returns one dispatch: each result element comes from the part if it is in the box, else from outside. */
function boxStage(
  sides: readonly Side[],
  out: TensorMeta,
  part: Slot,
  surroundings: Slot | number,
): WgslStage {
  const dims = joined(sides);
  const size = sizeOf(out.shape);
  const type = elementTypeOf(out.dtype);
  const value = typeof surroundings === 'number' ? surroundings : null;
  const read = typeof surroundings === 'number' ? [part] : [part, surroundings];
  const target = read.length;
  const operands = [...read, output(0)].map((slot, i): WgslOperand => {
    const written = i === target;
    return { slot, written, walk: null, elements: size, type, inOrder: written };
  });
  return {
    operands,
    isEmpty: size === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(workgroupThreads, issue);
      const groups = eachElement(w, size, operands, issue, () => {
        w.line(`var part = ${w.offset(0)};`, 'var inside = true;');
        const isAround = value === null;
        if (isAround) w.line(`var around = ${w.offset(1)};`);
        let rest = 'e';
        for (let d = dims.length - 1; d >= 0; d--) {
          const side = dims[d]!;
          let own = rest;
          if (d > 0) [rest, own] = splitText(w, rest, w.count(`size${d}`, side.size));
          // As a u32, positions before the start are far beyond the end.
          const place = w.let(`${own} - ${w.count(`start${d}`, side.start)}`);
          w.line(
            `inside = inside && ${place} < ${w.count(`length${d}`, side.length)};`,
            `part = part + ${place} * ${w.count(`stride${d}`, side.stride)};`,
          );
          if (isAround) w.line(`around = around + ${own} * ${w.count(`around${d}`, side.around)};`);
        }
        const other = isAround
          ? w.load(1, 'around')
          : w.uniform('value', { kind: valueTypeOf(type) === 'f32' ? 'number' : 'int', value });
        w.line(
          `var value = ${other};`,
          `if (inside) { value = ${w.load(0, 'part')}; }`,
          w.store(target, `${w.offset(target)} + e`, 'value'),
        );
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** (dy, x: shape) → zeros of x's shape with dy at attrs `dim`, `start`. */
export const narrowGradPlan: KernelPlanner = ([dy], [dx], attrs) => {
  const sides = dx!.shape.map((size, d): Side => {
    const start = d === attrs.dim ? (attrs.start as number) : 0;
    return { size, start, length: dy!.shape[d]!, stride: dy!.strides[d]!, around: 0 };
  });
  return { scratch: [], stages: [boxStage(sides, dx!, input(0), 0)] };
};

/** (x, any strides) → filled with attr `value`, except for x at attrs `strides`, `offset` of the result. */
export const placePlan: KernelPlanner = ([x], [out], attrs) => {
  const [strides, base] = [attrs.strides as readonly number[], attrs.offset as number];
  const sides = boxOf(x!, strides, base, out!, null);
  if (sides) {
    const value = storedNumber(attrs.value as number, out!);
    return { scratch: [], stages: [boxStage(sides, out!, input(0), value)] };
  }
  // Regions that are not boxes, such as diagonals, are written after the surroundings.
  const filled = pointwiseStage([singleBody(E.attr('value'), [], out!)]);
  const from = { strides: x!.strides, base: 0 };
  const part = partBody(input(0), out!, x!.shape, from, { strides, base });
  return { scratch: [], stages: [filled, pointwiseStage([part])] };
};

/** Returns a number as stored in an element of a tensor. */
function storedNumber(value: number, { dtype }: TensorMeta): number {
  if (dtype === 'bool') return value === 0 ? 0 : 1;
  return dtypes[dtype].floating ? value : toInt32(value);
}

/** (x, source; any strides) → x with source at attrs `strides`, `offset`. */
export const placeIntoPlan: KernelPlanner = ([x, source], [out], attrs) => {
  const [strides, base] = [attrs.strides as readonly number[], attrs.offset as number];
  const sides = boxOf(source!, strides, base, out!, x!.strides);
  if (sides) return { scratch: [], stages: [boxStage(sides, out!, input(1), input(0))] };
  const copied = pointwiseStage([singleBody(identity, [x!], out!)]);
  const from = { strides: source!.strides, base: 0 };
  const part = partBody(input(1), out!, source!.shape, from, { strides, base });
  return { scratch: [], stages: [copied, pointwiseStage([part])] };
};
