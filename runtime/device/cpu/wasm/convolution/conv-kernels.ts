import { panelAAt, panelBAt } from '../../core/scratch.ts';
import { i32, load, op, scratch } from '../assembler/code.ts';
import { type FunctionBuilder, get } from '../assembler/function-builder.ts';
import { compile, lazily } from '../assembler/module-builder.ts';
import { multiplyPanels, onto, tileColumns, tileRows } from '../gemm-kernels.ts';
import { copyPlanes } from '../image-kernel.ts';
import { narrowProduct } from '../narrow-product.ts';
import { packStrided, packTable } from '../pack-kernels.ts';
import { blockM } from '../product-blocks.ts';
import {
  add,
  blockWords,
  bytes,
  call,
  type GeometryWord,
  groupSteps,
  least,
  mul,
  sub,
  word,
} from './conv-code.ts';
import { DirectPart } from './direct-part.ts';
import { directGradRow, directRow } from './direct-rows.ts';
import { PackedPart } from './packed-part.ts';
import { Slice } from './slice.ts';

/**
 * (geometry, image, weight, out, images, column, columns, rows): `columns` positions starting at `column`, for
 * several images and this many weight rows. Without packing, positions are whole lines.
 */
function convolve(f: FunctionBuilder): void {
  const [geometry, image, weight, out, images, column, columns, rows] = f.params(8);
  const wordOf = (name: GeometryWord) => word(geometry, name);
  const [line, block, blocksLeft, first, count, channel, channels, isFirst] = f.locals('i32', 8);
  const [imageAtNow, outAt, left, base, rowTable, weightTable] = f.locals('i32', 6);
  const slice = new Slice(f, geometry);
  const packed = new PackedPart(f, geometry, { weight, rows, columns });
  const direct = new DirectPart(f, geometry, { weight, rows, columns });

  f.set(line, op('i32.div_u', get(column), wordOf('positions')));
  slice.setLine(line);
  f.if(op('i32.eqz', wordOf('isDirect')), () => packed.setColumns(column, line));
  f.set(block, wordOf('blockList'));
  f.set(blocksLeft, wordOf('blocks'));
  f.countDown(blocksLeft, 1, () => {
    [first, count, channel, channels, isFirst].forEach((local, i) => {
      f.set(local, load('i32.load', get(block), i * 4));
    });
    f.add(block, blockWords * 4);
    f.set(rowTable, add(wordOf('rowTable'), bytes(get(first))));
    f.set(weightTable, add(wordOf('weightTable'), bytes(get(first))));
    f.if(wordOf('isSliced'), () => slice.clear(channels));
    f.if(
      wordOf('isDirect'),
      () => direct.packWeights(weightTable, count),
      () => packed.packWeights(weightTable, count),
    );
    f.set(left, get(images));
    f.set(imageAtNow, get(image));
    f.set(outAt, get(out));
    f.countDown(left, 1, () => {
      slice.place(base, imageAtNow, channel, channels);
      f.if(
        wordOf('isDirect'),
        () => direct.run({ base, rowTable, count, outAt, line }),
        () => packed.run({ base, rowTable, weightTable, count, outAt, isFirst }),
      );
      f.add(imageAtNow, wordOf('imageStep'));
      f.add(outAt, wordOf('outStep'));
    });
  });
}

/**
 * (geometry, dy, image, out, images, first, rows, channel, channels, outChannels, columnTable, columns,
 * sumColumns, accumulates): the weight gradient at patch rows `first` to `first + rows`, which belong to `channels`
 * planes starting at `channel`; `columns` positions are summed `sumColumns` at a time, then over images. `out` is
 * the result of row 0.
 */
