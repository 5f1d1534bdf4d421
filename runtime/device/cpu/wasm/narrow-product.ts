import { type Code, f32x4, i32, lane, load, memoryLane, op, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { mulAdd } from './assembler/multiply-add.ts';
import { onto, tileColumns } from './gemm-kernels.ts';
import { transposeFour } from './transpose-kernel.ts';

/** The most columns of a narrow product: from the next one on, rows that are packed are used often enough. */
export const narrowColumns = 4;

/**
 * (rows, rowStep, panel, c, cRow, m, n, k, onto): c (+)= rows · panel for a panel that `packB` has packed, of which n
 * columns count, and rows whose elements are adjacent. Steps in bytes; c's columns are adjacent. Rows are read once, in
 * order, and transposed in registers instead of packed. Sums are those of `multiplyPanels`, but for `onto.goOn`.
 */
export function narrowProduct(f: FunctionBuilder): void {
  const [rows, rowStep, panel, c, cRow, m, n, k, kind] = f.params(9);
  const operands = { rows, rowStep, panel, c, cRow, m, k, kind };
  for (let columns = 1; columns <= narrowColumns; columns++) {
    f.if(op('i32.eq', get(n), i32(columns)), () => {
      // Two sums wait less for themselves than one; the addresses of more rows than eight leave the registers.
      if (columns === 1) f.countDown(m, 8, () => addRows(f, operands, columns, 2));
      f.countDown(m, 4, () => addRows(f, operands, columns, 1));
      // The last row in the place of those after it, whose sums are not stored.
      f.if(get(m), () => addRows(f, operands, columns, 1, m));
    });
  }
}

interface Operands {
  readonly rows: Local;
  readonly rowStep: Local;
  readonly panel: Local;
  readonly c: Local;
  readonly cRow: Local;
  readonly k: Local;
  readonly kind: Local;
}

/** The sums of four rows for each group. `most`: how many rows there are, if fewer. */
function addRows(
  f: FunctionBuilder,
  { rows, rowStep, panel, c, cRow, k, kind }: Operands,
  columns: number,
  groups: number,
  most?: Local,
): void {
  const numbers = Array.from({ length: groups * 4 }, (_, i) => i);
  const pointers = numbers.map(() => f.local('i32'));
  const sums = Array.from({ length: groups }, () => f.locals('v128', columns));
  const tile = f.locals('v128', 4);
  const [value, at, left] = [f.local('v128'), f.local('i32'), f.local('i32')];
  const exists = (i: number): Code => op('i32.gt_s', get(most!), i32(i));
  for (const i of numbers) {
    const next = i === 0 ? get(rows) : op('i32.add', get(pointers[i - 1]!), get(rowStep));
    const isLast = most && i > 0;
    f.set(pointers[i]!, isLast ? op('select', next, get(pointers[i - 1]!), exists(i)) : next);
  }
  f.set(at, get(panel));
  f.set(left, get(k));
  for (const sum of sums.flat()) f.set(sum, f32x4(0));
  /** Adds `value`, an entry of four rows, times that entry of each column. */
  const addTerms = (own: readonly Local[], entry: number): void => {
    own.forEach((sum, column) => {
      const offset = (entry * tileColumns + column) * 4;
      f.set(sum, mulAdd(get(value), load('v128.load32_splat', get(at), offset), get(sum)));
    });
  };
  const eachGroup = (body: (own: readonly Local[], from: readonly Local[]) => void): void => {
    sums.forEach((own, g) => {
      body(own, pointers.slice(g * 4, g * 4 + 4));
    });
  };
  f.countDown(left, 4, () => {
    eachGroup((own, from) => {
      from.forEach((pointer, i) => {
        f.set(tile[i]!, load('v128.load', get(pointer)));
        f.add(pointer, 16);
      });
      transposeFour(f, tile).forEach((entries, entry) => {
        f.set(value, entries);
        addTerms(own, entry);
      });
    });
    f.add(at, 4 * tileColumns * 4);
  });
  f.countDown(left, 1, () => {
    eachGroup((own, from) => {
      from.forEach((pointer, i) => {
        const one = get(pointer);
        f.set(
          value,
          i === 0
            ? load('v128.load32_zero', one)
            : memoryLane('v128.load32_lane', one, get(value), i),
        );
        f.add(pointer, 4);
      });
      addTerms(own, 0);
    });
    f.add(at, tileColumns * 4);
  });
  const storeRow = (own: readonly Local[], i: number): void => {
    own.forEach((sum, column) => {
      const before = load('f32.load', get(c), column * 4);
      const result = lane('f32x4.extract_lane', i % 4, get(sum));
      f.if(
        op('i32.eq', get(kind), i32(onto.add)),
        () => f.emit(store('f32.store', get(c), op('f32.add', before, result), column * 4)),
        () => f.emit(store('f32.store', get(c), result, column * 4)),
      );
    });
    f.add(c, get(cRow));
  };
  for (const i of numbers) {
    const own = sums[i >> 2]!;
    if (most && i > 0) f.if(exists(i), () => storeRow(own, i));
    else storeRow(own, i);
  }
  f.add(rows, op('i32.mul', get(rowStep), i32(groups * 4)));
}
