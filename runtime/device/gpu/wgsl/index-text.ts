import { contiguousStrides } from '../../../spec/shape.ts';
import { collapse, type Loops } from '../../cpu/core/loops.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** The joint loops of several operands, with the numbers that a text needs of them. */
export interface Walks {
  readonly loops: Loops;
  /** Each operand's element as a function of the loops; equal for operands with the same strides. */
  readonly walks: readonly string[];
}

export function walksOf(shape: readonly number[], strides: readonly (readonly number[])[]): Walks {
  const loops = collapse(shape, strides);
  return { loops, walks: loops.strides.map((each) => each.join()) };
}

/** Writes the quotient and remainder of `value` by a size. */
export function splitText(w: WgslWriter, value: string, size: string): [string, string] {
  const quotient = w.let(`${value} / ${size}`);
  return [quotient, w.let(`${value} - ${quotient} * ${size}`)];
}

/**
 * Writes the coordinates of element `element` of the loops, and returns each operand's index without the offset.
 * Sizes, and strides other than 0 and 1, are uniforms named after `prefix`.
 */
export function indexTexts(
  w: WgslWriter,
  { shape, strides }: Loops,
  element: string,
  prefix: string,
): string[] {
  const dense = contiguousStrides(shape).join();
  const inner = strides.some((each) => each.join() !== dense && each.some((s) => s !== 0));
  const coordinates = inner ? coordinateTexts(w, shape, element, prefix) : [];
  return strides.map((each, operand) => {
    if (each.join() === dense) return element;
    const terms = each.flatMap((stride, d) => {
      if (stride === 0) return [];
      if (stride === 1) return [coordinates[d]!];
      return [`${coordinates[d]!} * ${w.count(`${prefix}s${operand}_${d}`, stride)}`];
    });
    return terms.length > 0 ? w.let(terms.join(' + ')) : '0u';
  });
}

function coordinateTexts(
  w: WgslWriter,
  shape: readonly number[],
  element: string,
  prefix: string,
): string[] {
  const coordinates: string[] = [];
  let rest = element;
  for (let d = shape.length - 1; d > 0; d--) {
    const size = w.count(`${prefix}d${d}`, shape[d]!);
    [rest, coordinates[d]] = splitText(w, rest, size);
  }
  coordinates[0] = rest;
  return coordinates;
}
