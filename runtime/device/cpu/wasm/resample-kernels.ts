import { type Code, f64, f64x2, i32, load, op, store } from './assembler/code.ts';
import { doubleOf, rounded, upper } from './assembler/double-vectors.ts';
import {
  type FunctionBuilder,
  get,
  type Local,
  type Locals,
} from './assembler/function-builder.ts';
import { compileWhenRead, lazily } from './assembler/module-builder.ts';

/** Bytes of a tap in the table: where its entry starts, and its weight as float64. */
export const tapBytes = 16;
const weightAt = 8;

/** Where an entry is read and written, the distance between entries, and a loop over the entry's taps. */
interface Entry {
  readonly from: Local;
  readonly to: Local;
  readonly stride: Local;
  /** Calls `body` for each tap of the entry that starts at `of`, with the tap and the element `column` bytes on. */
  readonly eachTap: (of: Local, column: Local, body: (tap: Local, at: Local) => void) => void;
}

/**
 * Along one dimension of float32 [outer, size, stride]: (from, to, outer, stepFrom, stepTo, count, stride, counts,
 * taps), steps in bytes. `counts` has the number of taps of each of `count` entries, as int32; `taps` has all taps.
 */
function alongDimension(
  f: FunctionBuilder,
  parameters: Locals<9>,
  entry: (entry: Entry) => void,
): void {
  const [from, to, outer, stepFrom, stepTo, count, stride, counts, taps] = parameters;
  const [left, countAt, ofEntry, first, at, into, rest, tap, element] = f.locals('i32', 9);
  const eachTap: Entry['eachTap'] = (of, column, body) => {
    f.set(rest, get(ofEntry));
    f.set(tap, get(first));
    f.countDown(rest, 1, () => {
      const start = op('i32.add', get(of), load('i32.load', get(tap)));
      f.set(element, op('i32.add', start, get(column)));
      body(tap, element);
      f.add(tap, tapBytes);
    });
  };
  f.countDown(outer, 1, () => {
    f.set(left, get(count));
    f.set(countAt, get(counts));
    f.set(first, get(taps));
    f.set(at, get(from));
    f.set(into, get(to));
    f.countDown(left, 1, () => {
      f.set(ofEntry, load('i32.load', get(countAt)));
      entry({ from: at, to: into, stride, eachTap });
      f.add(countAt, 4);
      f.set(first, op('i32.add', get(first), op('i32.mul', get(ofEntry), i32(tapBytes))));
    });
    f.add(from, get(stepFrom));
    f.add(to, get(stepTo));
  });
}

/** Each entry of the result: the sum of its taps in float64, rounded once. */
function resample(f: FunctionBuilder): void {
  const parameters = f.params(9);
  const [columns, column] = f.locals('i32', 2);
  const [low, high, values, weight] = f.locals('v128', 4);
  const total = f.local('f64');
  alongDimension(f, parameters, ({ from, to, stride, eachTap }) => {
    f.set(columns, get(stride));
    f.set(column, i32(0));
    f.countDown(columns, 4, () => {
      f.set(low, f64x2(0));
      f.set(high, f64x2(0));
      eachTap(from, column, (tap, at) => {
        f.set(values, load('v128.load', get(at)));
        f.set(weight, load('v128.load64_splat', get(tap), weightAt));
        const plus = (sum: Local, half: Code): void =>
          f.set(sum, op('f64x2.add', get(sum), op('f64x2.mul', get(weight), doubleOf(half))));
        plus(low, get(values));
        plus(high, upper(get(values)));
      });
      f.emit(store('v128.store', get(to), rounded(get(low), get(high))));
      f.add(to, 16);
      f.add(column, 16);
    });
    f.countDown(columns, 1, () => {
      f.set(total, f64(0));
      eachTap(from, column, (tap, at) => {
        const value = op('f64.promote_f32', load('f32.load', get(at)));
        const term = op('f64.mul', load('f64.load', get(tap), weightAt), value);
        f.set(total, op('f64.add', get(total), term));
      });
      f.emit(store('f32.store', get(to), op('f32.demote_f64', get(total))));
      f.add(to, 4);
      f.add(column, 4);
    });
  });
}

/** Adds each entry of the gradient at its taps, rounded to float32 each time. */
function resampleGrad(f: FunctionBuilder): void {
  const parameters = f.params(9);
  const [columns, column] = f.locals('i32', 2);
  const [values, sums, weight] = f.locals('v128', 3);
  const gradient = f.local('f64');
  alongDimension(f, parameters, ({ from, to, stride, eachTap }) => {
    f.set(columns, get(stride));
    f.set(column, i32(0));
    f.countDown(columns, 4, () => {
      f.set(values, load('v128.load', get(from)));
      eachTap(to, column, (tap, at) => {
        f.set(weight, load('v128.load64_splat', get(tap), weightAt));
        f.set(sums, load('v128.load', get(at)));
        const plus = (sum: Code, half: Code): Code =>
          op('f64x2.add', doubleOf(sum), op('f64x2.mul', get(weight), doubleOf(half)));
        const low = plus(get(sums), get(values));
        const high = plus(upper(get(sums)), upper(get(values)));
        f.emit(store('v128.store', get(at), rounded(low, high)));
      });
      f.add(from, 16);
      f.add(column, 16);
    });
    f.countDown(columns, 1, () => {
      f.set(gradient, op('f64.promote_f32', load('f32.load', get(from))));
      eachTap(to, column, (tap, at) => {
        const term = op('f64.mul', load('f64.load', get(tap), weightAt), get(gradient));
        const sum = op('f64.add', op('f64.promote_f32', load('f32.load', get(at))), term);
        f.emit(store('f32.store', get(at), op('f32.demote_f64', sum)));
      });
      f.add(from, 4);
      f.add(column, 4);
    });
  });
}

export const resampleKernels = lazily(() => compileWhenRead([{ resample }, { resampleGrad }]));
