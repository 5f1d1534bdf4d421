import { gradEnabled } from '../autograd/grad-mode.ts';
import { DynamicTensor } from '../device/dynamic-tensor.ts';
import type { ScalarTable } from '../ops/numbers/symbolic-number.ts';
import { type SpanStart, spans } from '../profiler/spans.ts';
import { copiedInputs } from '../program/checks.ts';
import type { CompactedInput, Plan, PlannedSubgraph } from '../program/plan.ts';
import type { ValueId, ValueTable } from '../program/program.ts';
import { ScalarProgram, scalarInputs, scalarTableIn } from '../program/scalars.ts';
import { type Target, targetOf } from '../tensor/grad-node.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { BackwardVariants } from './backward/backward-variants.ts';
import type { ContinuedTarget } from './backward/gradient-accumulators.ts';
import type { RecordedBackwards } from './backward/higher-order-gradients.ts';
import { type WatchedInput, watched } from './compacted-inputs.ts';
import { takeDynamic } from './dynamic-outputs.ts';
import { enter, enterCompact } from './enter.ts';
import { Executable } from './executor.ts';
import type { RunProgramNode } from './grad-node.ts';
import { laterPart } from './later-parts.ts';
import { MemorySnapshot } from './memory-snapshot.ts';
import { identityOfInput, noteIdentity } from './scope/identity.ts';
import { type Scope, ScopePool, type Slot } from './scope/scope.ts';
import { joinShared, type OutputBase, outputBases } from './shared-outputs.ts';

const noNumbers: readonly number[] = [];
const none: ReadonlySet<number> = new Set();

/** A planned subgraph bound to its device, with its scopes. */
export class Subgraph {
  readonly planned: PlannedSubgraph;
  readonly scopes: ScopePool;
  /** The values of the program, plus two for each of `continuedSums`. */
  readonly values: ValueTable;
  /** Gradients with several contributions, which may continue sums of other nodes. */
  readonly continuedSums: readonly ContinuedTarget[];
  /** Saved values that were moved off their device. */
  readonly stored: readonly ValueId[];
  /** Backward programs by the set of outputs that have a gradient. */
  readonly backwards: BackwardVariants | null;
  /** Backward programs with differentiable results; null without a compiler. */
  readonly recorded: RecordedBackwards | null;
  /** The indices of outputs returned by branches or loops. Only a recorded backward knows all ops that read them. */
  readonly regionResults: ReadonlySet<number>;
  readonly #forward: Executable;
  readonly #scalarTable: ScalarTable | undefined;
  readonly #scalars: ScalarProgram;
  /** The function that puts each input into the scope; null if the input is unused. */
  readonly #enters: readonly (typeof enter | null)[];
  readonly #compacted: readonly CompactedInput[];
  /** The number of outputs that lead to the node. */
  readonly #differentiable: number;
  readonly #span: SpanStart;
  /** Whether branches or loops may return the same view or input several times. */
  readonly #mayBeSame: boolean;
  /** The base that each output is a view of; null if there are no views. */
  readonly #bases: readonly OutputBase[] | null;
  readonly #identities: readonly number[];
  /** The indices of inputs that are restored if the run fails. */
  readonly #copied: readonly number[];
  /** Values that forward puts into the scope: few, if its ops are fused. */
  readonly #used: readonly ValueId[];

