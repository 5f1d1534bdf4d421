import { panelAAt, panelBAt, tileAt, unpackedCountAt } from '../core/scratch.ts';
import { type Code, callCode, f32x4, i32, load, op, scratch, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local, smaller } from './assembler/function-builder.ts';
import { compileWhenRead, lazily, localIndex } from './assembler/module-builder.ts';
import { fusesMultiplyAdd, mulAdd } from './assembler/multiply-add.ts';
import { wideVectors } from './assembler/wide-vectors.ts';
import { packStrided, packTable } from './pack-kernels.ts';
import { blockK, blockM, blockN } from './product-blocks.ts';
import { count } from './product-counts.ts';
import { vectorProduct } from './vector-product.ts';

/**
 * The parts of a packed matrix product after Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication" (TOMS 2008). Panels of a tile's rows of A and columns of B are packed so that the tile loop
 * reads both in order.
 */

/** The first version of V8 (in Node 24) that loads an operand where it is used. */
const largeTilesFrom = 13;

/**
 * 4 × 8 with one step of k per iteration: larger tiles spill the 15 vector registers of engines that hoist all loads of
 * a loop body. Other engines use 6 × 8 if multiply-add is one instruction, and 6 × 16 if registers have 8 numbers. No
 * sum depends on it.
 */
export const tileRows = lazily((): number => {
  const version = Number.parseInt(globalThis.process?.versions?.v8 ?? '0', 10);
  return wideVectors.areUsed || (fusesMultiplyAdd() && version >= largeTilesFrom) ? 6 : 4;
});
export const tileColumns = lazily((): number => (wideVectors.areUsed ? 16 : 8));

/** With at most this many rows, b is read unpacked: packing it takes longer than the product. */
const mostUnpackedRows = 16;

/**
 * How the sum is combined with c: it replaces c, is added to c, or starts from c. Only `startFrom` rounds like one
 * longer sum.
 */
export const onto = { store: 0, add: 1, startFrom: 2 } as const;

/**
 * (aPanels, bPanels, c, m, n, k, cRowBytes, onto): c (+)= a · b for one block. Columns of c are adjacent. Tiles at
 * the edges go through a scratch tile.
 */
export const multiplyPanels = (f: FunctionBuilder): void => multiply(f, true);

/**
 * (aPanels, b, c, m, n, k, cRowBytes, onto, bRowBytes): like `multiplyPanels` with b unpacked, in whole tiles of
 * columns.
 */
const multiplyUnpacked = (f: FunctionBuilder): void => multiply(f, false);

