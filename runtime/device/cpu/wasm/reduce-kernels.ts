import { sumBlock } from '../../../numerics/blocks.ts';
import {
  acrossLanes,
  type Code,
  callCode,
  f32,
  f32x4,
  f64,
  f64x2,
  i32,
  i32x4,
  lane,
  load,
  op,
  store,
} from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { compileWhenRead, lazily, localIndex } from './assembler/module-builder.ts';

type NumberType = 'f32' | 'f64' | 'i32';

/** A dtype whose reductions are generated. */
export type ReducedDType = 'float32' | 'float64' | 'int32';

/** How one dtype is folded: its instructions and constants. */
interface Reducer {
  readonly type: NumberType;
  readonly bytes: number;
  /** The elements of a vector. */
  readonly lanes: number;
  readonly vector: (a: Code, b: Code) => Code;
  readonly scalar: (a: Code, b: Code) => Code;
  readonly identity: Code;
  readonly identities: Code;
  readonly load: (address: Code) => Code;
  readonly store: (address: Code, value: Code) => Code;
  /** Combines all lanes of a vector, which is evaluated repeatedly, into one number. */
  readonly across: (vector: Local) => Code;
}

type FoldOp = 'add' | 'mul' | 'max' | 'min';

/** WebAssembly's max and min propagate NaN, like PyTorch's. int32 sums and products wrap. */
const folds = {
  sum: ['add', 0],
  prod: ['mul', 1],
  max: ['max', Number.NEGATIVE_INFINITY],
  min: ['min', Number.POSITIVE_INFINITY],
} as const satisfies Record<string, readonly [FoldOp, number]>;

function floatReducer(type: 'f32' | 'f64', [fold, identity]: readonly [FoldOp, number]): Reducer {
  const isSingle = type === 'f32';
  const vectorType = isSingle ? 'f32x4' : 'f64x2';
  const vector = (a: Code, b: Code) => op(`${vectorType}.${fold}`, a, b);
  const scalar = (a: Code, b: Code) => op(`${type}.${fold}`, a, b);
  const first = (values: Code) => lane(`${vectorType}.extract_lane`, 0, values);
  return {
    type,
    bytes: isSingle ? 4 : 8,
    lanes: isSingle ? 4 : 2,
    vector,
    scalar,
    identity: isSingle ? f32(identity) : f64(identity),
    identities: isSingle ? f32x4(identity) : f64x2(identity),
    load: (address) => load(`${type}.load`, address),
    store: (address, value) => store(`${type}.store`, address, value),
    across: (values) =>
      isSingle
        ? first(acrossLanes(vector, get(values)))
        : scalar(first(get(values)), lane('f64x2.extract_lane', 1, get(values))),
  };
}

function intReducer([fold, bound]: readonly [FoldOp, number]): Reducer {
  const identity = Math.max(-(2 ** 31), Math.min(bound, 2 ** 31 - 1));
  const isExtreme = fold === 'max' || fold === 'min';
  const vector = (a: Code, b: Code) => op(isExtreme ? `i32x4.${fold}_s` : `i32x4.${fold}`, a, b);
  const comparison = fold === 'max' ? 'i32.gt_s' : 'i32.lt_s';
  return {
    type: 'i32',
    bytes: 4,
    lanes: 4,
    vector,
    scalar: (a, b) =>
      isExtreme ? op('select', a, b, op(comparison, a, b)) : op(`i32.${fold}`, a, b),
    identity: i32(identity),
    identities: i32x4(identity),
    load: (address) => load('i32.load', address),
    store: (address, value) => store('i32.store', address, value),
    across: (values) => lane('i32x4.extract_lane', 0, acrossLanes(vector, get(values))),
  };
}

const reducerOf = (type: NumberType, fold: readonly [FoldOp, number]): Reducer =>
  type === 'i32' ? intReducer(fold) : floatReducer(type, fold);

/**
 * Each accumulator sums this many elements; the same number of its results is summed separately before being added to
 * the total. So the error of a sum of a million equal numbers is 1e-6, not 1e-3.
 */
const chunk = sumBlock;

interface Params {
  readonly out: Local;
  readonly outStep: Local;
  readonly from: Local;
  readonly rowStep: Local;
  readonly columnStep: Local;
  readonly rows: Local;
  readonly columns: Local;
  readonly accumulate: Local;
}

/**
 * (out, outStep, from, rowStep, columnStep, rows, columns, accumulate), steps in bytes: out[r] = out[r] if
 * accumulate, combined with from[r, c] for every column c.
 */
