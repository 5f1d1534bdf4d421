import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { changedInPlace } from '../../runtime/autograd/saved-value.ts';
import { operandUse } from '../../runtime/device/kernel-op.ts';
import { contiguousMeta, formatSpec, type TensorMeta } from '../../runtime/device/tensor-meta.ts';
import { invariant } from '../../runtime/errors/invariant.ts';
import type { OpRecord } from '../../runtime/ops/record/define-op.ts';
import type { ProgramBuilder } from '../../runtime/program/builder.ts';
import {
  condBackwardOp,
  condOp,
  whileBackwardOp,
  whileOp,
} from '../../runtime/program/control-ops.ts';
import { ValueGroups } from '../../runtime/program/memory-groups.ts';
import type { JointProgram, Program, Region, ValueId } from '../../runtime/program/program.ts';
import { writtenInputs } from '../../runtime/program/writes.ts';
import { dtypes } from '../../runtime/spec/dtype.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { recordControl } from './control-node.ts';
import { sameOperands, sameTensors } from './same-tensors.ts';

export interface RegionOptions {
  /** Whether its gradients continue from the partial sums of the operands. */
  readonly continuesSums?: boolean;
  /** Indices of inputs that may be the same tensor, in groups. */
  readonly sameInputs?: readonly (readonly number[])[];
}

/** Phase 4 for the program of a region. */
export type DifferentiateRegion = (
  program: Program,
  needsGrad: readonly boolean[],
  differentiable: readonly boolean[],
  options?: RegionOptions,
) => JointProgram;

/**
 * Appends `cond` or `while` to a program under construction. If gradients are recorded and flow into it, its
 * regions are differentiated and one node is recorded. Returns all results; the tape is the last. `keepsRegions`: an op
 * of the program is the backward of the given regions, and finds their runs on the tape.
 */
export function appendControl(
  builder: ProgramBuilder,
  op: OpRecord,
  inputs: readonly Tensor[],
  regions: readonly Region[],
  differentiate: DifferentiateRegion,
  keepsRegions = false,
): Tensor[] {
  const plain = regions.map(({ program }): Region => ({ program, joint: null }));
  const metas = resultMetas(inputs[0]!, plain[plain.length - 1]!.program);
  const recorded = gradEnabled() && inputs.some((input) => input.requiresGrad);
  if (!recorded) {
    return builder.control(op, inputs, {}, { regions: keepsRegions ? regions : plain }, metas);
  }
  const sameInputs = sameOperands(builder, op, inputs, plain);
  const { regions: joint, differentiable } = differentiated(
    op,
    inputs,
    regions,
    sameInputs,
    differentiate,
    keepsRegions,
  );
  const outputs = builder.control(op, inputs, {}, { regions: joint }, metas);
  if (!differentiable.includes(true)) return outputs;
  recordControl(inputs, outputs, differentiable, {
    name: op.name,
    backward: op === whileOp ? whileBackwardOp : condBackwardOp,
    inside: { regions: joint },
    carried: op === whileOp ? differentiable.length : 0,
    same: sameTensors(builder, inputs, outputs),
    read: readByBackward(op, inputs, outputs, joint),
  });
  return outputs;
}

/**
 * Returns operands and results whose memory backward reads. A later iteration must not overwrite what an earlier one
 * saved of an operand.
 */
function readByBackward(
  op: OpRecord,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  regions: readonly Region[],
): Tensor[] {
  const first = inputs.length - regions[regions.length - 1]!.program.inputs.length;
  const read = new Set<Tensor>();
  for (const { joint, program } of regions) {
    if (!joint) continue;
    const { operands, results } = readOutside(joint);
    const written = op === whileOp ? writtenInputs(program) : [];
    const lost = written.find((index) => operands.has(index) || results.has(index));
    if (lost !== undefined) {
      throw changedInPlace(
        op.name,
        `a ${formatSpec(inputs[lost]!)} tensor, written in a later iteration`,
      );
    }
    for (const index of operands) read.add(inputs[index + first]!);
    for (const index of results) read.add(outputs[index]!);
  }
  return [...read];
}

/**
 * Returns the indices of the operands and results of a region whose memory its backward reads, directly or in the
 * backward of branches and loops inside.
 */
export function readOutside(joint: JointProgram): ReadOutside {
  const known = readOf.get(joint) ?? findRead(joint);
  readOf.set(joint, known);
  return known;
}

interface ReadOutside {
  readonly operands: ReadonlySet<number>;
  readonly results: ReadonlySet<number>;
}

const readOf = new WeakMap<JointProgram, ReadOutside>();

