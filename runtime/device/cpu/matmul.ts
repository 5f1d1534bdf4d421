import { productBlock } from '../../ops/blocks.ts';
import type { TensorMeta } from '../../tensor/meta.ts';
import type { Launch } from '../device.ts';
import { addressOf, type KernelFactory } from './kernel.ts';
import { collapse } from './loops.ts';
import { matmul as scalarMatmul } from './scalar/matmul.ts';
import { panelAAt, panelABytes, panelBAt, panelBBytes } from './scratch.ts';
import { gemmKernels, onto } from './wasm/gemm-kernels.ts';
import { hasSimd } from './wasm/module-builder.ts';

/** Sizes of the blocks: a panel of A stays in the level-2 cache, one of B in the level-1 cache. */
export const blockK = productBlock;
export const blockM = panelABytes / (blockK * 4);
export const blockN = panelBBytes / (blockK * 4);

/** One factor: address and strides, all in bytes. */
interface Factor {
  readonly rowStep: number;
  readonly columnStep: number;
}

interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Entries of the inner dimension that c has the product of already. */
  readonly start?: number;
}

/** c = a · b for one pair of matrices, or c += a · b after a start; c's columns are adjacent. */
function multiply(
  sizes: Sizes,
  a: Factor,
  b: Factor,
  cRow: number,
): (a: number, b: number, c: number) => void {
  const { m, n, k, start = 0 } = sizes;
  const { packA, packB, multiplyPanels } = gemmKernels();
  return (aAt, bAt, cAt) => {
    for (let j = 0; j < n; j += blockN) {
      const columns = Math.min(blockN, n - j);
      let p = 0;
      // An empty sum still writes zeros: one block even if k is 0.
      do {
        const inBlock = (start + p) % blockK;
        const depth = Math.min(blockK - inBlock, k - p);
        const onTarget = start + p === 0 ? onto.store : inBlock === 0 ? onto.add : onto.goOn;
        const bFrom = bAt + p * b.rowStep + j * b.columnStep;
        packB(panelBAt, bFrom, columns, b.columnStep, b.rowStep, depth);
        for (let i = 0; i < m; i += blockM) {
          const rows = Math.min(blockM, m - i);
          const aFrom = aAt + i * a.rowStep + p * a.columnStep;
          packA(panelAAt, aFrom, rows, a.rowStep, a.columnStep, depth);
          const cTo = cAt + i * cRow + j * 4;
          multiplyPanels(panelAAt, panelBAt, cTo, rows, columns, depth, cRow, onTarget);
        }
        p += depth;
      } while (p < k);
    }
  };
}

export const matmul: KernelFactory = (inputs, outputs, attrs): Launch => {
  if (!hasSimd || outputs[0]!.dtype !== 'float32') return scalarMatmul(inputs, outputs, attrs);
  const [a, b] = inputs;
  const [out] = outputs;
  const rank = out!.shape.length;
  const n = out!.shape[rank - 1]!;
  const k = a!.shape[rank - 1]!;
  const bytes = (strides: readonly number[]) => strides.map((stride) => stride * 4);
  const [aSteps, bSteps, cSteps] = [a!, b!, out!].map((meta) => bytes(meta.strides)) as [
    number[],
    number[],
    number[],
  ];
  // b doesn't move along the rows: where it doesn't move along the batch either, as in a linear layer
  // on [batch, time, features], batch and rows collapse into one matrix.
  const outer = collapse(out!.shape.slice(0, -1), [
    aSteps.slice(0, -1),
    [...bSteps.slice(0, -2), 0],
    cSteps.slice(0, -1),
  ]);
  const [aOuter, bOuter, cOuter] = outer.strides as [number[], number[], number[]];
  const last = outer.shape.length - 1;
  const hasRows = last >= 0 && bOuter[last] === 0;
  const batch = hasRows ? last : last + 1;
  const m = hasRows ? outer.shape[last]! : 1;
  const run = multiply(
    { m, n, k },
    { rowStep: hasRows ? aOuter[last]! : 0, columnStep: aSteps[rank - 1]! },
    { rowStep: bSteps[rank - 2]!, columnStep: bSteps[rank - 1]! },
    hasRows ? cOuter[last]! : 0,
  );
  const overBatch = (dim: number, aAt: number, bAt: number, cAt: number): void => {
    if (dim === batch) {
      run(aAt, bAt, cAt);
      return;
    }
    for (let i = 0; i < outer.shape[dim]!; i++) {
      overBatch(dim + 1, aAt + i * aOuter[dim]!, bAt + i * bOuter[dim]!, cAt + i * cOuter[dim]!);
    }
  };
  return ([left, right], [target]) => {
    const at = [left!, right!, target!].map((operand) => addressOf(operand, 'float32'));
    overBatch(0, at[0]!, at[1]!, at[2]!);
  };
};

/** Rank 2, as its op says. */
export const addMatmul: KernelFactory = ([, a, b], [out], attrs): Launch => {
  const start = attrs.start as number;
  const [m, n] = out!.shape as [number, number];
  const steps = ({ strides: [row, column] }: TensorMeta): Factor => ({
    rowStep: row! * 4,
    columnStep: column! * 4,
  });
  const k = a!.shape[1]!;
  const run = multiply({ m, n, k, start }, steps(a!), steps(b!), out!.strides[0]! * 4);
  return ([, left, right], [target]) => {
    const [aAt, bAt, cAt] = [left!, right!, target!].map((x) => addressOf(x, 'float32'));
    run(aAt!, bAt!, cAt!);
  };
};