function convolveWeightGrad(f: FunctionBuilder): void {
  const [geometry, dy, image, out, images, first, rows, channel, channels, outChannels] =
    f.params(10);
  const [columnTable, columns, sumColumns, accumulates] = f.params(4);
  const wordOf = (name: GeometryWord) => word(geometry, name);
  const [line, base, rowTable, column, width, left, kind, dyRow] = f.locals('i32', 8);
  const [channelsLeft, height, dyAt, to, started] = f.locals('i32', 5);
  const slice = new Slice(f, geometry);
  slice.setLine(line);
  f.if(wordOf('isSliced'), () => slice.clear(channels));
  f.set(rowTable, add(wordOf('rowTable'), bytes(get(first))));
  f.set(dyRow, bytes(get(columns)));
  f.set(started, get(accumulates));
  f.countDown(images, 1, () => {
    slice.place(base, image, channel, channels);
    f.if(
      wordOf('isDirect'),
      () => {
        // The table's rows are vectors here; see `directGradRow`.
        f.set(channelsLeft, get(outChannels));
        f.set(dyAt, get(dy));
        f.set(to, get(out));
        f.countDown(channelsLeft, 1, () => {
          call(
            ...([f, 'directGradRow', get(base), get(rowTable), get(rows), get(dyAt)] as const),
            ...[get(columnTable), get(columns), get(sumColumns), get(to), get(started)],
          );
          f.add(dyAt, get(dyRow));
          f.add(to, wordOf('outChannel'));
        });
        f.set(started, i32(1));
      },
      () => {
        f.set(column, i32(0));
        f.set(left, get(columns));
        f.while(op('i32.gt_s', get(left), i32(0)), () => {
          f.set(width, least(get(left), get(sumColumns)));
          call(
            ...([f, 'packTableB', scratch(panelBAt), get(base), get(rowTable), get(rows)] as const),
            ...[add(get(columnTable), bytes(get(column))), get(width)],
          );
          f.set(kind, op('select', i32(onto.add), i32(onto.store), get(started)));
          f.set(started, i32(1));
          f.set(channelsLeft, get(outChannels));
          f.set(dyAt, add(get(dy), bytes(get(column))));
          f.set(to, add(get(out), bytes(get(first))));
          f.while(op('i32.gt_s', get(channelsLeft), i32(0)), () => {
            f.set(height, least(get(channelsLeft), i32(blockM)));
            call(
              ...([f, 'packA', scratch(panelAAt), get(dyAt), get(height), get(dyRow)] as const),
              ...[i32(4), get(width)],
            );
            call(
              ...([f, 'multiplyPanels', scratch(panelAAt), scratch(panelBAt), get(to)] as const),
              ...[get(height), get(rows), get(width), wordOf('outChannel'), get(kind)],
            );
            f.add(channelsLeft, -blockM);
            f.add(dyAt, mul(get(dyRow), i32(blockM)));
            f.add(to, mul(wordOf('outChannel'), i32(blockM)));
          });
          f.add(column, get(sumColumns));
          f.set(left, sub(get(left), get(sumColumns)));
        });
      },
    );
    f.add(image, wordOf('imageStep'));
    f.add(dy, wordOf('outStep'));
  });
}

/** (geometry, two operands, out, …, groups): a kernel of `count` parameters for several adjacent groups. */
const overGroups =
  (name: 'convolve' | 'convolveWeightGrad', count: number) =>
  (f: FunctionBuilder): void => {
    const parameters = f.params(count);
    const [groups] = f.params(1);
    f.countDown(groups, 1, () => {
      call(f, name, ...parameters.map(get));
      for (const [i, step] of groupSteps.entries())
        f.add(parameters[i + 1]!, word(parameters[0]!, step));
    });
  };

export const convKernels = lazily(() =>
  compile({
    packTableA: packTable(tileRows()),
    packTableB: packTable(tileColumns()),
    packA: packStrided(tileRows()),
    multiplyPanels,
    copyPlanes,
    directRow,
    directGradRow,
    narrowProduct,
    convolve,
    convolveWeightGrad,
    convolveGroups: overGroups('convolve', 8),
    convolveGroupsWeightGrad: overGroups('convolveWeightGrad', 14),
  }),
);
