import type { TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { numberLeaves } from '../../runtime/entry/number-expr.ts';
import { badFile } from '../../runtime/save/file/field.ts';
import { contiguousStrides, sameShape } from '../../runtime/spec/shape.ts';
import type { Guard } from '../guards/guard.ts';
import type { NumberExpr } from '../guards/number-expr.ts';
import { dimSource, type Source, strideSource } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import { placedBy, possibleOf, recipesIn, recipesOfFrame, targetsOf } from '../traces/recipes.ts';
import type { FrameRecipe, Recipe } from '../traces/trace-result.ts';
import type { Code } from '../vm/bytecode/code.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Reg } from '../vm/bytecode/instructions.ts';
import type { KeptTrace } from './trace-codec.ts';

/**
 * Verifies that the parts of a trace are consistent: every reference resolves, and guards cover what the program
 * relies on for each input. `frames`: the frames at entry. Throws DataError.
 */
export function verifyTrace(trace: KeptTrace, frames: readonly Frame[]): void {
  const { program, inputs, numbers, needsGrad, differentiable, lost, scalars, makes } = trace;
  const { inputs: taken, outputs, values } = program;
  expect(inputs.length === taken.length && needsGrad.length === taken.length, 'inputs');
  expect(
    trace.viewsOfOne.flat().every((i) => i < inputs.length),
    'inputs',
  );
  expect(differentiable.length === outputs.length && lost.length === outputs.length, 'outputs');
  expect(scalars.inputs().length === numbers.length, 'numbers');
  const isOutput = (index: number) => index < outputs.length;
  const isMake = (index: number) => index < makes.length;
  const sameOnes = trace.same.flatMap(({ output, others }) => [
    output,
    ...others.map(({ index }) => index),
  ]);
  const lists = makes.flatMap((make) => (make.kind === 'list' ? make.outputs : []));
  const rerun = trace.reruns.flatMap((each) => each.outputs);
  const read = [...trace.reads, ...trace.optional, ...sameOnes, ...lists, ...rerun];
  expect(read.every(isOutput), 'outputs');
  const rerunOn = trace.reruns.flatMap((each) => each.made.map(({ index }) => index));
  expect(rerunOn.every(isMake), 'objects that it makes');
  for (const each of recipesOf(trace).flatMap(possibleOf)) {
    if (each.kind === 'output' || each.kind === 'scalar') expect(isOutput(each.index), 'outputs');
    if (each.kind === 'made') expect(isMake(each.index), 'objects that it makes');
    if (each.kind === 'number') expectSizes(each.expr, trace);
  }
  for (const each of trace.guards) if (each.kind === 'number') expectSizes(each.expr, trace);
  const { outcome } = trace;
  const continued = outcome.kind === 'break' ? outcome.frames : [];
  continued.forEach((frame, i) => {
    const caller = continued[i - 1] && codeOf(continued[i - 1]!, frames);
    const isReturned =
      frame.returnTo === undefined || frame.returnTo < (caller?.registerCount ?? 0);
    expect(isWithin(frame, frames) && isReturned, 'instructions');
  });
  const guarded = new Guarded(trace.guards);
  inputs.forEach((source, i) => {
    expect(guarded.guarantees(source, values[taken[i]!]!), 'guards of its inputs');
  });
}

function expect(isThere: boolean, what: string): void {
  if (!isThere) throw badFile('the trace', `${what} that are not there`, `all of its ${what}`);
}

/** Whether the instruction and the registers exist. */
function isWithin(frame: FrameRecipe, frames: readonly Frame[]): boolean {
  const code = codeOf(frame, frames);
  if (!code) return false;
  const isRegister = ([reg]: readonly [Reg, Recipe]) => reg < code.registerCount;
  return frame.pc < code.instructions.length && frame.registers.every(isRegister);
}

function codeOf({ call }: FrameRecipe, frames: readonly Frame[]): Code | undefined {
  return call.kind === 'entry' ? frames[call.frame]?.closure.code : call.closure.code;
}

function expectSizes(expr: NumberExpr, { sizes }: KeptTrace): void {
  for (const leaf of numberLeaves(expr)) {
    if (leaf.kind === 'size') expect(leaf.index < sizes.length, 'sizes of results');
  }
}

function recipesOf({ outcome, makes, effects }: KeptTrace): readonly Recipe[] {
  const left = outcome.kind === 'return' ? [outcome.value] : outcome.frames.flatMap(recipesOfFrame);
  return [
    ...left,
    ...makes.flatMap(recipesIn),
    ...effects.flatMap((effect) => [...placedBy(effect), ...targetsOf(effect)]),
  ];
}

/** The facts about tensors that guards establish. */
class Guarded {
  readonly #tensors = new Map<string, Guard & { readonly kind: 'tensor' }>();
  readonly #values = new Map<string, unknown>();

  constructor(guards: readonly Guard[]) {
    for (const guard of guards) {
      if (guard.kind === 'tensor') this.#tensors.set(sourceKey(guard.source), guard);
      if (guard.kind === 'value') this.#values.set(sourceKey(guard.source), guard.value);
    }
  }

  guarantees(source: Source, { dtype, shape, strides, device }: TensorMeta): boolean {
    const guard = this.#tensors.get(sourceKey(source));
    if (!guard) return this.#isInList(source);
    const isOf = (at: (tensor: Source, dim: number) => Source) => (size: number, dim: number) =>
      this.#values.get(sourceKey(at(source, dim))) === size;
    const isSize = (size: number, dim: number) =>
      guard.shape[dim] === size || isOf(dimSource)(size, dim);
    const expected = guard.strides ?? contiguousStrides(shape);
    const hasStrides =
      expected === 'any' ? strides.every(isOf(strideSource)) : sameShape(expected, strides);
    return (
      guard.dtype === dtype &&
      guard.device === device &&
      guard.shape.length === shape.length &&
      shape.every(isSize) &&
      hasStrides
    );
  }

  /** The tensors of an array are guarded together. */
  #isInList(source: Source): boolean {
    if (source.kind !== 'property') return false;
    const query = { kind: 'query', base: source.base, query: 'tensors', key: undefined } as const;
    return this.#values.has(sourceKey(query)) || this.#isInList(source.base);
  }
}
