/** Normalization of runs of adjacent elements, four at a time; `scalar/standardize.ts` is the readable version. */

import {
  acrossLanes,
  type Code,
  f32x4,
  i32,
  i32x4,
  lane,
  load,
  memoryLane,
  op,
  store,
} from './assembler/code.ts';
import {
  type FunctionBuilder,
  get,
  type Local,
  type Locals,
} from './assembler/function-builder.ts';
import { compile, lazily } from './assembler/module-builder.ts';
import {
  addWeightGradRows,
  standardizeGradGroups,
  standardizeGroups,
  standardizeGroupsByStats,
  weightGradRuns,
} from './standardize-groups.ts';

const add = (a: Code, b: Code): Code => op('f32x4.add', a, b);
const sub = (a: Code, b: Code): Code => op('f32x4.sub', a, b);
const mul = (a: Code, b: Code): Code => op('f32x4.mul', a, b);
const splat = (x: Local): Code => op('f32x4.splat', get(x));

interface Turn {
  readonly values: readonly Code[];
  /** Clears the lanes that repeat a tail element. */
  readonly once: (value: Code) => Code;
}

/** Iterates over `reads`, then over the remaining elements one by one; `body` returns what to store at `to`. */
function along(
  f: FunctionBuilder,
  count: Local,
  reads: readonly Local[],
  to: Local | null,
  body: (turn: Turn) => Code | null,
): void {
  const firstLane = f.local('v128');
  f.set(firstLane, lane('i32x4.replace_lane', 0, i32x4(0), i32(-1)));
  const values = reads.map(() => f.local('v128'));
  const turn = (width: 4 | 1) => () => {
    reads.forEach((read, i) => {
      f.set(values[i]!, load(width === 4 ? 'v128.load' : 'v128.load32_splat', get(read)));
      if (read !== to) f.add(read, width * 4);
    });
    const once = (value: Code): Code =>
      width === 4 ? value : op('v128.and', value, get(firstLane));
    const result = body({ values: values.map(get), once });
    if (!result || !to) return;
    const stored = f.local('v128', result);
    f.emit(
      width === 4
        ? store('v128.store', get(to), get(stored))
        : memoryLane('v128.store32_lane', get(to), get(stored), 0),
    );
    f.add(to, width * 4);
  };
  f.countDown(count, 4, turn(4));
  f.countDown(count, 1, turn(1));
}

function storeTotal(f: FunctionBuilder, sum: Local, to: Local, offset: number): void {
  f.set(sum, acrossLanes(add, get(sum)));
  f.emit(memoryLane('v128.store32_lane', get(to), get(sum), 0, offset));
}

/** Declares float32 parameters, each splat into all lanes of a vector. */
function splatParams<N extends number>(f: FunctionBuilder, count: N): Locals<N> {
  const params: readonly Local[] = f.params(count, 'f32');
  return params.map((own) => f.local('v128', splat(own))) as Locals<N>;
}

/** (x, count, to, shift): Σ (x − shift) and Σ (x − shift)² at `to`. */
function moments(f: FunctionBuilder): void {
  const [x, count, to] = f.params(3);
  const [shift] = f.params(1, 'f32');
  const by = f.local('v128', splat(shift));
  const [sum, squares] = [f.local('v128', f32x4(0)), f.local('v128', f32x4(0))];
  along(f, count, [x], null, ({ values: [value], once }) => {
    const distance = f.local('v128', once(sub(value!, get(by))));
    f.set(sum, add(get(sum), get(distance)));
    f.set(squares, add(get(squares), mul(get(distance), get(distance))));
    return null;
  });
  storeTotal(f, sum, to, 0);
  storeTotal(f, squares, to, 4);
}

/** (x, count, out, shift, factor, added): (x − shift) · factor + added */
function scaleRun(f: FunctionBuilder): void {
  const [x, count, out] = f.params(3);
  const [shift, factor, added] = splatParams(f, 3);
  along(f, count, [x], out, ({ values: [value] }) =>
    add(mul(sub(value!, get(shift)), get(factor)), get(added)),
  );
}

