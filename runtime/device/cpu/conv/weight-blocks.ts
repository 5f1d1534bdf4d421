import { columnTableAt, panelAAt, panelBAt, rowTableAt } from '../core/scratch.ts';
import { gemmKernels, onto } from '../wasm/gemm-kernels.ts';
import { blockK, blockM, blockN } from '../wasm/product-blocks.ts';
import { forwardPatches } from './forward-patches.ts';
import type { ConvShape } from './shape.ts';

/** Weight gradients of planes that don't fit into scratch memory: block by block, on one thread. */

/** Calls `body` for [from, from + length) in steps of `step`. */
function forEachBlock(
  length: number,
  step: number,
  body: (from: number, size: number) => void,
): void {
  for (let from = 0; from < length; from += step) body(from, Math.min(step, length - from));
}

export type WeightGrad = (grad: number, image: number, out: number, accumulates: boolean) => void;

/** Returns null if no block fits either. */
export function weightGradByBlocks(shape: ConvShape): WeightGrad | null {
  const patches = forwardPatches(shape);
  const blocks = patches.blocks(blockN, blockK);
  if (!blocks) return null;
  const { packA, packTableB, multiplyPanels } = gemmKernels();
  const { batch, groups, inChannels, outChannels, inSize } = shape;
  const gradRow = patches.columns * 4;
  const gradBytes = outChannels * gradRow;
  const imageBytes = inChannels * inSize[0] * inSize[1] * 4;
  const weightRow = patches.rows * 4;

  const runBlock = (
    [grad, image, out]: readonly [number, number, number],
    [row, rows]: readonly [number, number],
    [column, columns]: readonly [number, number],
    place: (image: number) => number,
    isFirst: boolean,
  ): void => {
    packTableB(panelBAt, place(image), rowTableAt, rows, columnTableAt, columns);
    const onTarget = isFirst ? onto.store : onto.add;
    forEachBlock(outChannels, blockM, (channel, count) => {
      const gradAt = grad + column * 4 + channel * gradRow;
      packA(panelAAt, gradAt, count, gradRow, 4, columns);
      const to = out + channel * weightRow + row * 4;
      multiplyPanels(panelAAt, panelBAt, to, count, rows, columns, weightRow, onTarget);
    });
  };

  // Image by image, so that the sum can be interrupted between images.
  const run = (grad: number, image: number, out: number, accumulates: boolean) => {
    for (let g = 0; g < groups; g++) {
      const ofImage = (n: number) =>
        [
          grad + (n * groups + g) * gradBytes,
          image + (n * groups + g) * imageBytes,
          out + g * outChannels * weightRow,
        ] as const;
      forEachBlock(patches.rows, blocks.rows, (row, rows) => {
        const binders: (() => (image: number) => number)[] = [];
        forEachBlock(patches.columns, blocks.columns, (column, columns) => {
          const block = { row, rows, column, columns };
          binders.push(patches.prepareBlock(block, rowTableAt, columnTableAt));
        });
        const only = binders.length === 1 ? binders[0]!() : null;
        for (let n = 0; n < batch; n++) {
          const at = ofImage(n);
          forEachBlock(patches.columns, blocks.columns, (column, columns) => {
            const isFirst = !accumulates && n === 0 && column === 0;
            const place = only ?? binders[column / blocks.columns]!();
            runBlock(at, [row, rows], [column, columns], place, isFirst);
          });
        }
      });
    }
  };
  return run;
}
