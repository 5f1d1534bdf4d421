import { sizeOf } from '../../../../spec/shape.ts';
import type { Attrs } from '../../../kernel-op.ts';
import type { TensorMeta } from '../../../tensor-meta.ts';
import { input, output, scratch } from '../../core/kernel-plan.ts';
import { elementTypeOf } from '../elements/element-type.ts';
import { folds } from '../fold-text.ts';
import { storedHead } from '../head-text.ts';
import { indexTexts, splitText, walksOf } from '../index-text.ts';
import {
  type ProductTexts,
  type Tile,
  threadsOf,
  tileFor,
  tilesOf,
  tileText,
  withRoom,
} from '../product-tiles.ts';
import { lastStage } from '../reduce-kernel.ts';
import { chosenByNothing, type KernelPlanner, type WgslStage } from '../wgsl-plan.ts';
import { groupsOf } from '../wgsl-text.ts';
import { WgslWriter } from '../wgsl-writer.ts';
import { pixelText } from './pixel-text.ts';
import { windowsOf } from './windows.ts';

type Size = readonly [number, number, number, number];

/** The minimum number of pixels per part, and the number of workgroups that keep a GPU busy. */
const leastPart = 512;
const busyGroups = 256;
const mostParts = 64;

/** A weight gradient as one product per group: channels of dy by channels of x and taps, over all pixels. */
interface WeightProduct {
  readonly dy: TensorMeta;
  readonly x: TensorMeta;
  readonly dw: TensorMeta;
  readonly attrs: Attrs;
  readonly tile: Tile;
  readonly rows: number;
  readonly columns: number;
  readonly pixels: number;
  /** Parts of the sum in separate workgroups, each of this many pixels except the last. */
  readonly parts: number;
  readonly partLength: number;
}

/**
 * [n, o, oh, ow], [n, c, h, w] → [o, c / groups, kh, kw] by tiles if that pays off, else null. Long sums are split
 * (split-K); a second dispatch sums the parts in order.
 */
export const weightProductPlan: KernelPlanner = ([dy, x, weight], [dw], attrs) => {
  const { groups } = windowsOf(attrs);
  const [batch, outAll, outHeight, outWidth] = dy!.shape as Size;
  const rows = outAll / groups;
  const columns = sizeOf(dw!.shape.slice(1));
  const pixels = batch * outHeight * outWidth;
  const tile = withRoom(tileFor(rows, pixels, columns, groups * Math.ceil(pixels / leastPart)));
  if (!tile) return null;
  const tiles = tilesOf(tile, rows, columns) * groups;
  const enough = Math.min(mostParts, pixels / leastPart, busyGroups / tiles);
  const partLength = Math.ceil(pixels / Math.max(1, Math.floor(enough)) / tile.depth) * tile.depth;
  const parts = Math.ceil(pixels / partLength);
  const sizes = { rows, columns, pixels, parts, partLength };
  const stage = productStage({ dy: dy!, x: x!, dw: dw!, attrs, tile, ...sizes });
  if (parts === 1) return { scratch: [], stages: [stage] };
  const elements = sizeOf(dw!.shape);
  const partial = { slot: scratch(0), type: 'float32' } as const;
  const partials = {
    keptShape: [elements],
    keptStrides: [1],
    shape: [parts],
    strides: [elements],
    outputs: elements,
    count: parts,
  };
  const inputs = [dy!, x!, weight!];
  const head = storedHead([0], inputs, dw!);
  return {
    scratch: [parts * elements],
    stages: [stage, lastStage(folds.sum, partials, partial, head, inputs, [dw!])],
  };
};

