import {
  type Code,
  f32x4,
  i32,
  lane,
  load,
  memoryLane,
  op,
  shuffle,
  store,
} from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';
import { mulAdd } from '../assembler/multiply-add.ts';

/** Convolutions with few channels per group, where packing for a product would cost more than the product. */

/** The layout of adjacent line elements in the source: adjacent, every second, or arbitrary. */
type Spacing = 'adjacent' | 'second' | 'any';

/**
 * (source, table, taps, weights, out, outStep, count, step), steps in bytes: a line of `count` results, where
 * result i is Σ weights[t] · source[table[t] + i · step], added in tap order. Reads up to 16 bytes past a line
 * with step 8.
 */
export function directRow(f: FunctionBuilder): void {
  const [source, table, taps, weights, out, outStep, count, step] = f.params(8);
  const isStep = (bytes: number) => op('i32.eq', get(step), i32(bytes));
  const operands = { source, table, taps, weights, out, outStep, count, step };
  f.if(
    isStep(4),
    () => lines(f, operands, 'adjacent'),
    () =>
      f.if(
        isStep(8),
        () => lines(f, operands, 'second'),
        () => lines(f, operands, 'any'),
      ),
  );
}

interface Operands {
  readonly source: Local;
  readonly table: Local;
  readonly taps: Local;
  readonly weights: Local;
  readonly out: Local;
  readonly outStep: Local;
  readonly count: Local;
  readonly step: Local;
}

function lines(f: FunctionBuilder, operands: Operands, spacing: Spacing): void {
  const { source, table, taps, weights, out, outStep, count, step } = operands;
  const [at, entry, weightAt, left, place] = f.locals('i32', 5);
  const factor = f.local('v128');

  const loadVector = (index: number, to: Local): void => {
    if (spacing === 'adjacent') {
      f.set(to, load('v128.load', get(at), index * 16));
      return;
    }
    if (spacing === 'second') {
      const [low, high] = [0, 16].map((more) => load('v128.load', get(at), index * 32 + more));
      f.set(to, shuffle(low!, high!, [0, 2, 4, 6]));
      return;
    }
    if (index === 0) f.set(place, get(at));
    for (let i = 0; i < 4; i++) {
      f.set(
        to,
        i === 0
          ? load('v128.load32_zero', get(place))
          : memoryLane('v128.load32_lane', get(place), get(to), i),
      );
      f.add(place, get(step));
    }
  };
  const overTaps = (body: () => void): void => {
    f.set(entry, get(table));
    f.set(weightAt, get(weights));
    f.set(left, get(taps));
    f.countDown(left, 1, () => {
      f.set(at, op('i32.add', get(source), load('i32.load', get(entry))));
      f.set(factor, load('v128.load32_splat', get(weightAt)));
      body();
      f.add(entry, 4);
      f.add(weightAt, 4);
    });
  };
  const storeVectors = (sums: readonly Local[]): void => {
    f.if(
      op('i32.eq', get(outStep), i32(4)),
      () => {
        sums.forEach((sum, i) => {
          f.emit(store('v128.store', get(out), get(sum), i * 16));
        });
        f.add(out, sums.length * 16);
      },
      () => {
        for (const sum of sums) {
          for (let i = 0; i < 4; i++) {
            f.emit(memoryLane('v128.store32_lane', get(out), get(sum), i));
            f.add(out, get(outStep));
          }
        }
      },
    );
  };
  const several = (vectors: number): void => {
    const sums = f.locals('v128', vectors);
    const value = f.local('v128');
    f.countDown(count, vectors * 4, () => {
      for (const sum of sums) f.set(sum, f32x4(0));
      overTaps(() => {
        sums.forEach((sum, i) => {
          loadVector(i, value);
          f.set(sum, mulAdd(get(factor), get(value), get(sum)));
        });
      });
      storeVectors(sums);
      f.add(source, op('i32.mul', get(step), i32(vectors * 4)));
    });
  };
  several(4);
  several(1);
  const sum = f.local('v128');
  f.countDown(count, 1, () => {
    f.set(sum, f32x4(0));
    overTaps(() => {
      const value = load('v128.load32_zero', get(at));
      f.set(sum, mulAdd(get(factor), value, get(sum)));
    });
    f.emit(memoryLane('v128.store32_lane', get(out), get(sum), 0));
    f.add(out, get(outStep));
    f.add(source, get(step));
  });
}

/** The number of vectors summed together, to hide the latency of additions. */
export const vectorsAtOnce = 4;

/**
 * (source, vectors, count, dy, columnTable, columns, sumColumns, out, accumulates): for each of `count` vectors of up
 * to four adjacent taps, given by three words in memory (offset in the source, byte in the result, taps), the sum
 * over the positions of dy · source, `sumColumns` at a time. `count` is a multiple of `vectorsAtOnce`. Reads four
 * elements regardless of the number of taps.
 */
export function directGradRow(f: FunctionBuilder): void {
  const [source, vectors, count, dy, columnTable, columns, sumColumns, out, accumulates] =
    f.params(9);
  const [columnsLeft, left, at, column, dyAt, started] = f.locals('i32', 6);
  const indices = Array.from({ length: vectorsAtOnce }, (_, i) => i);
  const offsets = indices.map(() => f.local('i32'));
  const sums = indices.map(() => f.local('v128'));
  const factor = f.local('v128');
  const to = f.local('i32');

  const storeLanes = (): void => {
    sums.forEach((sum, i) => {
      f.set(to, op('i32.add', get(out), load('i32.load', get(vectors), i * 12 + 4)));
      for (let tap = 0; tap < 4; tap++) {
        const isOne = op('i32.gt_s', load('i32.load', get(vectors), i * 12 + 8), i32(tap));
        f.if(isOne, () => {
          const laneSum: Code = lane('f32x4.extract_lane', tap, get(sum));
          f.if(
            get(started),
            () => {
              const added = op('f32.add', load('f32.load', get(to), tap * 4), laneSum);
              f.emit(store('f32.store', get(to), added, tap * 4));
            },
            () => f.emit(store('f32.store', get(to), laneSum, tap * 4)),
          );
        });
      }
    });
  };
  f.countDown(count, vectorsAtOnce, () => {
    offsets.forEach((offset, i) => {
      f.set(offset, op('i32.add', get(source), load('i32.load', get(vectors), i * 12)));
    });
    f.set(columnsLeft, get(columns));
    f.set(column, get(columnTable));
    f.set(dyAt, get(dy));
    f.set(started, get(accumulates));
    f.while(op('i32.gt_s', get(columnsLeft), i32(0)), () => {
      const isLast = op('i32.lt_s', get(columnsLeft), get(sumColumns));
      f.set(left, op('select', get(columnsLeft), get(sumColumns), isLast));
      f.set(columnsLeft, op('i32.sub', get(columnsLeft), get(sumColumns)));
      for (const sum of sums) f.set(sum, f32x4(0));
      f.countDown(left, 1, () => {
        f.set(factor, load('v128.load32_splat', get(dyAt)));
        f.set(at, load('i32.load', get(column)));
        sums.forEach((sum, i) => {
          const value = load('v128.load', op('i32.add', get(offsets[i]!), get(at)));
          f.set(sum, mulAdd(get(factor), value, get(sum)));
        });
        f.add(dyAt, 4);
        f.add(column, 4);
      });
      storeLanes();
      f.set(started, i32(1));
    });
    f.add(vectors, vectorsAtOnce * 12);
  });
}
