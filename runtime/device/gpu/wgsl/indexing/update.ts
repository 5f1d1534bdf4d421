/**
 * Replaces or adds to elements selected by index tensors: no two threads write the same element, and each element
 * processes its updates in index order, as on the CPU. A GPU can't throw: an out-of-range index writes nothing.
 */

import { contiguousStrides, sizeOf } from '../../../../spec/shape.ts';
import type { Attrs } from '../../../kernel-op.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { entriesOf } from '../../core/entries.ts';
import { input, output, type Slot } from '../../core/kernel-plan.ts';
import { eachElement } from '../each-element.ts';
import {
  type ElementType,
  elementTypeOf,
  valueTypeOf,
  zeroText,
} from '../elements/element-type.ts';
import { type ElementAt, elementsOf } from '../fold-plan.ts';
import { indexTexts, splitText, walksOf } from '../index-text.ts';
import { type Lines, sortLines } from '../order/sorted-lines.ts';
import {
  chosenByNothing,
  type KernelPlanner,
  readOperand,
  type WgslOperand,
  type WgslPlan,
  type WgslStage,
} from '../wgsl-plan.ts';
import { workgroupThreads } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';
import { indexText, rowText, strideless } from './choose.ts';

type Combine = 'replace' | 'add';

/** An operand, and its strides over the result's shape. */
interface WalkedOperand {
  readonly slot: Slot;
  readonly strides: readonly number[];
}

/**
 * The source elements that update a result element: in one line, those whose key is the element's index along `dim`.
 */
interface Update {
  /** The type of the result, the base and the source. */
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly dim: number;
  readonly lines: Lines;
  /** The step of the line's index along each dimension of the shape. */
  readonly lineStrides: readonly number[];
  /** Sizes beyond which elements have no line; null if all have one. */
  readonly extent: readonly number[] | null;
  readonly base: WalkedOperand | null;
  readonly source: WalkedOperand;
  /** The source's step between adjacent positions of a line. */
  readonly step: number;
  readonly combine: Combine;
}

/** Lines up to this length are searched unsorted by every element of the result. */
const shortLine = 16;

function updatePlan(update: Update): WgslPlan {
  const { lines } = update;
  if (lines.size <= shortLine) {
    const isOwn: WgslOperand[] = [lines.source];
    return { scratch: [], stages: [updateStage(update, isOwn, eachPlace(update))] };
  }
  const { scratch, stages, keys, places } = sortLines(lines);
  const sorted = [readOperand(keys, 'word'), readOperand(places, 'word')];
  return { scratch, stages: [...stages, updateStage(update, sorted, sortedPlaces(update))] };
}

/** Writes the loop over the positions of `line` whose key is `own`, in order; `take` handles one position. */
type PlacesWriter = (w: WgslWriter, at: ElementAt, take: (place: string) => void) => void;

function eachPlace({ lines }: Update): PlacesWriter {
  return (w, at, take) => {
    w.function('key(line : u32, k : u32) -> u32', () => lines.writeKey(w, at));
    w.line(
      `for (var k = 0u; k < ${w.count('size', lines.size)}; k = k + 1u) {`,
      'if (key(line, k) != own) { continue; }',
    );
    take('k');
    w.line('}');
  };
}

function sortedPlaces({ lines }: Update): PlacesWriter {
  return (w, at, take) => {
    const size = w.count('size', lines.size);
    w.line(
      `let first = line * ${size};`,
      'var low = 0u;',
      `var high = ${size};`,
      'while (low < high) {',
      'let middle = (low + high) / 2u;',
      `if (${at(0, 'first + middle')} < own) { low = middle + 1u; } else { high = middle; }`,
      '}',
      `for (; low < ${size}; low = low + 1u) {`,
      `if (${at(0, 'first + low')} != own) { break; }`,
    );
    take(w.let(at(1, 'first + low')));
    w.line('}');
  };
}