function reduceMatrix(reducer: Reducer) {
  return (f: FunctionBuilder): void => {
    const [out, outStep, from, rowStep, columnStep, rows, columns, accumulate] = f.params(8);
    const params = { out, outStep, from, rowStep, columnStep, rows, columns, accumulate };
    const isAdjacent = op('i32.eq', get(columnStep), i32(reducer.bytes));
    f.if(op('i32.and', isAdjacent, op('i32.ge_u', get(columns), i32(4 * reducer.lanes))), () =>
      alongColumns(f, reducer, params),
    );
    const outputsAdjacent = op('i32.eq', get(outStep), i32(reducer.bytes));
    f.if(op('i32.and', op('i32.eq', get(rowStep), i32(reducer.bytes)), outputsAdjacent), () => {
      severalRows(f, reducer, params, 8);
      severalRows(f, reducer, params, 4);
      severalRows(f, reducer, params, 1);
    });
    oneByOne(f, reducer, params);
  };
}

/** Splits `left` into chunks of up to `size`; `body` must count the counter that it receives down to 0. */
function forEachChunk(
  f: FunctionBuilder,
  left: Local,
  atLeast: number,
  size: number,
  body: (chunkLeft: Local) => void,
): void {
  const chunkLeft = f.local('i32');
  f.while(op('i32.ge_u', get(left), i32(atLeast)), () => {
    const whole = op('i32.and', get(left), i32(-atLeast));
    f.set(chunkLeft, op('select', whole, i32(size), op('i32.lt_u', get(left), i32(size))));
    f.set(left, op('i32.sub', get(left), get(chunkLeft)));
    body(chunkLeft);
  });
}

/** Three levels of partial results: `part` fills the accumulators that `join` adds to the next level. */
function byLevels(
  f: FunctionBuilder,
  left: Local,
  atLeast: number,
  levels: {
    readonly clearMiddle: () => void;
    readonly part: (chunkLeft: Local) => void;
    readonly joinMiddle: () => void;
  },
): void {
  forEachChunk(f, left, atLeast, chunk * chunk * atLeast, (middleLeft) => {
    levels.clearMiddle();
    forEachChunk(f, middleLeft, atLeast, chunk * atLeast, levels.part);
    levels.joinMiddle();
  });
}

/** For adjacent columns: four vectors of partial results run along each row. */
function alongColumns(f: FunctionBuilder, reducer: Reducer, p: Params): void {
  const parts = f.locals('v128', 4);
  const middle = f.local('v128');
  const combine = reducer.vector;
  const total = f.local(reducer.type);
  const rest = f.local(reducer.type);
  const step = 4 * reducer.lanes;
  const left = f.local('i32');
  const at = f.local('i32');
  f.countDown(p.rows, 1, () => {
    f.set(at, get(p.from));
    f.set(left, get(p.columns));
    f.set(total, reducer.identity);
    const part = (chunkLeft: Local) => {
      for (const part of parts) f.set(part, reducer.identities);
      f.countDown(chunkLeft, step, () => {
        parts.forEach((part, i) => {
          f.set(part, combine(get(part), load('v128.load', get(at), i * 16)));
        });
        f.add(at, 64);
      });
      const [a, b, c, d] = parts.map(get) as [Code, Code, Code, Code];
      f.set(parts[0]!, combine(combine(a, b), combine(c, d)));
      f.set(middle, combine(get(middle), get(parts[0]!)));
    };
    byLevels(f, left, step, {
      clearMiddle: () => f.set(middle, reducer.identities),
      part,
      joinMiddle: () => {
        f.set(total, reducer.scalar(get(total), reducer.across(middle)));
      },
    });
    f.set(rest, reducer.identity);
    f.countDown(left, 1, () => {
      f.set(rest, reducer.scalar(get(rest), reducer.load(get(at))));
      f.add(at, reducer.bytes);
    });
    f.set(total, reducer.scalar(get(total), get(rest)));
    finishRow(f, reducer, p, total);
  });
}

function finishRow(f: FunctionBuilder, reducer: Reducer, p: Params, total: Local): void {
  f.if(get(p.accumulate), () => f.set(total, reducer.scalar(reducer.load(get(p.out)), get(total))));
  f.emit(reducer.store(get(p.out), get(total)));
  f.add(p.out, get(p.outStep));
  f.add(p.from, get(p.rowStep));
}

