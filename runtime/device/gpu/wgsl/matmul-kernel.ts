import { sizeOf } from '../../../spec/shape.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import type { Groups } from '../core/command-batch.ts';
import { elementTypeOf, valueTypeOf } from './elements/element-type.ts';
import {
  type Fold,
  type FoldSizes,
  type FoldTexts,
  foldOf,
  foldText,
  type Sharing,
  sharingOf,
} from './fold-text.ts';
import { headOperands, headText, storedHead } from './head-text.ts';
import { indexTexts, splitText, walksOf } from './index-text.ts';
import { chosenByExponents, exponentNames } from './pointwise-kernel.ts';
import {
  areFewSums,
  type ProductTexts,
  threadsOf,
  tileFor,
  tilesOf,
  tileText,
} from './product-tiles.ts';
import type { HeadBody } from './staged-body.ts';
import type { KernelPlanner, WgslPlan, WgslStage } from './wgsl-plan.ts';
import { groupsOf } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** The strides of an operand's rows and columns, and which of them are adjacent in memory. */
interface Sides {
  readonly row: number;
  readonly column: number;
}

/** [batches…, m, k] × [batches…, k, n], any strides; sums in the order of k. */
export const matmulPlan: KernelPlanner = (inputs, outputs) => {
  return productPlan(storedHead([0, 1], inputs, outputs[0]!), inputs, outputs);
};

/** A product and the pointwise ops on each of its elements before it is stored. */
export function productPlan(
  head: HeadBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslPlan {
  const { reads: factors, body, attr } = head;
  const { shape } = body;
  const rank = shape.length;
  const batchShape = shape.slice(0, -2);
  const [m, n] = [shape[rank - 2]!, shape[rank - 1]!];
  const factorMetas = factors.map((index) => inputs[index]!);
  const k = factorMetas[0]!.shape[rank - 1]!;
  const batches = sizeOf(batchShape);
  const batchWalks = (strides: readonly (readonly number[])[]) =>
    walksOf(
      batchShape,
      strides.map((each) => each.slice(0, -2)),
    ).loops;
  const factorLoops = batchWalks(factorMetas.map(({ strides }) => strides));
  const [left, right] = factorMetas.map(({ strides }) => sidesOf(strides)) as [Sides, Sides];
  const { operands, strides } = headOperands(head, [0, 1], inputs, outputs);
  const loops = batchWalks(strides);
  const { dtype } = factorMetas[0]!;
  const type = valueTypeOf(elementTypeOf(dtype));
  // Tiles contain floats; integer products, which wrap around, are rare.
  const isTiled = type === 'f32' && !areFewSums(m, k, n, batches);
  const tile = isTiled ? tileFor(m, k, n, rank > 2 ? batches : null) : null;
  // Threads share a sum along the operand they read most.
  const isAlong = m > n ? left.column === 1 : right.column !== 1 && right.row === 1;
  const sharing = sharingOf({ outputs: m * n * batches, count: k }, isAlong);
  const slices = Math.min(batches, mostSlices);
  const stage: WgslStage = {
    operands,
    isEmpty: sizeOf(shape) === 0,
    chosenBy: chosenByExponents(exponentNames(body, attr)),
    write: (issue) => {
      const w = new WgslWriter(tile ? threadsOf(tile) : sharing.threads, issue);
      const counts = { m: w.count('m', m), n: w.count('n', n), k: w.count('k', k) };
      const times = (name: string, stride: number) =>
        stride === 1 ? '' : ` * ${w.count(name, stride)}`;
      const batch = w.count('batches', batches);
      w.line(`for (var z = at.z; z < ${batch}; z = z + count.z) {`);
      const bases = indexTexts(w, factorLoops, 'z', 'batch_');
      const first = bases.map((base, i) => w.let(`${w.offset(factors[i]!)} + ${base}`));
      const element = (i: number, { row, column }: Sides, r: string, c: string) =>
        w.load(
          factors[i]!,
          `${first[i]!} + (${r})${times(`row${i}`, row)} + (${c})${times(`column${i}`, column)}`,
        );
      const texts: ProductTexts = {
        ...counts,
        left: { isAlongSteps: left.column === 1, at: (row) => (k) => element(0, left, row, k) },
        right: {
          isAlongSteps: right.column !== 1 && right.row === 1,
          at: (column) => (k) => element(1, right, k, column),
        },
        store: (column) => (row, value) => `finish(z, ${row}, ${column}, ${value});`,
      };
      if (tile) tileText(w, tile, texts);
      const sizes = { outputs: m * n, count: k };
      const groups = tile
        ? groupsOf(tilesOf(tile, m, n), slices)
        : thinText(w, texts, { sum: foldOf('sum', dtype), sizes, isAlong, sharing }, slices);
      w.line('}');
      w.function(`finish(z : u32, row : u32, column : u32, product : ${type})`, () => {
        const indices = indexTexts(w, loops, 'z', 'own_');
        const place = (i: number) => {
          const sides = sidesOf(strides[i]!);
          const term = (name: string, coordinate: string, stride: number) =>
            stride === 0 ? '' : ` + ${coordinate}${times(`${name}${i}_own`, stride)}`;
          return `${w.offset(i)} + ${indices[i]!}${term('row', 'row', sides.row)}${term('column', 'column', sides.column)}`;
        };
        headText(w, head, inputs, issue.attrs, 'product', place);
      });
      return { text: w.text(), uniforms: w.uniforms, groups };
    },
  };
  return { scratch: [], stages: [stage] };
}

function sidesOf(strides: readonly number[]): Sides {
  const rank = strides.length;
  return { row: strides[rank - 2]!, column: strides[rank - 1]! };
}

/** The maximum number of workgroups along z; more batches take several iterations. */
const mostSlices = 65535;

/** How threads share the sum of an output. */
interface SharedSum {
  readonly sum: Fold;
  readonly sizes: FoldSizes;
  readonly isAlong: boolean;
  readonly sharing: Sharing;
}

/** For few rows or columns, or few long sums: threads share only the sum of one output. */
function thinText(
  w: WgslWriter,
  t: ProductTexts,
  { sum, sizes, isAlong, sharing }: SharedSum,
  slices: number,
): Groups {
  const split = (output: string) => splitText(w, output, t.n);
  const texts: FoldTexts = {
    parts: 1,
    isAlong,
    source: (output) => {
      const [row, column] = split(output);
      const [left, right] = [t.left.at(row), t.right.at(column)];
      return (k) => `${left(k, '0u')} * ${right(k, '0u')}`;
    },
    store: (output, value) => {
      const row = `${output} / ${t.n}`;
      return t.store(`${output} - (${row}) * ${t.n}`)(row, value);
    },
  };
  const [x, y] = foldText(w, sum, sizes, texts, sharing);
  return [x, y, slices];
}