/** Returns a stage with a thread per element of the result. `found` are the operands that `places` reads. */
function updateStage(
  update: Update,
  found: readonly WgslOperand[],
  places: PlacesWriter,
): WgslStage {
  const { type, shape, dim, lineStrides, extent, base, source, step, combine } = update;
  const size = sizeOf(shape);
  const read = [
    ...found,
    ...[source, ...(base ? [base] : [])].map(({ slot }) => readOperand(slot, type)),
  ];
  const target = read.length;
  const walked = [source.strides, lineStrides, ...(base ? [base.strides] : [])];
  const { loops } = walksOf(shape, walked);
  const written = { slot: output(0), written: true, walk: null, elements: size, type };
  const operands: readonly WgslOperand[] = [...read, { ...written, inOrder: true }];
  return {
    operands,
    isEmpty: size === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(workgroupThreads, issue);
      const at = elementsOf(w);
      const groups = eachElement(w, size, operands, issue, () => {
        const [from, line, around] = indexTexts(w, loops, 'e', 'w_');
        const inner = w.count('inner', sizeOf(shape.slice(dim + 1)));
        const [rest] = splitText(w, 'e', inner);
        const [, own] = splitText(w, rest, w.count('entries', shape[dim]!));
        w.line(
          `let line = ${line!};`,
          `let own = ${own};`,
          `var value = ${base ? at(found.length + 1, around!) : zeroText(valueTypeOf(type))};`,
        );
        if (extent) w.line(`if (${extentText(w, shape, dim, extent)}) {`);
        places(w, at, (place) => {
          const index = `${from!} + ${place} * ${w.count('step', step)}`;
          const own = at(found.length, index);
          w.line(`value = ${combine === 'add' ? `value + ${own}` : own};`);
        });
        if (extent) w.line('}');
        w.line(w.store(target, `${w.offset(target)} + e`, 'value'));
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
}

/** Whether the element is inside the extent, ignoring its index along `dim`. */
function extentText(
  w: WgslWriter,
  shape: readonly number[],
  dim: number,
  extent: readonly number[],
): string {
  const tests: string[] = [];
  let rest = 'e';
  for (let d = shape.length - 1; d >= 0; d--) {
    let own = rest;
    if (d > 0) [rest, own] = splitText(w, rest, w.count(`all${d}`, shape[d]!));
    if (d !== dim) tests.push(`${own} < ${w.count(`extent${d}`, extent[d]!)}`);
  }
  return tests.join(' && ') || 'true';
}

/** Returns an elementwise update: the index has an entry for each element of the source. */
function byElements(
  out: TensorMeta,
  index: { readonly slot: Slot; readonly meta: TensorMeta },
  source: { readonly slot: Slot; readonly meta: TensorMeta },
  base: { readonly slot: Slot; readonly meta: TensorMeta } | null,
  { dim: at }: Attrs,
  combine: Combine,
): WgslPlan {
  const dim = at as number;
  const { shape, strides } = index.meta;
  const others = shape.map((size, d) => (d === dim ? 1 : size));
  const { loops } = walksOf(others, [strideless(strides, dim)]);
  return updatePlan({
    type: elementTypeOf(out.dtype),
    shape: out.shape,
    dim,
    lines: {
      count: sizeOf(others),
      size: shape[dim]!,
      source: readOperand(index.slot, elementTypeOf(index.meta.dtype)),
      writeKey: (w, read) => {
        const start = indexTexts(w, loops, 'line', 'line_')[0]!;
        const place = `${start} + k * ${w.count('keyStep', strides[dim]!)}`;
        w.line(`return ${indexText(read(0, place))};`);
      },
    },
    lineStrides: strideless(contiguousStrides(others), dim),
    extent: shape.every((size, d) => d === dim || size === out.shape[d]) ? null : shape,
    base: base && { slot: base.slot, strides: base.meta.strides },
    source: { slot: source.slot, strides: strideless(source.meta.strides, dim) },
    step: source.meta.strides[dim]!,
    combine,
  });
}

/** (dy, index, x: shape) → dx */
export const gatherGradPlan: KernelPlanner = ([dy, index], [dx], attrs) => {
  const [chosen, source] = [
    { slot: input(1), meta: index! },
    { slot: input(0), meta: dy! },
  ];
  return byElements(dx!, chosen, source, null, attrs, 'add');
};

/** (x, index, source) → x with the source at the positions of gather. */
export function scatterPlan(combine: Combine) {
  return (
    [x, index, source]: readonly TensorMeta[],
    [out]: readonly TensorMeta[],
    attrs: Attrs,
  ): WgslPlan => {
    const [base, chosen, updates] = [x, index, source].map((meta, i) => {
      return { slot: input(i), meta: meta! };
    });
    return byElements(out!, chosen!, updates!, base!, attrs, combine);
  };
}

/** Returns a row-by-row update: the index selects rows of a contiguous tensor, one per row of the source. */
function byRows(
  out: TensorMeta,
  index: TensorMeta,
  base: Slot | null,
  source: Slot,
  attrs: Attrs,
  combine: Combine,
): WgslPlan {
  const entries = entriesOf(out, index, attrs);
  const { outer, rows, inner, chosen } = entries;
  const shape = [outer, rows, inner];
  return updatePlan({
    type: elementTypeOf(out.dtype),
    shape,
    dim: 1,
    lines: {
      count: 1,
      size: chosen,
      source: readOperand(input(1), elementTypeOf(index.dtype)),
      writeKey: (w, read) => {
        const row = rowText(w, entries, (further) => read(0, `k + ${further}`));
        w.line(`return ${row};`);
      },
    },
    lineStrides: [0, 0, 0],
    extent: null,
    base: base && { slot: base, strides: contiguousStrides(shape) },
    source: { slot: source, strides: [chosen * inner, 0, 1] },
    step: inner,
    combine,
  });
}

/** (dy, index, x: shape) → dx */
export const indexGradPlan: KernelPlanner = ([, index], [dx], attrs) => {
  return byRows(dx!, index!, null, input(0), attrs, 'add');
};

/** (x, index, source) → x with the rows of the source at the positions of index. */
export function indexUpdatePlan(combine: Combine) {
  return ([, index]: readonly TensorMeta[], [out]: readonly TensorMeta[], attrs: Attrs): WgslPlan =>
    byRows(out!, index!, input(0), input(2), attrs, combine);
}