function multiply(f: FunctionBuilder, isPacked: boolean): void {
  const [aPanels, bPanels, c, m, n, k, cRow, accumulate] = f.params(8);
  const [height, width] = [tileRows(), tileColumns()];
  const bRow = isPacked ? i32(width * 4) : get(f.param());
  const [a, b, rowsLeft, left] = f.locals('i32', 4);
  const scalar = f.local('v128');
  const columns = f.locals('v128', width / 4);
  const sums = Array.from({ length: height }, () => f.locals('v128', width / 4));
  const tile = f.local('i32');
  const edgeTile = f.local('i32', scratch(tileAt));

  const [to, toRow, whole] = f.locals('i32', 3);
  const placeTile = () => {
    const wholeTile = op('i32.ge_s', get(n), i32(width));
    f.set(whole, op('i32.and', op('i32.ge_s', get(rowsLeft), i32(height)), wholeTile));
    f.set(to, op('select', get(tile), get(edgeTile), get(whole)));
    f.set(toRow, op('select', get(cRow), i32(width * 4), get(whole)));
  };
  const isOnto = (kind: number) => op('i32.eq', get(accumulate), i32(kind));

  const loadTile = () => {
    f.if(op('i32.eqz', get(whole)), () => copyEdge(fromTarget));
    const at = f.local('i32', get(to));
    for (const row of sums) {
      row.forEach((sum, i) => {
        f.set(sum, load('v128.load', get(at), i * 16));
      });
      f.add(at, get(toRow));
    }
  };

  const computeTile = () => {
    f.if(isOnto(onto.startFrom), loadTile, () => {
      for (const row of sums) for (const sum of row) f.set(sum, f32x4(0));
    });
    f.set(b, get(bPanels));
    f.set(left, get(k));
    f.countDown(left, 1, () => {
      columns.forEach((column, i) => {
        f.set(column, load('v128.load', get(b), i * 16));
      });
      sums.forEach((row, r) => {
        f.set(scalar, load('v128.load32_splat', get(a), r * 4));
        row.forEach((sum, i) => {
          f.set(sum, mulAdd(get(scalar), get(columns[i]!), get(sum)));
        });
      });
      f.add(a, height * 4);
      f.add(b, bRow);
    });
  };

  const storeTile = () => {
    f.if(op('i32.and', get(whole), isOnto(onto.add)), () => {
      const at = f.local('i32', get(to));
      for (const row of sums) {
        row.forEach((sum, i) => {
          f.set(sum, op('f32x4.add', load('v128.load', get(at), i * 16), get(sum)));
        });
        f.add(at, get(toRow));
      }
    });
    for (const row of sums) {
      row.forEach((sum, i) => {
        f.emit(store('v128.store', get(to), get(sum), i * 16));
      });
      f.add(to, get(toRow));
    }
    f.if(op('i32.eqz', get(whole)), () => copyEdge(toTarget));
  };

  const [edgeRows, edgeColumns, from, edge, row] = f.locals('i32', 5);
  /** Copies one element, at `from` in the scratch tile, to `edge` in c. */
  const toTarget = () => {
    const added = op('f32.add', load('f32.load', get(edge)), load('f32.load', get(from)));
    f.if(
      isOnto(onto.add),
      () => f.emit(store('f32.store', get(edge), added)),
      () => f.emit(store('f32.store', get(edge), load('f32.load', get(from)))),
    );
  };
  const fromTarget = () => f.emit(store('f32.store', get(from), load('f32.load', get(edge))));
  const copyEdge = (copyElement: () => void) => {
    f.set(edgeRows, smaller(rowsLeft, height));
    f.set(row, i32(0));
    f.countDown(edgeRows, 1, () => {
      f.set(edgeColumns, smaller(n, width));
      f.set(from, op('i32.add', get(edgeTile), op('i32.mul', get(row), i32(width * 4))));
      f.set(edge, op('i32.add', get(tile), op('i32.mul', get(row), get(cRow))));
      f.countDown(edgeColumns, 1, () => {
        copyElement();
        f.add(from, 4);
        f.add(edge, 4);
      });
      f.add(row, 1);
    });
  };

  f.while(op('i32.gt_s', get(n), i32(0)), () => {
    f.set(a, get(aPanels));
    f.set(rowsLeft, get(m));
    f.set(tile, get(c));
    f.while(op('i32.gt_s', get(rowsLeft), i32(0)), () => {
      placeTile();
      computeTile();
      storeTile();
      f.add(rowsLeft, -height);
      f.add(tile, op('i32.mul', get(cRow), i32(height)));
    });
    f.add(bPanels, isPacked ? op('i32.mul', get(k), bRow) : i32(width * 4));
    f.add(n, -width);
    f.add(c, width * 4);
  });
}

/**
 * (a, b, c, m, n, k, aRow, aColumn, bRow, bColumn, cRow, start), steps in bytes: c = a · b, or c += a · b if c
 * already contains the product of `start` entries of the inner dimension. c's columns are adjacent.
 */