/** For adjacent rows: `count` vectors of rows run over the columns together. */
function severalRows(f: FunctionBuilder, reducer: Reducer, p: Params, count: number): void {
  const indices = Array.from({ length: count }, (_, i) => i);
  const totals = indices.map(() => f.local('v128'));
  const middles = indices.map(() => f.local('v128'));
  const parts = indices.map(() => f.local('v128'));
  const clear = (vectors: readonly Local[]) => {
    for (const vector of vectors) f.set(vector, reducer.identities);
  };
  const join = (into: readonly Local[], from: readonly Local[]) => {
    into.forEach((vector, i) => {
      f.set(vector, reducer.vector(get(vector), get(from[i]!)));
    });
  };
  const left = f.local('i32');
  const at = f.local('i32');
  f.countDown(p.rows, count * reducer.lanes, () => {
    f.set(at, get(p.from));
    f.set(left, get(p.columns));
    clear(totals);
    const part = (chunkLeft: Local) => {
      clear(parts);
      f.countDown(chunkLeft, 1, () => {
        parts.forEach((part, i) => {
          f.set(part, reducer.vector(get(part), load('v128.load', get(at), i * 16)));
        });
        f.add(at, get(p.columnStep));
      });
      join(middles, parts);
    };
    const [clearMiddle, joinMiddle] = [() => clear(middles), () => join(totals, middles)];
    byLevels(f, left, 1, { clearMiddle, part, joinMiddle });
    f.if(get(p.accumulate), () => {
      totals.forEach((total, i) => {
        f.set(total, reducer.vector(load('v128.load', get(p.out), i * 16), get(total)));
      });
    });
    totals.forEach((total, i) => {
      f.emit(store('v128.store', get(p.out), get(total), i * 16));
    });
    f.add(p.out, count * 16);
    f.add(p.from, count * 16);
  });
}

/** For any strides. */
function oneByOne(f: FunctionBuilder, reducer: Reducer, p: Params): void {
  const total = f.local(reducer.type);
  const middle = f.local(reducer.type);
  const part = f.local(reducer.type);
  const left = f.local('i32');
  const at = f.local('i32');
  f.countDown(p.rows, 1, () => {
    f.set(at, get(p.from));
    f.set(left, get(p.columns));
    f.set(total, reducer.identity);
    byLevels(f, left, 1, {
      clearMiddle: () => f.set(middle, reducer.identity),
      part: (chunkLeft) => {
        f.set(part, reducer.identity);
        f.countDown(chunkLeft, 1, () => {
          f.set(part, reducer.scalar(get(part), reducer.load(get(at))));
          f.add(at, get(p.columnStep));
        });
        f.set(middle, reducer.scalar(get(middle), get(part)));
      },
      joinMiddle: () => f.set(total, reducer.scalar(get(total), get(middle))),
    });
    finishRow(f, reducer, p, total);
  });
}

/**
 * (…, count, step): calls the module's function `position`, whose parameters come first, for `count` matrices that
 * are `step` bytes apart, and combines the results in order.
 */
function reduceMatrices(position: number) {
  return (f: FunctionBuilder): void => {
    const params = f.params(8);
    const [, , from, , , , , accumulate] = params as Local[];
    const [count, step] = [f.param(), f.param()];
    f.countDown(count, 1, () => {
      f.emit(callCode(localIndex(position), ...params.map(get)));
      f.add(from!, get(step));
      f.set(accumulate!, i32(1));
    });
  };
}

type Fold = keyof typeof folds;

function kernelsOf(type: NumberType) {
  const names = ['sum', 'prod', 'max', 'min'] as const;
  const pairs = names.map((name) => ({
    [name]: reduceMatrix(reducerOf(type, folds[name])),
    [`${name}s`]: reduceMatrices(0),
  }));
  return compileWhenRead<Fold | `${Fold}s`>(pairs);
}

/** The number of adjacent elements processed in vectors; the remainder is added separately. */
const vectorStep = { float32: 16, float64: 8, int32: 16 } as const;

/** Whether the kernel processes a row's columns in vectors, whose partial sums differ from one-by-one sums. */
export function inVectors(dtype: ReducedDType, columns: number, step: number): boolean {
  return step === 1 && columns >= vectorStep[dtype];
}

/** Returns the pieces of a row whose totals the kernel adds, which may be passed separately. */
export function rowPieces(
  dtype: ReducedDType,
  columns: number,
  isInVectors: boolean,
): readonly number[] {
  const step = isInVectors ? vectorStep[dtype] : 1;
  const most = chunk * chunk * step;
  const whole = columns - (columns % step);
  const pieces: number[] = [];
  for (let at = 0; at < whole; at += most) pieces.push(Math.min(most, whole - at));
  if (whole < columns) pieces.push(columns - whole);
  return pieces;
}

export const reduceKernels = {
  float32: lazily(() => kernelsOf('f32')),
  float64: lazily(() => kernelsOf('f64')),
  int32: lazily(() => kernelsOf('i32')),
} as const;