function findRead({
  program,
  forwardOps,
  forwardInputs,
  forwardOutputs,
}: JointProgram): ReadOutside {
  const memories = new ValueGroups(program.ops, 'memory');
  const read = new Set<ValueId>();
  const differentiated = new Set<ValueId>();
  for (const { op, inputs } of program.ops.slice(forwardOps)) {
    if (op.kernel.kind === 'view') continue;
    if (op === condBackwardOp || op === whileBackwardOp) differentiated.add(inputs[0]!);
    inputs.forEach((id, i) => {
      if (operandUse(op, i) === 'data') read.add(memories.of(id));
    });
  }
  for (const { inputs, outputs, regions = [] } of program.ops.slice(0, forwardOps)) {
    if (!differentiated.has(outputs.at(-1)!)) continue;
    for (const { program: inner, joint } of regions) {
      if (!joint) continue;
      const { operands, results } = readOutside(joint);
      const first = inputs.length - inner.inputs.length;
      for (const index of operands) read.add(memories.of(inputs[first + index]!));
      for (const index of results) read.add(memories.of(outputs[index]!));
    }
  }
  const among = (ids: readonly ValueId[]) =>
    new Set(ids.flatMap((id, i) => (read.has(memories.of(id)) ? [i] : [])));
  return { operands: among(forwardInputs), results: among(forwardOutputs) };
}

/** Returns the metas of the region's outputs, and of the tape: a value without bytes. */
function resultMetas({ device }: Tensor, { values, outputs }: Program): TensorMeta[] {
  const tape = contiguousMeta({ dtype: 'bool', shape: [0] }, device);
  return [...outputs.map((id) => values[id]!), tape];
}

interface Differentiated {
  /** Whether gradients flow to each operand. */
  readonly needs: readonly boolean[];
  readonly regions: readonly Region[];
  /** Whether each result except the tape can be differentiated. */
  readonly differentiable: readonly boolean[];
}

/**
 * Differentiated regions, by the last region, the operands that gradients flow to, and the operands that may be the
 * same tensor.
 */
const known = new WeakMap<Region, Map<string, Differentiated>>();

/**
 * Differentiates regions. A program that is built again keeps its regions if gradients flow to the same operands: an op
 * in another region may be the backward of one, and finds its runs on the tape.
 */
function differentiated(
  op: OpRecord,
  inputs: readonly Tensor[],
  regions: readonly Region[],
  sameInputs: NonNullable<RegionOptions['sameInputs']>,
  differentiate: DifferentiateRegion,
  keepsRegions: boolean,
): Differentiated {
  const needs = inputs.map((input) => input.requiresGrad);
  const key = JSON.stringify([needs, sameInputs]);
  const last = regions.at(-1)!;
  const variants = known.get(last) ?? new Map<string, Differentiated>();
  // The user's own rules of custom functions, which no program repeats, may have led to further operands.
  const isEnough = (variant: Differentiated) =>
    variant.regions.at(-1) === last && needs.every((each, i) => !each || variant.needs[i]);
  const kept = keepsRegions ? [...variants.values()].find(isEnough) : undefined;
  const earlier = kept ?? variants.get(key);
  if (earlier) return earlier;
  const form = op === condOp ? differentiateCond : differentiateWhile;
  const plain = regions.map(({ program }): Region => ({ program, joint: null }));
  const formed = form(inputs, plain, (program, needs, differentiable) =>
    differentiate(program, needs, differentiable, { continuesSums: true, sameInputs }),
  );
  const made = { ...formed, needs };
  variants.set(key, made);
  known.set(last, variants);
  known.set(made.regions.at(-1)!, variants);
  return made;
}

function isFloating(program: Program): boolean[] {
  return program.outputs.map((id) => dtypes[program.values[id]!.dtype].floating);
}

/** A result depends on an operand if it does in any branch. */
function differentiateCond(
  inputs: readonly Tensor[],
  regions: readonly Region[],
  differentiate: DifferentiateRegion,
): Omit<Differentiated, 'needs'> {
  const needs = inputs.slice(1).map((input) => input.requiresGrad);
  const joints = regions.map(({ program }) => differentiate(program, needs, isFloating(program)));
  const flows = joints.map(({ gradOutputs, forwardOutputs }) =>
    forwardOutputs.map((_, i) => gradOutputs[i] !== null),
  );
  return {
    regions: regions.map(({ program }, i) => ({ program, joint: joints[i]! })),
    differentiable: flows[0]!.map((_, i) => flows.some((each) => each[i])),
  };
}

/**
 * A carried value depends on an operand if its start value does or if an iteration makes it. That may take several
 * iterations, so this repeats until nothing is added.
 */
function differentiateWhile(
  inputs: readonly Tensor[],
  [test, body]: readonly Region[],
  differentiate: DifferentiateRegion,
): Omit<Differentiated, 'needs'> {
  invariant(test && body, 'a while op has two regions');
  const { program } = body;
  const needs = inputs.map((input) => input.requiresGrad);
  const floating = isFloating(program);
  for (;;) {
    const joint = differentiate(program, needs, floating);
    const added = floating.flatMap((_, i) =>
      joint.gradOutputs[i] !== null && !needs[i] ? [i] : [],
    );
    if (added.length === 0) {
      return {
        regions: [test, { program, joint }],
        differentiable: floating.map((_, i) => needs[i]!),
      };
    }
    for (const i of added) needs[i] = true;
  }
}
