import { gradEnabled } from '../autograd/grad-mode.ts';
import { changedInPlace } from '../autograd/saved-value.ts';
import { formatSpec } from '../device/tensor-meta.ts';
import type { AutogradError } from '../errors/errors.ts';
import type { BackwardByNumbers, KeptAt } from '../program/higher-order-gradients.ts';
import type { BackwardPart } from '../program/plan.ts';
import type { GradientContribution, ValueId } from '../program/program.ts';
import {
  GradNode,
  hasHooks,
  type PassOutput,
  type RequestedGradients,
  secondBackward,
  type TakeSum,
  type Target,
} from '../tensor/grad-node.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { BackwardVariant } from './backward/backward-variants.ts';
import { ValuesOnTapes } from './backward/values-on-tapes.ts';
import { awaitBackwardPlan, continuedPlan, runBackwardPlan } from './backward-plan.ts';
import type { WatchedInput } from './compacted-inputs.ts';
import { leavesGpu } from './executor.ts';
import { innerOutputsOf } from './inner-outputs.ts';
import { neededByOpen } from './needed-by-open.ts';
import { OpenResults } from './open-results.ts';
import { applyRecorded, passComplete, passFirst } from './recorded-node.ts';
import { pathOf, type RunPath } from './run-path.ts';
import type { Subgraph } from './run-program.ts';
import type { Scope } from './scope/scope.ts';

/** Hook orders, by the outputs of a program. */
const hookOrders = new WeakMap<readonly ValueId[], readonly number[]>();

/** The outputs with a gradient, and the requested gradients. */
type Backward = Pick<BackwardVariant, 'outputs' | 'requested'>;

/**
 * The grad node of one run of a subgraph. It locks the scope, in which only values that backward reads still have
 * data; no-need-buffer values only have their compile-time meta.
 *
 * Gradients arrive by output index. Larger indices denote forward values that a recorded backward has read
 * (`recorded-node.ts`).
 */
export class RunProgramNode extends GradNode {
  override readonly name = 'run_program';
  readonly subgraph: Subgraph;
  readonly scope: Scope;
  readonly results: OpenResults;
  /** Whether a recorded backward has read forward values, which may now receive gradients. */
  isTapped = false;
  /** Whether all saved values are freed. Values that a recorded backward read may still lead to leaves. */
  isSpent = false;
  /** The number of distinct forward values that it has read. */
  tappedValues = 0;
  #path: RunPath | null | undefined;
  #pathOrder: readonly number[] | null = null;
  /** Throws if backward of these outputs would find something else than forward. */
  beforeBackward: ((outputs: readonly number[]) => void) | null = null;
  readonly #versions: readonly number[];
  readonly #onTapes: ValuesOnTapes;
  /** Inputs saved as copies: writing to an original is an error, as if it were saved itself. */
  #watched: readonly WatchedInput[] = [];
  /** The backward for the outputs that are expected to have a gradient. */
  #expected: BackwardVariant | null = null;

  constructor(subgraph: Subgraph, scope: Scope, targets: readonly Target[], owners: number) {
    super(targets, owners);
    this.subgraph = subgraph;
    this.scope = scope;
    this.results = new OpenResults(
      this.backward,
      (part, isRepeatable) =>
        isRepeatable ? this.#eagerRefusal(part, []) : this.secondBackward(part),
      (output) => subgraph.backwards!.ofOutputs(new Set([output])),
      subgraph.recorded && (() => neededByOpen(this, this.results.closed.map(numbersOf))),
    );
    const { withData } = this.backward.saved;
    this.#versions = withData.map((id) => scope.slots[id]!.holder!.version);
    this.#onTapes = new ValuesOnTapes(scope.slots, withData);
  }

