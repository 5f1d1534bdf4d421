import { panelBAt } from '../core/scratch.ts';
import { f32x4, fillMemory, i32, load, memoryLane, op, scratch, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local, smaller } from './assembler/function-builder.ts';
import { mulAdd, mulAddOne } from './assembler/multiply-add.ts';
import { blockK } from './product-blocks.ts';
import { isMore, placeRows, sumRows } from './row-sums.ts';

/** The number of columns whose sums fit into the L1 cache. */
const strip = 1024;

/**
 * (x, xStep, b, bRow, bColumn, out, n, k), steps in bytes, where `bRow` or `bColumn` is the size of an element:
 * out = x · b for one row x. Reads b once, in order, and packs nothing; sums are those of `product`: within a
 * block of k one after the other, then over the blocks.
 */
export function vectorProduct(f: FunctionBuilder): void {
  const [x, xStep, b, bRow, bColumn, out, n, k] = f.params(8);
  const operands = { x, xStep, b, bRow, bColumn, out, n, k };
  f.if(
    op('i32.eq', get(bColumn), i32(4)),
    () => alongRows(f, operands),
    () => alongColumns(f, operands),
  );
}

interface Operands {
  readonly x: Local;
  readonly xStep: Local;
  readonly b: Local;
  readonly bRow: Local;
  readonly bColumn: Local;
  readonly out: Local;
  readonly n: Local;
  readonly k: Local;
}

/** Calls `body` for blocks of k; `x` and `b` point to the block's first entry. An empty sum has one block. */
function forEachBlock(
  f: FunctionBuilder,
  { x, xStep, b, bRow, k }: Operands,
  body: (block: { xAt: Local; bAt: Local; depth: Local; isFirst: Local }) => void,
): void {
  const [xAt, bAt, depth, left, isFirst] = f.locals('i32', 5);
  f.set(xAt, get(x));
  f.set(bAt, get(b));
  f.set(left, get(k));
  f.set(isFirst, i32(1));
  f.while(op('i32.or', get(isFirst), isMore(left, 0)), () => {
    f.set(depth, smaller(left, blockK));
    body({ xAt, bAt, depth, isFirst });
    f.set(isFirst, i32(0));
    f.add(xAt, op('i32.mul', get(xStep), i32(blockK)));
    f.add(bAt, op('i32.mul', get(bRow), i32(blockK)));
    f.add(left, -blockK);
  });
}

/** b's rows are contiguous: four of them at a time are added to a strip of sums. */
function alongRows(f: FunctionBuilder, operands: Operands): void {
  const { xStep, b, bRow, out, n } = operands;
  const sums = f.local('i32', scratch(panelBAt));
  const [columns, bytes, at, left, to] = f.locals('i32', 5);
  const rows = f.locals('i32', 4);
  const factors = f.locals('v128', 4);
  const numbers = f.locals('f32', 4);
  const [sum, single] = [f.local('v128'), f.local('f32')];

  const addRows = (count: number, depth: Local, xAt: Local, bAt: Local): void => {
    f.countDown(depth, count, () => {
      for (let i = 0; i < count; i++) {
        f.set(rows[i]!, i === 0 ? get(bAt) : op('i32.add', get(rows[i - 1]!), get(bRow)));
        f.set(numbers[i]!, load('f32.load', get(xAt)));
        f.set(factors[i]!, op('f32x4.splat', get(numbers[i]!)));
        f.add(xAt, get(xStep));
      }
      f.set(at, get(sums));
      f.set(left, get(columns));
      f.countDown(left, 4, () => {
        f.set(sum, load('v128.load', get(at)));
        for (let i = 0; i < count; i++) {
          f.set(sum, mulAdd(get(factors[i]!), load('v128.load', get(rows[i]!)), get(sum)));
          f.add(rows[i]!, 16);
        }
        f.emit(store('v128.store', get(at), get(sum)));
        f.add(at, 16);
      });
      f.countDown(left, 1, () => {
        f.set(single, load('f32.load', get(at)));
        for (let i = 0; i < count; i++) {
          f.set(single, mulAddOne(get(numbers[i]!), load('f32.load', get(rows[i]!)), get(single)));
          f.add(rows[i]!, 4);
        }
        f.emit(store('f32.store', get(at), get(single)));
        f.add(at, 4);
      });
      f.add(bAt, op('i32.mul', get(bRow), i32(count)));
    });
  };

  f.while(isMore(n, 0), () => {
    f.set(columns, smaller(n, strip));
    f.set(bytes, op('i32.shl', get(columns), i32(2)));
    forEachBlock(f, operands, ({ xAt, bAt, depth, isFirst }) => {
      const [from, row] = [f.local('i32', get(xAt)), f.local('i32', get(bAt))];
      f.emit(fillMemory(get(sums), i32(0), get(bytes)));
      addRows(4, depth, from, row);
      addRows(1, depth, from, row);
      f.set(at, get(sums));
      f.set(to, get(out));
      f.set(left, get(columns));
      const join = (width: 'v128' | 'f32', sum: 'f32x4.add' | 'f32.add', size: number) => {
        f.countDown(left, size / 4, () => {
          const loaded = load(`${width}.load`, get(at));
          const added = op(sum, load(`${width}.load`, get(to)), loaded);
          const total = op('select', loaded, added, get(isFirst));
          f.emit(store(`${width}.store`, get(to), total));
          f.add(at, size);
          f.add(to, size);
        });
      };
      join('v128', 'f32x4.add', 16);
      join('f32', 'f32.add', 4);
    });
    f.add(n, -strip);
    f.add(b, strip * 4);
    f.add(out, get(bytes));
  });
}

/** b's columns are contiguous. */
function alongColumns(f: FunctionBuilder, operands: Operands): void {
  const { xStep, b, bColumn, out, n } = operands;
  const columns = f.locals('i32', 8);
  const [sums, totals] = [f.locals('v128', 2), f.locals('v128', 2)];
  const [from, left] = f.locals('i32', 2);
  const setAll = (vectors: readonly Local[], value: number): void => {
    for (const vector of vectors) f.set(vector, f32x4(value));
  };
  f.while(isMore(n, 0), () => {
    // −0 is the neutral element of addition.
    setAll(totals, -0);
    forEachBlock(f, operands, ({ xAt, bAt, depth }) => {
      f.set(from, get(xAt));
      f.set(left, get(depth));
      setAll(sums, 0);
      placeRows(f, columns, bAt, bColumn, n);
      sumRows(
        f,
        columns,
        from,
        get(xStep),
        left,
        sums.map((sum) => [sum]),
      );
      totals.forEach((total, i) => {
        f.set(total, op('f32x4.add', get(total), get(sums[i]!)));
      });
    });
    for (const i of columns.keys()) {
      const total = get(totals[i >> 2]!);
      f.if(isMore(n, i), () => {
        f.emit(memoryLane('v128.store32_lane', get(out), total, i % 4, i * 4));
      });
    }
    f.add(n, -8);
    f.add(out, 32);
    f.add(b, op('i32.shl', get(bColumn), i32(3)));
  });
}
