import { panelBAt, panelBBytes, tileAt } from '../core/scratch.ts';
import { type Code, i32, i32x4, load, op, scratch, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local, smaller } from './assembler/function-builder.ts';
import { compileWhenRead, lazily } from './assembler/module-builder.ts';

/** Products of float64 and int32 matrices, whose sums add the terms one by one. */

const instructions = {
  float64: {
    bytes: 8,
    splat: 'v128.load64_splat',
    add: 'f64x2.add',
    mul: 'f64x2.mul',
    load: 'f64.load',
    store: 'f64.store',
  },
  int32: {
    bytes: 4,
    splat: 'v128.load32_splat',
    add: 'i32x4.add',
    mul: 'i32x4.mul',
    load: 'i32.load',
    store: 'i32.store',
  },
} as const;

export type PlainProductDType = keyof typeof instructions;

/** The bytes of a tile row: two vectors. */
const tileBytes = 32;
const tileRows = 4;

/** The longest inner dimension whose strip of b fits into scratch memory. */
export const longestPlainSum = panelBBytes / tileBytes;

/**
 * (a, b, c, m, n, k, aRow, aColumn, bRow, bColumn, cRow, start), steps in bytes: c = a · b with k up to
 * `longestPlainSum`; columns of c are adjacent. `start` is 0, because a sum is never continued.
 */
function plainProduct(dtype: PlainProductDType) {
  const { bytes, splat, add, mul, load: loadOne, store: storeOne } = instructions[dtype];
  const width = tileBytes / bytes;
  return (f: FunctionBuilder): void => {
    const [a, b, c, m, n, k, aRow, aColumn, bRow, bColumn, cRow] = f.params(12);
    const [from, to, left, aAt, cAt, rowsLeft, columns, whole, target, step] = f.locals('i32', 10);
    const rows = f.locals('i32', tileRows);
    const sums = rows.map(() => [f.local('v128'), f.local('v128')] as const);
    const [b0, b1, factor] = f.locals('v128', 3);

    /** Returns the index of a row or column of the tile, clamped to the last one; repeated results are discarded. */
    const clamped = (index: number, count: Local): Code => {
      const last = op('i32.sub', get(count), i32(1));
      return op('select', i32(index), last, op('i32.lt_s', i32(index), get(count)));
    };
    const packStrip = (): void => {
      for (let column = 0; column < width; column++) {
        f.set(from, op('i32.add', get(b), op('i32.mul', clamped(column, n), get(bColumn))));
        f.set(to, scratch(panelBAt + column * bytes));
        f.set(left, get(k));
        f.countDown(left, 1, () => {
          f.emit(store(storeOne, get(to), load(loadOne, get(from))));
          f.add(from, get(bRow));
          f.add(to, tileBytes);
        });
      }
    };
    const computeTile = (): void => {
      rows.forEach((row, i) => {
        f.set(row, op('i32.add', get(aAt), op('i32.mul', clamped(i, rowsLeft), get(aRow))));
      });
      for (const sum of sums.flat()) f.set(sum, f.constant(i32x4(0)));
      f.set(from, scratch(panelBAt));
      f.set(left, get(k));
      f.countDown(left, 1, () => {
        f.set(b0, load('v128.load', get(from)));
        f.set(b1, load('v128.load', get(from), 16));
        sums.forEach(([sum0, sum1], i) => {
          const row = rows[i]!;
          f.set(factor, load(splat, get(row)));
          f.set(sum0, op(add, get(sum0), op(mul, get(factor), get(b0))));
          f.set(sum1, op(add, get(sum1), op(mul, get(factor), get(b1))));
          f.add(row, get(aColumn));
        });
        f.add(from, tileBytes);
      });
    };
    const storeTile = (): void => {
      const isWhole = op('i32.ge_s', get(n), i32(width));
      f.set(whole, op('i32.and', op('i32.ge_s', get(rowsLeft), i32(tileRows)), isWhole));
      f.set(target, op('select', get(cAt), scratch(tileAt), get(whole)));
      f.set(step, op('select', get(cRow), i32(tileBytes), get(whole)));
      sums.forEach(([sum0, sum1]) => {
        f.emit(store('v128.store', get(target), get(sum0)));
        f.emit(store('v128.store', get(target), get(sum1), 16));
        f.add(target, get(step));
      });
      f.if(op('i32.eqz', get(whole)), copyEdge);
    };
    /** Copies the part of the scratch tile that lies inside c. */
    const copyEdge = (): void => {
      f.set(target, scratch(tileAt));
      f.set(step, get(cAt));
      f.set(columns, smaller(rowsLeft, tileRows));
      f.countDown(columns, 1, () => {
        f.set(from, get(target));
        f.set(to, get(step));
        f.set(left, smaller(n, width));
        f.countDown(left, 1, () => {
          f.emit(store(storeOne, get(to), load(loadOne, get(from))));
          f.add(from, bytes);
          f.add(to, bytes);
        });
        f.add(target, tileBytes);
        f.add(step, get(cRow));
      });
    };

    f.while(op('i32.gt_s', get(n), i32(0)), () => {
      packStrip();
      f.set(rowsLeft, get(m));
      f.set(aAt, get(a));
      f.set(cAt, get(c));
      f.while(op('i32.gt_s', get(rowsLeft), i32(0)), () => {
        computeTile();
        storeTile();
        f.add(rowsLeft, -tileRows);
        f.add(aAt, op('i32.mul', get(aRow), i32(tileRows)));
        f.add(cAt, op('i32.mul', get(cRow), i32(tileRows)));
      });
      f.add(n, -width);
      f.add(b, op('i32.mul', get(bColumn), i32(width)));
      f.add(c, tileBytes);
    });
  };
}

export const plainProducts = lazily(() =>
  compileWhenRead([{ float64: plainProduct('float64') }, { int32: plainProduct('int32') }]),
);