  /** Watches inputs that entered as copies. */
  watch(inputs: readonly WatchedInput[]): void {
    this.#watched = inputs;
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    _requested: readonly boolean[],
    takeSum: TakeSum,
    passInner: PassOutput | null,
    only: RequestedGradients | null,
  ): (Tensor | null)[] {
    const variant = this.subgraph.backwards!.of(gradOutputs, only, this.#expected);
    this.#expected = null;
    const arrivals = this.#observedArrivals();
    this.#pathOrder = arrivals && variant.orderOf(arrivals);
    const isOther = gradOutputs.length > this.backward.gradOutputs.length;
    // Only the path's program shows which values of an iteration this backward reads.
    const isPathNeeded = this.subgraph.recorded !== null && this.#onTapes.changed().length > 0;
    if (gradEnabled() || isOther || isPathNeeded || (passInner && this.isPathObserved(only))) {
      return applyRecorded(this, variant, { gradOutputs, retainGraph, takeSum, passInner });
    }
    try {
      this.#expectLanded();
      this.expectUnchanged(variant, readsOf(variant));
    } catch (error) {
      passComplete(this, gradOutputs, innerOutputsOf(this.backward.plan), passInner);
      throw error;
    }
    const part = this.results.choose(variant, retainGraph);
    try {
      const plan = continuedPlan(this, part.plan, part.gradInputs, takeSum);
      const gradients = this.isTapped
        ? passFirst(this, gradOutputs, innerOutputsOf(plan), passInner)
        : gradOutputs;
      return runBackwardPlan(this, plan, part.gradInputs, gradients, passInner);
    } catch (error) {
      this.#afterFailure(retainGraph);
      throw error;
    }
  }

  /** Runs a backward program that contains a transfer from a GPU, as a whole; the pass awaits it. */
  override awaits(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    takeSum: TakeSum,
    only: RequestedGradients | null,
  ): Promise<(Tensor | null)[]> | null {
    const isPlain = !gradEnabled() && !this.isTapped;
    const isWhole = gradOutputs.length <= this.backward.gradOutputs.length;
    if (!isPlain || !isWhole || !leavesGpu(this.backward.plan, this.subgraph.values)) return null;
    return this.#applyAwaiting(gradOutputs, retainGraph, takeSum, only);
  }

  async #applyAwaiting(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    takeSum: TakeSum,
    only: RequestedGradients | null,
  ): Promise<(Tensor | null)[]> {
    const variant = this.subgraph.backwards!.of(gradOutputs, only, this.#expected);
    this.#expected = null;
    this.expectUnchanged(variant, readsOf(variant));
    const part = this.results.choose(variant, retainGraph);
    try {
      const plan = continuedPlan(this, part.plan, part.gradInputs, takeSum);
      return await awaitBackwardPlan(this, plan, part.gradInputs, gradOutputs);
    } catch (error) {
      this.#afterFailure(retainGraph);
      throw error;
    }
  }

  /** Throws AutogradError while a saved value is still being copied from the GPU. */
  #expectLanded(): void {
    const { slots } = this.scope;
    for (const id of this.subgraph.stored) {
      const meta = this.subgraph.values[id]!;
      if (slots[id]!.holder) meta.device.expectLanded!(meta, slots[id]!);
    }
  }

  /** Throws AutogradError if part of this backward has already run, before any leaf receives a gradient. */
  override leadsTo(
    outputs: ReadonlySet<number>,
    requested: RequestedGradients | null,
  ): readonly boolean[] | null {
    const isReplayed = this.isSpent || this.results.isOpenByReplay;
    const error = isReplayed && this.#eagerRefusal({ outputs: [...outputs], requested }, []);
    if (error) throw error;
    const expected = this.subgraph.backwards!.ofOutputs(outputs, requested);
    this.results.expectOpen(expected, outputs);
    for (const index of outputs) if (index >= this.backward.gradOutputs.length) return null;
    this.#expected = expected;
    const arrivals = this.#observedArrivals();
    if (expected.isWhole && !arrivals) return null;
    const reaches = (i: number) =>
      !arrivals ||
      arrivals.some((each) => each.target === i && each.outputs.some((k) => outputs.has(k)));
    return expected.freeing.gradInputs.map((id, i) => id !== null && reaches(i));
  }

