import { i32, load, op, store } from './assembler/code.ts';
import { type FunctionBuilder, get } from './assembler/function-builder.ts';
import { compile, lazily } from './assembler/module-builder.ts';

/**
 * (to, toPlane, toRow, toColumn, from, fromPlane, fromRow, planes, rows, columns): copies float32 planes; steps in
 * bytes. `from`'s columns are adjacent, those of `to` may be spread.
 */
export function copyPlanes(f: FunctionBuilder): void {
  const [to, toPlane, toRow, toColumn, from, fromPlane, fromRow, planes, rows, columns] =
    f.params(10);
  const rowsLeft = f.local('i32');
  const left = f.local('i32');
  const [toAt, fromAt, target, source] = f.locals('i32', 4);
  f.countDown(planes, 1, () => {
    f.set(toAt, get(to));
    f.set(fromAt, get(from));
    f.set(rowsLeft, get(rows));
    f.countDown(rowsLeft, 1, () => {
      f.set(target, get(toAt));
      f.set(source, get(fromAt));
      f.set(left, get(columns));
      f.if(op('i32.eq', get(toColumn), i32(4)), () =>
        f.countDown(left, 4, () => {
          f.emit(store('v128.store', get(target), load('v128.load', get(source))));
          f.add(target, 16);
          f.add(source, 16);
        }),
      );
      f.countDown(left, 1, () => {
        f.emit(store('i32.store', get(target), load('i32.load', get(source))));
        f.add(target, get(toColumn));
        f.add(source, 4);
      });
      f.add(toAt, get(toRow));
      f.add(fromAt, get(fromRow));
    });
    f.add(to, get(toPlane));
    f.add(from, get(fromPlane));
  });
}

export const imageKernels = lazily(() => compile({ copyPlanes }));
