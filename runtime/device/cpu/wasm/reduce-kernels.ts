import { acrossLanes, type Code, f32, f32x4, i32, lane, load, op, store } from './code.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { compile, lazily } from './module-builder.ts';

interface Reducer {
  readonly vector: 'f32x4.add' | 'f32x4.mul' | 'f32x4.max' | 'f32x4.min';
  readonly scalar: 'f32.add' | 'f32.mul' | 'f32.max' | 'f32.min';
  readonly identity: number;
}

/** WebAssembly's max and min propagate NaN, as PyTorch's do. */
const reducers = {
  sum: { vector: 'f32x4.add', scalar: 'f32.add', identity: 0 },
  prod: { vector: 'f32x4.mul', scalar: 'f32.mul', identity: 1 },
  max: { vector: 'f32x4.max', scalar: 'f32.max', identity: Number.NEGATIVE_INFINITY },
  min: { vector: 'f32x4.min', scalar: 'f32.min', identity: Number.POSITIVE_INFINITY },
} as const satisfies Record<string, Reducer>;

/**
 * Each accumulator takes this many elements; as many of its results are added up apart from the rest,
 * and only then join the total. So a sum of a million equal numbers is off by 1e-6, not by 1e-3.
 */
const chunk = 64;

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
 * (out, outStep, from, rowStep, columnStep, rows, columns, accumulate), steps in bytes:
 * out[r] = out[r] if accumulate, combined with from[r, c] for every column c.
 */
function reduceMatrix(reducer: Reducer) {
  return (f: FunctionBuilder): void => {
    const [out, outStep, from, rowStep, columnStep, rows, columns, accumulate] = Array.from(
      { length: 8 },
      () => f.param(),
    ) as [Local, Local, Local, Local, Local, Local, Local, Local];
    const params = { out, outStep, from, rowStep, columnStep, rows, columns, accumulate };
    const isAdjacent = op('i32.eq', get(columnStep), i32(4));
    f.if(op('i32.and', isAdjacent, op('i32.ge_u', get(columns), i32(16))), () =>
      alongColumns(f, reducer, params),
    );
    const outputsAdjacent = op('i32.eq', get(outStep), i32(4));
    f.if(op('i32.and', op('i32.eq', get(rowStep), i32(4)), outputsAdjacent), () => {
      severalRows(f, reducer, params, 4);
      severalRows(f, reducer, params, 1);
    });
    oneByOne(f, reducer, params);
  };
}

function combineScalar(reducer: Reducer, a: Code, b: Code): Code {
  return op(reducer.scalar, a, b);
}

/** Chunks of up to `size` of `left`: `body` gets a counter that it must count down to 0. */
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

/** Columns are adjacent: four vectors of partial results run along each row. */
function alongColumns(f: FunctionBuilder, reducer: Reducer, p: Params): void {
  const parts = [0, 1, 2, 3].map(() => f.local('v128'));
  const middle = f.local('v128');
  const combine = (a: Code, b: Code) => op(reducer.vector, a, b);
  const total = f.local('f32');
  const rest = f.local('f32');
  const left = f.local('i32');
  const at = f.local('i32');
  f.countDown(p.rows, 1, () => {
    f.set(at, get(p.from));
    f.set(left, get(p.columns));
    f.set(total, f32(reducer.identity));
    const part = (chunkLeft: Local) => {
      for (const part of parts) f.set(part, f32x4(reducer.identity));
      f.countDown(chunkLeft, 16, () => {
        parts.forEach((part, i) => {
          f.set(part, combine(get(part), load('v128.load', get(at), i * 16)));
        });
        f.add(at, 64);
      });
      const [a, b, c, d] = parts.map(get) as [Code, Code, Code, Code];
      f.set(parts[0]!, combine(combine(a, b), combine(c, d)));
      f.set(middle, combine(get(middle), get(parts[0]!)));
    };
    byLevels(f, left, 16, {
      clearMiddle: () => f.set(middle, f32x4(reducer.identity)),
      part,
      joinMiddle: () => {
        const result = lane('f32x4.extract_lane', 0, acrossLanes(combine, get(middle)));
        f.set(total, combineScalar(reducer, get(total), result));
      },
    });
    f.set(rest, f32(reducer.identity));
    f.countDown(left, 1, () => {
      f.set(rest, combineScalar(reducer, get(rest), load('f32.load', get(at))));
      f.add(at, 4);
    });
    f.set(total, combineScalar(reducer, get(total), get(rest)));
    finishRow(f, reducer, p, total);
  });
}