  override leadingOutputs(requested: RequestedGradients): ReadonlySet<number> {
    const leading = new Set(this.subgraph.backwards!.leadingOutputs(requested));
    const { gradOutputs } = this.backward;
    const { regionResults } = this.subgraph;
    for (const index of requested.outputs) {
      if (!regionResults.has(index)) continue;
      gradOutputs.forEach((id, i) => {
        if (id !== null) leading.add(i);
      });
    }
    if (this.isTapped) {
      const first = gradOutputs.length;
      for (let id = 0; id < this.tappedValues; id++) leading.add(first + id);
    }
    return leading;
  }

  /** Keeps saved values as long as a result may still be differentiated. */
  override finish(): void {
    if (this.results.allDone && !this.isTapped) {
      this.consume();
      return;
    }
    this.isSpent ||= this.results.allDone;
    const { needed } = this.results;
    for (const id of this.backward.saved.withData) {
      if (!needed.has(id)) this.scope.slots[id]!.release();
    }
  }

  override get innerOutputs(): ReadonlySet<number> | null {
    if (this.isTapped) return new Set(this.backward.gradOutputs.keys());
    const inner = innerOutputsOf(this.backward.plan);
    const { regionResults } = this.subgraph;
    return regionResults.size > 0 ? new Set([...(inner ?? []), ...regionResults]) : inner;
  }

  /**
   * Whether the gradient of a branch or loop result is observed. Ops inside that read the tensor, under any name,
   * contribute to it; only the path shows which ran.
   */
  isPathObserved(only: RequestedGradients | null): boolean {
    for (const index of this.subgraph.regionResults) {
      const isRetained = this.retained?.some((each) => each.index === index);
      if (this.hooks?.[index]?.length || isRetained || only?.outputs.has(index)) {
        return this.path !== null;
      }
    }
    return false;
  }

  /** In eager execution, the gradient of the value computed last is complete first. */
  override get hookOrder(): readonly number[] {
    const { outputs } = this.subgraph.planned.forward;
    let order = hookOrders.get(outputs);
    if (!order) {
      order = [...outputs.keys()].sort((a, b) => outputs[b]! - outputs[a]!);
      hookOrders.set(outputs, order);
    }
    return order;
  }

  override targetOrder(
    gradOutputs: readonly (Tensor | null | undefined)[],
  ): readonly number[] | null {
    return this.#pathOrder ?? this.subgraph.backwards!.of(gradOutputs).targetOrder;
  }