function product(f: FunctionBuilder): void {
  const [a, b, c, m, n, k, aRow, aColumn, bRow, bColumn, cRow, start] = f.params(12);
  const [columns, p, depth, inBlock, kind, rows, rowsLeft, aAt, cAt, kLeft, more, bAt] = f.locals(
    'i32',
    12,
  );
  const isPacked = f.local('i32');
  const place = (base: Local, index: Local, step: Local): Code =>
    op('i32.add', get(base), op('i32.mul', get(index), get(step)));
  // The last tile of columns must not extend past b.
  const hasRest = op('i32.ne', op('i32.and', get(n), i32(tileColumns() - 1)), i32(0));
  const hasManyRows = op('i32.gt_s', get(m), i32(mostUnpackedRows));
  const isApart = op('i32.ne', get(bColumn), i32(4));
  f.set(isPacked, op('i32.or', op('i32.or', hasManyRows, hasRest), isApart));

  f.while(op('i32.gt_s', get(n), i32(0)), () => {
    f.set(columns, smaller(n, blockN));
    f.set(p, i32(0));
    // There is one block even if k is 0, because an empty sum still writes zeros.
    f.set(more, i32(1));
    f.while(get(more), () => {
      f.set(inBlock, op('i32.and', op('i32.add', get(start), get(p)), i32(blockK - 1)));
      f.set(depth, op('i32.sub', i32(blockK), get(inBlock)));
      f.set(kLeft, op('i32.sub', get(k), get(p)));
      const isLast = op('i32.lt_s', get(kLeft), get(depth));
      f.set(depth, op('select', get(kLeft), get(depth), isLast));
      f.set(kind, op('select', i32(onto.startFrom), i32(onto.add), get(inBlock)));
      const isFirst = op('i32.eqz', op('i32.add', get(start), get(p)));
      f.set(kind, op('select', i32(onto.store), get(kind), isFirst));
      f.set(bAt, place(b, p, bRow));
      f.if(get(isPacked), () => {
        f.emit(
          callCode(
            localIndex(parts.packB),
            ...[scratch(panelBAt), get(bAt), get(columns), get(bColumn), get(bRow), get(depth)],
          ),
        );
      });
      f.set(rowsLeft, get(m));
      f.set(aAt, place(a, p, aColumn));
      f.set(cAt, get(c));
      f.while(op('i32.gt_s', get(rowsLeft), i32(0)), () => {
        f.set(rows, smaller(rowsLeft, blockM));
        f.emit(
          callCode(
            localIndex(parts.packA),
            ...[scratch(panelAAt), get(aAt), get(rows), get(aRow), get(aColumn), get(depth)],
          ),
        );
        const multiplied = (
          name: 'multiplyPanels' | 'multiplyUnpacked',
          from: Code,
          more: Code[],
        ) =>
          f.emit(
            callCode(
              localIndex(parts[name]),
              ...[scratch(panelAAt), from, get(cAt), get(rows), get(columns)],
              ...[get(depth), get(cRow), get(kind), ...more],
            ),
          );
        f.if(
          get(isPacked),
          () => multiplied('multiplyPanels', scratch(panelBAt), []),
          () => {
            count(f, unpackedCountAt);
            multiplied('multiplyUnpacked', get(bAt), [get(bRow)]);
          },
        );
        f.add(rowsLeft, -blockM);
        f.add(aAt, op('i32.mul', get(aRow), i32(blockM)));
        f.add(cAt, op('i32.mul', get(cRow), i32(blockM)));
      });
      f.add(p, get(depth));
      f.set(more, op('i32.lt_s', get(p), get(k)));
    });
    f.add(n, -blockN);
    f.add(b, op('i32.mul', get(bColumn), i32(blockN)));
    f.add(c, blockN * 4);
  });
}

/** Indices of the functions in their module, for calls between them. */
const parts = { packA: 0, packB: 1, multiplyPanels: 2, multiplyUnpacked: 3 } as const;

export const gemmKernels = lazily(() =>
  compileWhenRead([
    {
      packA: packStrided(tileRows()),
      packB: packStrided(tileColumns()),
      multiplyPanels,
      multiplyUnpacked,
      product,
    },
    { packTableB: packTable(tileColumns()) },
    { vectorProduct },
  ]),
);