function finishRow(f: FunctionBuilder, reducer: Reducer, p: Params, total: Local): void {
  f.if(get(p.accumulate), () =>
    f.set(total, combineScalar(reducer, load('f32.load', get(p.out)), get(total))),
  );
  f.emit(store('f32.store', get(p.out), get(total)));
  f.add(p.out, get(p.outStep));
  f.add(p.from, get(p.rowStep));
}

/** Rows are adjacent: `count` vectors of four rows go down the columns together. */
function severalRows(f: FunctionBuilder, reducer: Reducer, p: Params, count: number): void {
  const indices = Array.from({ length: count }, (_, i) => i);
  const totals = indices.map(() => f.local('v128'));
  const middles = indices.map(() => f.local('v128'));
  const parts = indices.map(() => f.local('v128'));
  const clear = (vectors: readonly Local[]) => {
    for (const vector of vectors) f.set(vector, f32x4(reducer.identity));
  };
  const join = (into: readonly Local[], from: readonly Local[]) => {
    into.forEach((vector, i) => {
      f.set(vector, op(reducer.vector, get(vector), get(from[i]!)));
    });
  };
  const left = f.local('i32');
  const at = f.local('i32');
  f.countDown(p.rows, count * 4, () => {
    f.set(at, get(p.from));
    f.set(left, get(p.columns));
    clear(totals);
    const part = (chunkLeft: Local) => {
      clear(parts);
      f.countDown(chunkLeft, 1, () => {
        parts.forEach((part, i) => {
          f.set(part, op(reducer.vector, get(part), load('v128.load', get(at), i * 16)));
        });
        f.add(at, get(p.columnStep));
      });
      join(middles, parts);
    };
    const [clearMiddle, joinMiddle] = [() => clear(middles), () => join(totals, middles)];
    byLevels(f, left, 1, { clearMiddle, part, joinMiddle });
    f.if(get(p.accumulate), () => {
      totals.forEach((total, i) => {
        f.set(total, op(reducer.vector, load('v128.load', get(p.out), i * 16), get(total)));
      });
    });
    totals.forEach((total, i) => {
      f.emit(store('v128.store', get(p.out), get(total), i * 16));
    });
    f.add(p.out, count * 16);
    f.add(p.from, count * 16);
  });
}

/** Any strides. */
function oneByOne(f: FunctionBuilder, reducer: Reducer, p: Params): void {
  const total = f.local('f32');
  const middle = f.local('f32');
  const part = f.local('f32');
  const left = f.local('i32');
  const at = f.local('i32');
  f.countDown(p.rows, 1, () => {
    f.set(at, get(p.from));
    f.set(left, get(p.columns));
    f.set(total, f32(reducer.identity));
    byLevels(f, left, 1, {
      clearMiddle: () => f.set(middle, f32(reducer.identity)),
      part: (chunkLeft) => {
        f.set(part, f32(reducer.identity));
        f.countDown(chunkLeft, 1, () => {
          f.set(part, combineScalar(reducer, get(part), load('f32.load', get(at))));
          f.add(at, get(p.columnStep));
        });
        f.set(middle, combineScalar(reducer, get(middle), get(part)));
      },
      joinMiddle: () => f.set(total, combineScalar(reducer, get(total), get(middle))),
    });
    finishRow(f, reducer, p, total);
  });
}

export const reduceKernels = lazily(() =>
  compile({
    sum: reduceMatrix(reducers.sum),
    prod: reduceMatrix(reducers.prod),
    max: reduceMatrix(reducers.max),
    min: reduceMatrix(reducers.min),
  }),
);
