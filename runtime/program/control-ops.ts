import { InvariantError } from '../errors/invariant.ts';
import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import { definedOp, type OpRecord } from '../ops/record/define-op.ts';
import type { DType } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import { listOps } from './list-ops.ts';
import { earlierSum, fillMissing, isThere } from './optional-gradients.ts';
import type { Region } from './program.ts';

/**
 * Ops with programs inside. They are in no table: no function of the tensor API appends them, and their
 * results follow from their regions.
 */
function controlOp(
  name: 'cond' | 'while' | 'condBackward' | 'whileBackward' | 'call' | 'callBackward',
  { mayRefuse = false } = {},
): OpRecord {
  return {
    name,
    operands: [{ name: 'operands', use: 'data' }],
    variadic: true,
    infer: () => {
      throw new InvariantError(`the results of ${name} follow from its regions`);
    },
    kernel: { kind: 'control', form: name },
    layout: 'any',
    inPlace: false,
    vjp: undefined,
    mayRefuse,
  };
}

/**
 * (condition, ...captured) → (...results, tape). Regions: then, else; each takes all captured values and
 * gives all results. The tape holds what the region that ran has saved for backward.
 */
export const condOp = controlOp('cond');

/**
 * (...carried, ...captured) → (...carried at the end, tape). Regions: the condition, which returns one
 * boolean, and the body, which returns the carried values; both take all operands. The tape has one
 * entry per iteration.
 */
export const whileOp = controlOp('while');

/**
 * (tape, ...gradients of the results attr `of`) → gradients of the operands attr `to`. Numbers of `of` from that
 * of the results on represent operands of the regions: what has come to them before, which the gradient continues from.
 */
export const condBackwardOp = controlOp('condBackward');
/** The backward of `while`; attr `carried`: how many of the operands are loop-carried. */
export const whileBackwardOp = controlOp('whileBackward');

/**
 * (...operands) → (...results, tape): a call of the tensor API with data-dependent shapes; its program is
 * built for the shapes that a run has. A shape that the call rejects ends the run, as a failed check does.
 */
export const callOp = controlOp('call', { mayRefuse: true });
/** (tape, ...gradients of the results attr `of`) → gradients of the operands attr `to`. */
export const callBackwardOp = controlOp('callBackward');

/** (tensor of data-dependent shape) → its size in dimension attr `dim`, or (−1) how many elements it has. */
export const dimensionOp: OpRecord = {
  name: 'dimension',
  operands: [{ name: 'tensor', use: 'data' }],
  variadic: false,
  infer: () => [{ dtype: 'float64', shape: [] }],
  kernel: { kind: 'control', form: 'dimension' },
  layout: 'any',
  inPlace: false,
  vjp: undefined,
  flat: true,
};

/** An op that is run for what it does. */
function effectOp(name: 'assert' | 'print'): OpRecord {
  return {
    name,
    operands: [{ name: 'operands', use: 'data' }],
    variadic: true,
    infer: () => [],
    kernel: { kind: 'control', form: name },
    layout: 'any',
    inPlace: false,
    vjp: undefined,
    effect: true,
  };
}

/** (condition) → nothing. Where it is false the run ends, and eager execution throws what the user throws. */
export const assertOp = effectOp('assert');

/**
 * (...values) → nothing. Writes a line as the method attr `method` of the console does; attr `parts` is the
 * list of its arguments as JSON, where `{"value": i}` represents a tensor and `{"number": i}` its element.
 */
export const printOp = effectOp('print');

/**
 * (...numbers) → number or boolean: the native function of that name (attr `fn`, of `scalarFunctions`)
 * on numbers of the program, each one element, float64 or bool. What JavaScript computes of the same
 * numbers, to the last bit.
 */
export const hostNumberOp: OpRecord = {
  name: 'hostNumber',
  operands: [{ name: 'numbers', use: 'data' }],
  variadic: true,
  infer: (inputs, attrs) => {
    const fn = scalarFunctions.get(attrs.fn as string)!;
    const dtype = typeof fn(...inputs.map(() => 1)) === 'boolean' ? 'bool' : 'float64';
    return [{ dtype, shape: [] }];
  },
  kernel: { kind: 'control', form: 'hostNumber' },
  layout: 'any',
  inPlace: false,
  vjp: undefined,
};

/** () → number: what the native function of the name attr `fn` returns now (`numberCalls`). */
export const numberCallOp: OpRecord = {
  name: 'numberCall',
  operands: [],
  variadic: false,
  infer: () => [{ dtype: 'float64', shape: [] }],
  kernel: { kind: 'control', form: 'hostNumber' },
  layout: 'any',
  inPlace: false,
  vjp: undefined,
  effect: true,
};

/**
 * (seed, ...places) → random numbers, as `uniform` and `normal` draw them of the stream at the sum of the
 * places and attr `offset`: where a branch or a loop decides how many were drawn before.
 */
function drawOp(name: 'drawUniform' | 'drawNormal'): OpRecord {
  return {
    name,
    operands: [{ name: 'numbers', use: 'data' }],
    variadic: true,
    infer: (_inputs, { shape, dtype }) => [{ dtype: dtype as DType, shape: shape as Shape }],
    kernel: { kind: 'control', form: 'draw' },
    layout: 'any',
    inPlace: false,
    vjp: undefined,
    flat: true,
  };
}

const drawOps: ReadonlyMap<string, OpRecord> = new Map([
  ['uniform', drawOp('drawUniform')],
  ['normal', drawOp('drawNormal')],
]);

/** The form of a random op whose place in the stream is known only to the program. */
export function placedDraw({ name }: OpRecord): OpRecord {
  const op = drawOps.get(name);
  if (!op) throw new InvariantError(`${name} draws no random numbers`);
  return op;
}

/** The random op that a placed one represents. */
export function drawnBy({ name }: OpRecord): OpRecord {
  return definedOp(name === 'drawUniform' ? 'uniform' : 'normal')!;
}

/** Whether running the op has an observable effect, if only an error, even if its results are unused. */
export function hasEffect({ op, regions }: EffectSite): boolean {
  if (op.inPlace || op.effect || op.mayRefuse) return true;
  return regions?.some(({ program }) => program.ops.some(hasEffect)) ?? false;
}

interface EffectSite {
  readonly op: OpRecord;
  readonly regions?: readonly Region[];
}

/** All of them by name. */
export const controlOps: ReadonlyMap<string, OpRecord> = new Map(
  [
    condOp,
    whileOp,
    condBackwardOp,
    whileBackwardOp,
    callOp,
    callBackwardOp,
    dimensionOp,
    assertOp,
    printOp,
    hostNumberOp,
    numberCallOp,
    ...drawOps.values(),
    ...listOps,
    fillMissing,
    isThere,
    earlierSum,
  ].map((op) => [op.name, op]),
);
