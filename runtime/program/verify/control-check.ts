import {
  formatSpec,
  isContiguousMeta,
  sameLayout,
  sameSpec,
  type TensorMeta,
  type TensorSpec,
} from '../../device/tensor-meta.ts';
import { sizeOf } from '../../spec/shape.ts';
import type { PlannedSubgraph, Step } from '../plan.ts';
import type { ProgramOp, ValueId } from '../program.ts';
import { expectSpec, type Fail } from './verify-failure.ts';

/** Uses of a graph's values, computed once for all of its control ops. */
interface Uses {
  /** The graph's results and the operands of all ops, except tapes read by backward ops. */
  readonly read: ReadonlySet<ValueId>;
  /** The forward step that produced each tape (its last result). */
  readonly madeBy: ReadonlyMap<ValueId, Step>;
}

const known = new WeakMap<PlannedSubgraph, Uses>();

function usesOf(graph: PlannedSubgraph): Uses {
  const found = known.get(graph);
  if (found) return found;
  const { forward, backward } = graph;
  const read = new Set(forward.outputs);
  for (const plan of [forward, ...(backward ? [backward.plan, backward.retainingPlan] : [])]) {
    for (const { op } of plan.steps) {
      const first = op.op.name.endsWith('Backward') ? 1 : 0;
      for (let i = first; i < op.inputs.length; i++) read.add(op.inputs[i]!);
    }
  }
  const madeBy = new Map<ValueId, Step>();
  for (const step of forward.steps) {
    const last = step.op.outputs.at(-1);
    if (last !== undefined) madeBy.set(last, step);
  }
  const uses = { read, madeBy };
  known.set(graph, uses);
  return uses;
}

/** Checks the operands, results and regions of one control op. */
export class ControlCheck {
  readonly step: Step;
  readonly graph: PlannedSubgraph;
  readonly fail: Fail;

  constructor(step: Step, graph: PlannedSubgraph, fail: Fail) {
    this.step = step;
    this.graph = graph;
    this.fail = fail;
  }

  get inputs(): TensorMeta[] {
    return this.metas(this.step.op.inputs);
  }

  metas(ids: readonly ValueId[]): TensorMeta[] {
    return ids.map((id) => this.graph.values[id]!);
  }

  /** Returns all results except the tape, which has no bytes. */
  results(): TensorMeta[] {
    const { outputs } = this.step.op;
    const tape = outputs.at(-1);
    if (tape === undefined) this.fail('no results', 'at least the record for backward');
    if (sizeOf(this.graph.values[tape]!.shape) > 0) this.fail('a record with data', 'none');
    this.#expectTapeUse(tape);
    return this.metas(outputs.slice(0, -1));
  }

  /** Only the backward of this op may read its tape. */
  #expectTapeUse(tape: ValueId): void {
    if (usesOf(this.graph).read.has(tape)) this.fail(`%${tape} read as a value`, 'no use');
  }

  regions(count: number): readonly PlannedSubgraph[] {
    const { regions = [] } = this.step;
    if (regions.length !== count) this.fail(`${regions.length} programs inside`, String(count));
    return regions;
  }

  expectInputs({ values, forward }: PlannedSubgraph, operands: readonly TensorMeta[]): void {
    const inputs = forward.inputs.map((id) => values[id]!);
    this.expectSameLayout('operand', inputs, operands);
  }

  expectResults({ values, forward }: PlannedSubgraph, results: readonly TensorMeta[]): void {
    const outputs = forward.outputs.map((id) => values[id]!);
    this.expectSameLayout('result', outputs, results);
  }

  expectSameLayout(
    what: string,
    metas: readonly TensorMeta[],
    expected: readonly TensorMeta[],
  ): void {
    this.expectSame(`${what}s`, metas, expected);
    const other = metas.findIndex((meta, i) => !sameLayout(meta, expected[i]!));
    if (other < 0) return;
    this.fail(`${what} ${formatSpec(metas[other]!)} of other strides`, 'the same strides');
  }

  expectSame(what: string, actual: readonly TensorMeta[], expected: readonly TensorSpec[]): void {
    for (const spec of expected) expectSpec(spec, this.fail);
    const print = (metas: readonly TensorSpec[]) => metas.map(formatSpec).join(', ') || 'none';
    const isSame =
      actual.length === expected.length && actual.every((meta, i) => sameSpec(meta, expected[i]!));
    if (!isSame) this.fail(`${what}: ${print(actual)}`, print(expected));
  }

  expectSingle({ shape, dtype }: TensorMeta): void {
    if (sizeOf(shape) < 1) this.fail(`a condition ${formatSpec({ shape, dtype })}`, 'a value');
  }

  expectContiguous(ids: readonly ValueId[]): void {
    const strided = ids.find((id) => !isContiguousMeta(this.graph.values[id]!));
    if (strided !== undefined) this.fail(`%${strided} with strides`, 'a contiguous value');
  }

  expectNoResults(): void {
    if (this.step.op.outputs.length > 0) this.fail('results', 'none');
    if (this.step.regions) this.fail('programs inside', 'none');
  }

  /** Returns the step that produced the tape. */
  forwardOf(name: string, tape: ValueId | undefined): Step {
    const found = tape === undefined ? undefined : usesOf(this.graph).madeBy.get(tape);
    return found?.op.op.name === name ? found : this.fail(`%${tape}`, `the record of a ${name}`);
  }

  /** Verifies that incoming and outgoing gradients match the results and operands of the forward op. */
  verifyGradients({ inputs, outputs }: ProgramOp, gradOutputs: readonly ValueId[]): void {
    const { op } = this.step;
    // The regions' operands may have earlier gradient contributions.
    const operands = this.step.regions ? inputs.slice(op.attrs.carried ? 0 : 1) : [];
    const differentiated = [...outputs.slice(0, -1), ...operands];
    const of = this.indices('of', differentiated.length);
    const to = this.indices('to', inputs.length);
    this.expectSame(
      'gradients given',
      this.metas(gradOutputs),
      this.metas(of.map((i) => differentiated[i]!)),
    );
    this.expectSame('gradients', this.metas(op.outputs), this.metas(to.map((i) => inputs[i]!)));
    this.expectContiguous([...gradOutputs, ...op.outputs]);
  }

  /** Returns a list of distinct integers below a limit. */
  indices(name: 'of' | 'to', limit: number): readonly number[] {
    const found = this.step.op.attrs[name];
    const isList = Array.isArray(found) && new Set(found).size === found.length;
    if (isList && found.every((i) => Number.isInteger(i) && i >= 0 && i < limit))
      return found as number[];
    return this.fail(`${name}=${JSON.stringify(found)}`, `different numbers below ${limit}`);
  }
}
