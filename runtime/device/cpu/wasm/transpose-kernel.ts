import { type Code, i32, load, op, shuffle, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { compile, lazily } from './assembler/module-builder.ts';

/** Transposes a 4 × 4 matrix given as four row vectors. */
export function transposeFour(f: FunctionBuilder, rows: readonly Local[]): readonly Code[] {
  const [a, b, c, d] = rows.map(get) as [Code, Code, Code, Code];
  const [lowAB, highAB, lowCD, highCD] = [
    shuffle(a, b, [0, 4, 1, 5]),
    shuffle(a, b, [2, 6, 3, 7]),
    shuffle(c, d, [0, 4, 1, 5]),
    shuffle(c, d, [2, 6, 3, 7]),
  ].map((value) => get(f.local('v128', value))) as [Code, Code, Code, Code];
  return [
    shuffle(lowAB, lowCD, [0, 1, 4, 5]),
    shuffle(lowAB, lowCD, [2, 3, 6, 7]),
    shuffle(highAB, highCD, [0, 1, 4, 5]),
    shuffle(highAB, highCD, [2, 3, 6, 7]),
  ];
}

/**
 * (to, toStep, from, fromStep, rows, columns): to[r, c] = from[c, r] for elements of four bytes; steps are bytes
 * between rows of each matrix. Sixteen rows at a time use whole cache lines.
 */
function transpose(f: FunctionBuilder): void {
  const [to, toStep, from, fromStep, rows, columns] = f.params(6);
  const [target, source, left] = f.locals('i32', 3);
  const corner = [f.local('i32'), f.local('i32')] as const;
  const tile = f.locals('v128', 4);

  const copyTile = (firstRow: number): void => {
    const [at, out] = corner;
    f.set(at, op('i32.add', get(source), i32(firstRow * 4)));
    for (const row of tile) {
      f.set(row, load('v128.load', get(at)));
      f.add(at, get(fromStep));
    }
    f.set(out, op('i32.add', get(target), op('i32.mul', get(toStep), i32(firstRow))));
    for (const column of transposeFour(f, tile)) {
      f.emit(store('v128.store', get(out), column));
      f.add(out, get(toStep));
    }
  };
  const copyColumn = (height: number): void => {
    for (let i = 0; i < height; i++) {
      const out = op('i32.add', get(target), op('i32.mul', get(toStep), i32(i)));
      f.emit(store('i32.store', out, load('i32.load', get(source), i * 4)));
    }
  };
  const rowsAtOnce = (height: number): void => {
    f.countDown(rows, height, () => {
      f.set(target, get(to));
      f.set(source, get(from));
      f.set(left, get(columns));
      if (height >= 4) {
        f.countDown(left, 4, () => {
          for (let first = 0; first < height; first += 4) copyTile(first);
          f.add(source, op('i32.shl', get(fromStep), i32(2)));
          f.add(target, 16);
        });
      }
      f.countDown(left, 1, () => {
        copyColumn(height);
        f.add(source, get(fromStep));
        f.add(target, 4);
      });
      f.add(to, op('i32.mul', get(toStep), i32(height)));
      f.add(from, height * 4);
    });
  };
  for (const height of [16, 4, 1]) rowsAtOnce(height);
}

export const transposeKernels = lazily(() => compile({ transpose }));
