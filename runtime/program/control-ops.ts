import { InvariantError } from '../errors/invariant.ts';
import { scalarFunctions } from '../ops/numbers/scalar-functions.ts';
import { definedOp, type OpRecord } from '../ops/record/define-op.ts';
import type { DType } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import { listOps } from './list-ops.ts';
import { earlierSum, fillMissing, isThere } from './optional-gradients.ts';
import type { Region } from './program.ts';

/**
 * Defines an op with programs inside. Control ops are in no table: no tensor function appends them, and their
 * results follow from their regions.
 */
function controlOp(
  name: 'cond' | 'while' | 'condBackward' | 'whileBackward' | 'call' | 'callBackward',
  { mayRefuse = false, optional = false } = {},
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
    optional,
  };
}

/**
 * (condition, ...captured) → (...results, tape). Regions: then, else; each takes all captured values and returns
 * all results. The tape contains what the executed region saved for backward.
 */
export const condOp = controlOp('cond');

/**
 * (...carried, ...captured) → (...final carried values, tape). Regions: the condition, which returns one boolean,
 * and the body, which returns the carried values; both take all operands. The tape has one entry per iteration.
 */
export const whileOp = controlOp('while');

/**
 * (tape, ...gradients of the results in attr `of`) → gradients of the operands in attr `to`. Indices in `of`
 * beyond the results denote operands of the regions: their earlier gradient contributions, which the gradient
 * continues from. The gradients that the executed region doesn't produce are missing.
 */
export const condBackwardOp = controlOp('condBackward', { optional: true });
/** The backward of `while`; attr `carried` is the number of loop-carried operands. */
export const whileBackwardOp = controlOp('whileBackward', { optional: true });

/**
 * (...operands) → (...results, tape): a call of the tensor API with data-dependent shapes. Its program is built
 * for the shapes of the run. If the call rejects a shape, the run ends as for a failed check.
 */
export const callOp = controlOp('call', { mayRefuse: true });
/** (tape, ...gradients of the results in attr `of`) → gradients of the operands in attr `to`. */
export const callBackwardOp = controlOp('callBackward', { optional: true });

/** (tensor of data-dependent shape) → the size of dimension attr `dim`, or the number of elements for −1. */
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

/** Defines an op that runs for its effect. */
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

/** (condition) → nothing. If it is false, the run ends, and eager execution throws the user's exception. */
export const assertOp = effectOp('assert');

/**
 * (...values) → nothing. Prints a line with the console method attr `method`. Attr `parts` is the list of its
 * arguments as JSON, where `{"value": i}` represents a tensor and `{"number": i}` its element.
 */
export const printOp = effectOp('print');

/**
 * (...numbers) → number or boolean: calls the native function named by attr `fn` (one of `scalarFunctions`) on
 * graph values of one element each, float64 or bool. Bitwise identical to what JavaScript computes.
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

/** () → number: calls the native function named by attr `fn` (one of `numberCalls`) at run time. */
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
 * (seed, ...places) → random numbers as `uniform` and `normal` draw them, at the stream position that is the sum
 * of the places and attr `offset`. Used where a branch or loop determines how many were drawn before.
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

/** Returns the form of a random op whose stream position is a graph value. */
export function placedDraw({ name }: OpRecord): OpRecord {
  const op = drawOps.get(name);
  if (!op) throw new InvariantError(`${name} draws no random numbers`);
  return op;
}

/** Returns the random op that a placed draw represents. */
export function drawnBy({ name }: OpRecord): OpRecord {
  return definedOp(name === 'drawUniform' ? 'uniform' : 'normal')!;
}

/** Whether running the op has an observable effect, such as an error, even if its results are unused. */
export function hasEffect({ op, regions }: EffectSite): boolean {
  if (op.inPlace || op.effect || op.mayRefuse) return true;
  return regions?.some(({ program }) => program.ops.some(hasEffect)) ?? false;
}

interface EffectSite {
  readonly op: OpRecord;
  readonly regions?: readonly Region[];
}

/** All control ops by name. */
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