/** (x, weight, bias, count, out, shift, scale): (x − shift) · (scale · weight) + bias */
function scaleEach(f: FunctionBuilder): void {
  const [x, weight, bias, count, out] = f.params(5);
  const [shift, scale] = splatParams(f, 2);
  along(f, count, [x, weight, bias], out, ({ values: [value, w, b] }) =>
    add(mul(sub(value!, get(shift)), mul(get(scale), w!)), b!),
  );
}

/** (dy, x, count, to, shift): Σ dy and Σ dy · (x − shift) at `to`. */
function gradMomentsRun(f: FunctionBuilder): void {
  const [dy, x, count, to] = f.params(4);
  const [shift] = f.params(1, 'f32');
  const by = f.local('v128', splat(shift));
  const [sum, products] = [f.local('v128', f32x4(0)), f.local('v128', f32x4(0))];
  along(f, count, [dy, x], null, ({ values: [gradient, value], once }) => {
    const own = f.local('v128', once(gradient!));
    f.set(sum, add(get(sum), get(own)));
    f.set(products, add(get(products), mul(get(own), sub(value!, get(by)))));
    return null;
  });
  storeTotal(f, sum, to, 0);
  storeTotal(f, products, to, 4);
}

/** (dy, x, weight, count, to, shift): the moments of dy · weight. */
function gradMomentsEach(f: FunctionBuilder): void {
  const [dy, x, weight, count, to] = f.params(5);
  const [shift] = f.params(1, 'f32');
  const by = f.local('v128', splat(shift));
  const [sum, products] = [f.local('v128', f32x4(0)), f.local('v128', f32x4(0))];
  along(f, count, [dy, x, weight], null, ({ values: [gradient, value, w], once }) => {
    const own = f.local('v128', once(mul(gradient!, w!)));
    f.set(sum, add(get(sum), get(own)));
    f.set(products, add(get(products), mul(get(own), sub(value!, get(by)))));
    return null;
  });
  storeTotal(f, sum, to, 0);
  storeTotal(f, products, to, 4);
}

/** (dy, x, count, dx, mean, factor, scale, shift, slope): scale · (dy · factor − shift − (x − mean) · slope) */
function gradRun(f: FunctionBuilder): void {
  const [dy, x, count, dx] = f.params(4);
  const [mean, factor, scale, shift, slope] = splatParams(f, 5);
  along(f, count, [dy, x], dx, ({ values: [gradient, value] }) => {
    const rest = sub(mul(gradient!, get(factor)), get(shift));
    return mul(get(scale), sub(rest, mul(sub(value!, get(mean)), get(slope))));
  });
}

/** (dy, x, weight, count, dx, mean, scale, shift, slope): the gradient with a weight per element. */
function gradEach(f: FunctionBuilder): void {
  const [dy, x, weight, count, dx] = f.params(5);
  const [mean, scale, shift, slope] = splatParams(f, 4);
  along(f, count, [dy, x, weight], dx, ({ values: [gradient, value, w] }) => {
    const rest = sub(mul(gradient!, w!), get(shift));
    return mul(get(scale), sub(rest, mul(sub(value!, get(mean)), get(slope))));
  });
}

/** (dy, x, count, dw, mean, scale): dw += dy · (x − mean) · scale */
function addWeightGrad(f: FunctionBuilder): void {
  const [dy, x, count, dw] = f.params(4);
  const [mean, scale] = splatParams(f, 2);
  along(f, count, [dy, x, dw], dw, ({ values: [gradient, value, sum] }) =>
    add(sum!, mul(mul(gradient!, sub(value!, get(mean))), get(scale))),
  );
}

export const standardizeKernels = lazily(() =>
  compile({
    moments,
    scaleRun,
    scaleEach,
    gradMomentsRun,
    gradMomentsEach,
    gradRun,
    gradEach,
    addWeightGrad,
    standardizeGroups,
    standardizeGroupsByStats,
    standardizeGradGroups,
    addWeightGradRows,
    weightGradRuns,
  }),
);
