import { f32x4, i32, lane, load, op, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { onto, tileColumns } from './gemm-kernels.ts';
import { isMore, placeRows, sumRows } from './row-sums.ts';

/** The maximum number of columns of a narrow product; with more, packing the rows pays off. */
export const narrowColumns = 4;

/**
 * (rows, rowStep, panel, c, cRow, m, n, k, onto): c (+)= rows · panel for a panel packed by `packB`, of which n
 * columns are used, and rows whose elements are adjacent. Steps in bytes; c's columns are adjacent. Rows are read
 * once, in order, and transposed in registers instead of packed. Sums are those of `multiplyPanels`, except for
 * `onto.startFrom`.
 */
export function narrowProduct(f: FunctionBuilder): void {
  const [rows, rowStep, panel, c, cRow, m, n, k, kind] = f.params(9);
  const [at, left] = f.locals('i32', 2);
  for (let columns = 1; columns <= narrowColumns; columns++) {
    // Two sums hide more latency than one; the addresses of more than eight rows don't fit into registers.
    const groups = columns === 1 ? 2 : 1;
    const sums = Array.from({ length: groups }, () => f.locals('v128', columns));
    const pointers = f.locals('i32', groups * 4);
    const tile = (): void => {
      placeRows(f, pointers, rows, rowStep, m);
      f.add(rows, op('i32.mul', get(rowStep), i32(groups * 4)));
      f.set(at, get(panel));
      f.set(left, get(k));
      for (const sum of sums.flat()) f.set(sum, f32x4(0));
      sumRows(f, pointers, at, i32(tileColumns() * 4), left, sums);
      for (const i of pointers.keys()) f.if(isMore(m, i), () => storeRow(sums[i >> 2]!, i % 4));
      f.add(m, groups * -4);
    };
    f.if(op('i32.eq', get(n), i32(columns)), () => f.while(isMore(m, 0), tile));
  }

  function storeRow(sums: readonly Local[], row: number): void {
    sums.forEach((sum, column) => {
      const laneSum = lane('f32x4.extract_lane', row, get(sum));
      const added = op('f32.add', load('f32.load', get(c), column * 4), laneSum);
      const isAdded = op('i32.eq', get(kind), i32(onto.add));
      f.emit(store('f32.store', get(c), op('select', added, laneSum, isAdded), column * 4));
    });
    f.add(c, get(cRow));
  }
}
