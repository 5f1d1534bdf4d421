/** Normalization of runs of adjacent elements, four at a time; `scalar/standardize.ts` is the readable version. */

import { acrossLanes, type Code, f32x4, memoryLane, op } from './assembler/code.ts';
import {
  type FunctionBuilder,
  get,
  type Local,
  type Locals,
} from './assembler/function-builder.ts';
import { compile, lazily } from './assembler/module-builder.ts';
import { along } from './runs-of-four.ts';
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

function storeTotal(f: FunctionBuilder, sum: Local, to: Local, offset: number): void {
  f.set(sum, acrossLanes(add, get(sum)));
  f.emit(memoryLane('v128.store32_lane', get(to), get(sum), 0, offset));
}

/** Declares float32 parameters, each splat into all lanes of a vector. */
function splatParams<N extends number>(f: FunctionBuilder, count: N): Locals<N> {
  const params: readonly Local[] = f.params(count, 'f32');
  return params.map((each) => f.local('v128', splat(each))) as Locals<N>;
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

/** (dy, x, weight if each has one, count, to, shift): Σ dy · weight and Σ dy · weight · (x − shift) at `to`. */
function gradMoments(f: FunctionBuilder, isEach: boolean): void {
  const reads = f.params(isEach ? 3 : 2);
  const [count, to] = f.params(2);
  const [shift] = f.params(1, 'f32');
  const by = f.local('v128', splat(shift));
  const [sum, products] = [f.local('v128', f32x4(0)), f.local('v128', f32x4(0))];
  along(f, count, reads, null, ({ values: [gradient, value, weight], once }) => {
    const scaled = f.local('v128', once(weight ? mul(gradient!, weight) : gradient!));
    f.set(sum, add(get(sum), get(scaled)));
    f.set(products, add(get(products), mul(get(scaled), sub(value!, get(by)))));
    return null;
  });
  storeTotal(f, sum, to, 0);
  storeTotal(f, products, to, 4);
}

/**
 * (dy, x, weight if each has one, count, dx, mean, scale, shift, slope, else factor): scale · (dy · factor − shift −
 * (x − mean) · slope), where an element's weight is its factor.
 */
function gradient(f: FunctionBuilder, isEach: boolean): void {
  const reads = f.params(isEach ? 3 : 2);
  const [count, dx] = f.params(2);
  const factors: readonly Local[] = splatParams(f, isEach ? 4 : 5);
  const [mean, scale, shift, slope] = factors as Locals<4>;
  const factor = factors[4];
  along(f, count, reads, dx, ({ values: [gradient, value, weight] }) => {
    const rest = sub(mul(gradient!, factor ? get(factor) : weight!), get(shift));
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
    gradMomentsRun: (f) => gradMoments(f, false),
    gradMomentsEach: (f) => gradMoments(f, true),
    gradRun: (f) => gradient(f, false),
    gradEach: (f) => gradient(f, true),
    addWeightGrad,
    standardizeGroups,
    standardizeGroupsByStats,
    standardizeGradGroups,
    addWeightGradRows,
    weightGradRuns,
  }),
);