  /**
   * Returns the arrivals of gradients on the path of a program with branches or loops, if a hook on a leaf observes
   * their order, or if only the path shows whether a freed graph is reached; otherwise null.
   */
  #observedArrivals(): readonly GradientContribution[] | null {
    const { recorded } = this.subgraph;
    const isObserved = recorded && (hasHooks(this.targets) || this.targets.some(isFreed));
    const path = isObserved ? this.path : null;
    return path && recorded!.arrivals(path.taken, this.subgraph.numbersOf(this.scope));
  }

  /** Cleans up. Without `retainGraph` saved values may be freed, so the node can't run again. */
  #afterFailure(retainGraph: boolean): void {
    if (!retainGraph) {
      this.consume();
      return;
    }
    const saved = new Set<number>(this.backward.saved.withData);
    this.scope.slots.forEach((slot, id) => {
      if (!saved.has(id)) slot.release();
    });
  }

  protected override releaseSaved(): void {
    this.beforeBackward = null;
    this.subgraph.scopes.release(this.scope);
  }

  /** The path of the run, read on first request; null if there is no tape. */
  get path(): RunPath | null {
    if (this.#path === undefined && this.consumed) return null;
    this.#path ??= pathOf(this.subgraph.planned, this.scope.slots);
    return this.#path;
  }

  get backward(): BackwardPart {
    return this.subgraph.planned.backward!;
  }

  /**
   * Throws AutogradError if a value that backward of these outputs reads was written since forward. Values that only
   * other outputs need may have changed.
   */
  expectUnchanged(part: Backward, reads: (at: KeptAt) => boolean): void {
    this.beforeBackward?.(part.outputs);
    const { slots } = this.scope;
    const own = this.backward.saved.withData.filter((id, i) => {
      const { holder } = slots[id]!;
      // A freed value is no longer needed.
      return holder && holder.version !== this.#versions[i];
    });
    for (const { saved, holder, version } of this.#watched) {
      if (holder.version === version) continue;
      own.push(...saved.filter((id) => slots[id]!.holder));
    }
    const onTapes = this.#changedOnTapes();
    const read = [...own.map((id) => ({ frame: 0, id })), ...onTapes].filter(reads);
    if (read.length + onTapes.length === 0) return;
    const ofProgram = read.filter(({ frame }) => frame === 0);
    const refusal = this.#eagerRefusal(part, [...ofProgram, ...onTapes]);
    if (refusal) throw refusal;
    const [first] = read;
    if (!first) return;
    const { values } = first.frame === 0 ? this.subgraph : this.path!.frames[first.frame]!;
    throw changedInPlace(
      this.name,
      `a ${formatSpec(values[first.id]!)} tensor, written since forward`,
    );
  }

  #changedOnTapes(): KeptAt[] {
    const changed = this.#onTapes.changed();
    const frames = changed.length > 0 ? this.path?.frames : null;
    return (frames ?? []).flatMap(({ slots }, frame) =>
      frame === 0
        ? []
        : slots.flatMap(({ holder }, id) =>
            holder && changed.includes(holder) ? [{ frame, id: id as ValueId }] : [],
          ),
    );
  }

  override refusedTwice(index: number): AutogradError {
    return this.secondBackward({ outputs: [index], requested: null });
  }

  /** Returns the error for a second backward of these outputs. */
  secondBackward(part: Backward): AutogradError {
    return this.#eagerRefusal(part, []) ?? secondBackward(this.name);
  }

  /** Notes a backward without `retainGraph` that has received gradients of forward values. */
  closeThrough({ outputs, requested }: Backward, values: readonly { readonly of: number }[]): void {
    const { gradOutputs } = this.backward;
    const through = values.map(({ of }) => gradOutputs.length + of);
    this.results.closeThrough({ outputs: [...outputs, ...through], requested });
  }

  #eagerRefusal(part: Backward, changed: readonly KeptAt[]): AutogradError | null {
    const { recorded } = this.subgraph;
    if (!recorded) return null;
    const earlier = this.results.closed.map(numbersOf);
    const path = this.path?.taken ?? null;
    const refused = { ...numbersOf(part), earlier, changed, path };
    // The scope of a consumed node may already belong to another run.
    const numbers = this.consumed ? null : this.subgraph.numbersOf(this.scope);
    return recorded.eagerRefusal(refused, numbers);
  }
}

function numbersOf({ outputs, requested }: Backward): BackwardByNumbers {
  const targets = [...(requested?.targets.keys() ?? [])].filter((i) => requested!.targets[i]);
  return { roots: outputs, requested: requested && { targets, values: [...requested.outputs] } };
}

/** Returns whether a planned backward reads a value; values on tapes always count as read. */
function readsOf(variant: BackwardVariant): (at: KeptAt) => boolean {
  if (variant.isWhole) return () => true;
  const { reads } = variant.freeing;
  return ({ frame, id }) => frame > 0 || reads.has(id);
}

/** Whether an earlier backward has freed the graph there, or part of it. */
function isFreed(target: Target): boolean {
  if (target === null || 'leaf' in target) return false;
  const { node } = target;
  return node.consumed || (node instanceof RunProgramNode && node.results.closed.length > 0);
}