  constructor(planned: PlannedSubgraph) {
    this.planned = planned;
    this.#scalarTable = scalarTableIn(planned);
    this.#scalars = new ScalarProgram(this.#scalarTable);
    const { values, backward } = planned;
    const running = backward && laterPart('runBackward');
    const continued = running
      ? running.continuedTargets(backward, values)
      : { targets: [], values };
    this.continuedSums = continued.targets;
    this.values = continued.values;
    this.stored = (backward?.saved.withData ?? []).filter((id) => values[id]!.device.expectLanded);
    this.backwards = running && new running.BackwardVariants(backward, values);
    this.recorded =
      running && backward.higherOrder
        ? new running.RecordedBackwards(
            backward.higherOrder,
            (own) => this.recordedPart(own),
            this.#scalarTable,
          )
        : null;
    this.regionResults = this.recorded ? resultsOfRegions(planned.forward) : none;
    this.scopes = new ScopePool(this.values.length, this.#scalars.size);
    const { backend = null } = planned;
    this.#forward = new Executable(planned.forward, planned.values, [], { atomic: true, backend });
    const { steps } = planned.forward;
    const [first] = steps;
    this.#mayBeSame = steps.some(({ regions }) => regions);
    this.#span = { kind: 'program', name: 'run_program', device: 'host', at: first?.op.at };
    const bases = outputBases(planned.forward, values);
    this.#bases = bases.some((base) => base !== null) ? bases : null;
    this.#identities = planned.forward.inputs.map((_, i) => identityOfInput(i));
    this.#copied = copiedInputs(planned.forward);
    this.#used = [...planned.forward.inputs, ...steps.flatMap(({ op }) => op.outputs)];
    const unused = new Set(planned.forward.unusedInputs);
    this.#compacted = planned.compacted ?? [];
    const isCompacted = (i: number) =>
      this.#compacted.some(({ number, entersAsCopy }) => entersAsCopy && number === i);
    this.#enters = planned.forward.inputs.map((id, i) => {
      if (unused.has(id)) return null;
      return isCompacted(i) ? enterCompact : enter;
    });
    this.#differentiable = planned.backward?.gradOutputs.filter((id) => id !== null).length ?? 0;
  }

  /**
   * The run_program op: runs forward in a free scope and records one node for backward. Inputs enter the scope as
   * additional owners of their holders; an input with unplanned strides enters as a copy that dies at its last use.
   * Outputs that backward doesn't read leave the scope; without backward, all do.
   *
   * Bit i of `donated` donates input i: its handle loses its memory. `numbers` are the scalar inputs, from which
   * the symbolic attributes of both programs are computed once. If a user check fails, a kernel rejects its
   * values, or memory runs out, everything is rolled back.
   */
  run(inputs: readonly Tensor[], donated = 0, numbers: readonly number[] = noNumbers): Tensor[] {
    if (spans.active) return this.#runInSpan(inputs, donated, numbers);
    return this.#runUnobserved(inputs, donated, numbers);
  }

  #runInSpan(inputs: readonly Tensor[], donated: number, numbers: readonly number[]): Tensor[] {
    return spans.around(this.#span, () => this.#runUnobserved(inputs, donated, numbers));
  }

  #runUnobserved(inputs: readonly Tensor[], donated: number, numbers: readonly number[]): Tensor[] {
    if (this.#copied.length === 0) return this.#run(inputs, donated, numbers);
    return this.#runOrRestore(inputs, donated, numbers);
  }

  #runOrRestore(inputs: readonly Tensor[], donated: number, numbers: readonly number[]): Tensor[] {
    const before = new MemorySnapshot(this.#copied.map((i) => inputs[i]!));
    try {
      return this.#run(inputs, donated, numbers);
    } catch (error) {
      before.restore();
      throw error;
    } finally {
      before.dispose();
    }
  }

  #run(inputs: readonly Tensor[], donated: number, numbers: readonly number[]): Tensor[] {
    const scope = this.scopes.take();
    const watching = this.#compacted.length > 0 ? watched(this.#compacted, inputs) : null;
    try {
      this.#begin(scope, inputs, donated, numbers);
      this.#forward.run(scope);
      return this.#end(scope, inputs, watching, gradEnabled());
    } catch (error) {
      this.scopes.release(scope);
      throw error;
    }
  }

  /** Whether its programs run asynchronously, by `runAsync` instead of `run`. */
  get isAsync(): boolean {
    return this.planned.backend?.isAsync === true;
  }

  /** Runs on an asynchronous backend. Runs are serialized. */
  async runAsync(
    inputs: readonly Tensor[],
    donated: number,
    numbers: readonly number[],
  ): Promise<Tensor[]> {
    // Ensures that the snapshot can be made synchronously.
    for (const i of this.#copied) await inputs[i]!.holder!.elsewhere?.arrive?.();
    const before = new MemorySnapshot(this.#copied.map((i) => inputs[i]!));
    const watching = this.#compacted.length > 0 ? watched(this.#compacted, inputs) : null;
    const scope = this.scopes.take();
    const records = gradEnabled();
    try {
      this.#begin(scope, inputs, donated, numbers);
      await this.#forward.runAsync(scope);
      return this.#end(scope, inputs, watching, records);
    } catch (error) {
      this.scopes.release(scope);
      before.restore();
      throw error;
    } finally {
      before.dispose();
    }
  }

  /** Puts inputs and numbers into the scope. */
  #begin(
    scope: Scope,
    inputs: readonly Tensor[],
    donated: number,
    numbers: readonly number[],
  ): void {
    const { slots } = scope;
    const { values, forward } = this.planned;
    const ids = forward.inputs;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i]!;
      const put = this.#enters[i];
      if (put) put(slots[id]!, inputs[i]!, values[id]!, this.#identities[i]!);
      if (i < 31 && (donated >> i) & 1) inputs[i]!.donate();
    }
    if (this.#scalars.size > 0) this.#scalars.run(numbers, scope.scalars);
  }

  /** Takes the outputs out of the scope, and records a node if `records` is true. */
  #end(
    scope: Scope,
    inputs: readonly Tensor[],
    watching: readonly WatchedInput[] | null,
    records: boolean,
  ): Tensor[] {
    const { forward, backward } = this.planned;
    const { slots } = scope;
    const results = forward.outputs;
    const outputs = new Array<Tensor>(results.length);
    for (let i = 0; i < results.length; i++) outputs[i] = this.take(slots, results[i]!);
    for (const id of forward.freesAtEnd) slots[id]!.release();
    if (backward && records) this.#record(scope, inputs, outputs, watching);
    else this.scopes.release(scope, this.#used);
    if (this.#bases) joinShared(inputs, outputs, this.#bases);
    return outputs;
  }

  /** Whether an input that requires no gradient is marked as a leaf after the run. */
  becomesLeaf: (index: number) => boolean = () => true;

  /** Returns the node of one run, with `owners` handles referring to it. */
  protected nodeFor(scope: Scope, targets: readonly Target[], owners: number): RunProgramNode {
    return new (laterPart('runBackward').RunProgramNode)(this, scope, targets, owners);
  }

  /** Binds the program of a recorded backward. */
  protected recordedPart(planned: PlannedSubgraph): Subgraph {
    return new Subgraph(planned);
  }

  /** Returns a tensor handle to a scope value. */
  take(slots: readonly Slot[], id: ValueId): Tensor {
    const { holder, offset, identity } = slots[id]!;
    const { dtype, shape, strides, device } = this.planned.values[id]!;
    if (holder instanceof DynamicTensor) return takeDynamic(holder, dtype);
    const tensor = new Tensor({ dtype, shape, strides, offset, device }, holder!.retain());
    if (this.#mayBeSame) noteIdentity(tensor, identity);
    return tensor;
  }

  /** Returns the scalar inputs of the run in this scope. */
  numbersOf({ scalars }: Scope): readonly number[] {
    return scalarInputs(this.#scalarTable, scalars);
  }

  #record(
    scope: Scope,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    watching: readonly WatchedInput[] | null,
  ): void {
    const { gradInputs, gradOutputs, leafOutputs } = this.planned.backward!;
    const targets = inputs.map(
      (input, i): Target =>
        gradInputs[i] === null
          ? null
          : (targetOf(input) ?? (this.becomesLeaf(i) ? { leaf: input } : null)),
    );
    for (const index of leafOutputs) targets.push({ leaf: outputs[index]! });
    const node = this.nodeFor(scope, targets, this.#differentiable);
    if (watching) node.watch(watching);
    outputs.forEach((output, index) => {
      if (gradOutputs[index] !== null) output.setGradEdge({ node, index });
    });
  }
}

function resultsOfRegions({ steps, outputs }: Plan): ReadonlySet<number> {
  const defined = new Set(steps.flatMap(({ op, regions }) => (regions ? op.outputs : [])));
  return new Set([...outputs.keys()].filter((i) => defined.has(outputs[i]!)));
}