function productStage(product: WeightProduct): WgslStage {
  const { dy, x, dw, attrs, tile, rows, columns, parts } = product;
  const { groups } = windowsOf(attrs);
  const elements = sizeOf(dw.shape);
  const isWhole = parts === 1;
  const read = { written: false, walk: null, elements: 0 };
  return {
    operands: [
      { ...read, slot: input(0), type: elementTypeOf(dy.dtype) },
      { ...read, slot: input(1), type: elementTypeOf(x.dtype) },
      {
        slot: isWhole ? output(0) : scratch(0),
        written: true,
        walk: null,
        elements: parts * elements,
        type: isWhole ? elementTypeOf(dw.dtype) : 'float32',
      },
    ],
    isEmpty: elements === 0,
    chosenBy: chosenByNothing,
    write: (issue) => {
      const w = new WgslWriter(threadsOf(tile), issue);
      pixelText(w, x, 1);
      w.function('finish(part : u32, element : u32, value : f32)', () => {
        const { loops } = walksOf(dw.shape, [dw.strides]);
        const index = isWhole
          ? indexTexts(w, loops, 'element', 'out_')[0]!
          : `part * ${w.count('elements', elements)} + element`;
        w.line(w.store(2, `${w.offset(2)} + ${index}`, 'value'));
      });
      const slices = groups * parts;
      w.line(`for (var z = at.z; z < ${w.count('slices', slices)}; z = z + count.z) {`);
      tileText(w, tile, productTexts(w, product));
      w.line('}');
      const count = groupsOf(tilesOf(tile, rows, columns), Math.min(slices, mostSlices));
      return { text: w.text(), uniforms: w.uniforms, groups: count };
    },
  };
}

/** Slice z is one part of one group's sum. */
function productTexts(w: WgslWriter, product: WeightProduct): ProductTexts {
  const { dy, x, dw, tile } = product;
  const { stride, padding, dilation } = windowsOf(product.attrs);
  const rows = w.count('rows', product.rows);
  const columns = w.count('columns', product.columns);
  const partLength = w.count('partLength', product.partLength);
  const [group, part] = splitText(w, 'z', w.count('parts', product.parts));
  const first = w.let(`${part} * ${partLength}`);
  const along = (name: string, meta: TensorMeta, d: number) =>
    w.count(`${name}${d}`, meta.strides[d]!);
  const firstGrad = w.let(`${w.offset(0)} + ${group} * ${rows} * ${along('grad', dy, 1)}`);
  const firstPlane = w.let(
    `${w.offset(1)} + ${group} * ${w.count('channels', dw.shape[1]!)} * ${along('source', x, 1)}`,
  );
  w.shared('stepGrad', `array<u32, ${tile.depth}>`);
  w.shared('stepImage', `array<u32, ${tile.depth}>`);
  w.shared('stepAt', `array<vec2<i32>, ${tile.depth}>`);
  return {
    m: rows,
    n: columns,
    k: w.let(`min(${partLength}, ${w.count('pixels', product.pixels)} - ${first})`),
    prepare: (k, slot) => {
      const pixel = w.let(`${first} + ${k}`);
      const [lines, ow] = splitText(w, pixel, w.count('outWidth', dy.shape[3]!));
      const [n, oh] = splitText(w, lines, w.count('outHeight', dy.shape[2]!));
      const start = (d: 0 | 1, own: string) =>
        `i32(${own} * ${w.count(`stride${d}`, stride[d])}) - i32(${w.count(`padding${d}`, padding[d])})`;
      w.line(
        `stepGrad[${slot}] = ${n} * ${along('grad', dy, 0)} + ${oh} * ${along('grad', dy, 2)} + ${ow} * ${along('grad', dy, 3)};`,
        `stepImage[${slot}] = ${n} * ${along('source', x, 0)};`,
        `stepAt[${slot}] = vec2<i32>(${start(0, oh)}, ${start(1, ow)});`,
      );
    },
    left: {
      isAlongSteps: true,
      at: (row) => (_k, slot) =>
        w.load(0, `${firstGrad} + (${row}) * ${along('grad', dy, 1)} + stepGrad[${slot}]`),
    },
    right: {
      // Adjacent pixels of a row would be adjacent in memory, but each would have to split its column's index.
      isAlongSteps: false,
      at: (column) => {
        const [lines, kw] = splitText(w, column, w.count('kernel1', dw.shape[3]!));
        const [c, kh] = splitText(w, lines, w.count('kernel0', dw.shape[2]!));
        const plane = w.let(`${firstPlane} + ${c} * ${along('source', x, 1)}`);
        const tap = (d: 0 | 1, own: string) =>
          w.let(`i32(${own} * ${w.count(`dilation${d}`, dilation[d])})`);
        const [h, v] = [tap(0, kh), tap(1, kw)];
        return (_k, slot) =>
          `pixel(${plane} + stepImage[${slot}], ${h} + stepAt[${slot}].x, ${v} + stepAt[${slot}].y)`;
      },
    },
    store: (column) => (row, value) =>
      `finish(${part}, (${group} * ${rows} + ${row}) * ${columns} + ${column}, ${value});`,
  };
}

/** The maximum number of workgroups along z; more slices take several iterations. */
const mostSlices = 65535;
