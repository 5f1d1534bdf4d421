import { operandUse } from '../device/kernel-op.ts';
import type { AutogradError } from '../errors/errors.ts';
import type { BackwardPart, Plan } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import type { BackwardVariant } from './backward/backward-variants.ts';
import type { PartialBackward } from './backward/partial-backward.ts';

/**
 * Tracks which results of a run have been differentiated, and for which gradients. Paths without a common op are
 * differentiated separately, like separate graphs in eager execution: values that other paths still need stay saved.
 */
export class OpenResults {
  readonly #backward: BackwardPart;
  /** The ops differentiated by backwards without `retainGraph`, identified by the gradient of their result. */
  #differentiated: ReadonlySet<ValueId> = new Set();
  /** Gradients that flow only through ops without saved values: their backward may run again. */
  readonly #repeatable: ReadonlySet<ValueId>;
  /** The values that later backwards may read; null if no backward can follow. */
  #needed: ReadonlySet<ValueId> | null = null;
  /**
   * Whether only a replay of the run shows which results are open: its path decides, or forward values have received
   * gradients.
   */
  isOpenByReplay = false;
  /** All backwards without `retainGraph`. */
  readonly #closed: ClosedResults[] = [];
  readonly #refused: (part: ClosedResults, isRepeatable: boolean) => AutogradError | null;
  readonly #ofOutput: (output: number) => BackwardVariant;
  readonly #neededOnPath: (() => ReadonlySet<ValueId> | null) | null;
  /** Whether the path of the run shows what an earlier backward has closed. */
  #isByPath = false;

  /**
   * `refused` returns the error for a backward that has partly run before; null if eager execution runs it again.
   * `neededOnPath` returns the values that later backwards may read on the path of the run; null if none can follow. It
   * is null itself for a program without a compiler.
   */
  constructor(
    backward: BackwardPart,
    refused: (part: ClosedResults, isRepeatable: boolean) => AutogradError | null,
    ofOutput: (output: number) => BackwardVariant,
    neededOnPath: (() => ReadonlySet<ValueId> | null) | null,
  ) {
    this.#backward = backward;
    this.#repeatable = repeatableGradients(backward);
    this.#refused = refused;
    this.#ofOutput = ofOutput;
    this.#neededOnPath = neededOnPath;
  }

  /**
   * Throws AutogradError if an earlier backward has run part of this one. `outputs` are in the order in which they
   * were reached.
   */
  expectOpen(variant: BackwardVariant, outputs: Iterable<number> = variant.outputs): void {
    if (this.isOpenByReplay) return;
    const done = this.#differentiated;
    const differentiated = variant.freeing.differentiated;
    if (done.size === 0 || isApart(differentiated, done)) return;
    const isRepeatable = [...differentiated].every(
      (id) => this.#repeatable.has(id) || !done.has(id),
    );
    const error = this.#refused(
      { outputs: [...outputs], requested: variant.requested },
      isRepeatable,
    );
    if (error) throw error;
  }

  get closed(): readonly ClosedResults[] {
    return this.#closed;
  }

  /** Chooses the plan of a backward, which may be the last one. */
  choose(variant: BackwardVariant, retainGraph: boolean): PartialBackward {
    this.expectOpen(variant);
    if (retainGraph) return variant.retaining;
    this.#isByPath ||= this.#dependsOnPath(variant);
    if (this.#isByPath) this.closeThrough(variant);
    else this.#close(variant);
    return this.#readsLater() ? variant.retaining : variant.freeing;
  }

  /** Whether only the path shows if this backward, of a program with branches or loops, closes another result. */
  #dependsOnPath(variant: BackwardVariant): boolean {
    const { gradOutputs, plan } = this.#backward;
    if (!this.#neededOnPath || gradOutputs.length < 2 || !decides(plan)) return false;
    if (this.#closed.length > 0) return this.#mayCloseMore(variant);
    let known = firstDependsOnPath.get(variant);
    if (known === undefined) {
      known = this.#mayCloseMore(variant);
      firstDependsOnPath.set(variant, known);
    }
    return known;
  }

  #mayCloseMore(variant: BackwardVariant): boolean {
    const { gradOutputs, plan } = this.#backward;
    const closed = new Set([variant, ...this.#closed].flatMap(({ outputs }) => outputs));
    if (closed.size >= gradOutputs.length) return false;
    const given = [...closed].flatMap((i) => gradOutputs[i] ?? []);
    const certain = certainlyDerived(given, plan);
    const done = new Set([...this.#differentiated, ...variant.freeing.differentiated]);
    return gradOutputs.some((id, i) => {
      if (id === null || closed.has(i)) return false;
      const common = [...this.#ofOutput(i).freeing.differentiated].filter((each) => done.has(each));
      if (common.length === 0) return false;
      const own = certainlyDerived([id], plan);
      return !common.some((each) => certain.has(each) && own.has(each));
    });
  }

  #close(variant: BackwardVariant): void {
    this.#closed.push(variant);
    const { freeing } = variant;
    const before = this.#differentiated;
    if (before.size > 0) {
      this.#differentiated = new Set([...before, ...freeing.differentiated]);
      this.#needed = this.#readsOfOpen();
      return;
    }
    this.#differentiated = freeing.differentiated;
    if (!neededAfter.has(freeing)) neededAfter.set(freeing, this.#readsOfOpen());
    this.#needed = neededAfter.get(freeing)!;
  }

  #readsLater(): boolean {
    const { saved } = this.#backward;
    return saved.withData.some((id) => this.#needed?.has(id));
  }

  /**
   * Returns the values that open backwards may read. In eager execution an op keeps its saved values until its
   * backward runs, but an op reached only through differentiated ops is freed with them.
   */
  #readsOfOpen(): ReadonlySet<ValueId> | null {
    const { gradOutputs, gradInputs, retainingPlan } = this.#backward;
    const isOpen = (id: ValueId | null): id is ValueId =>
      id !== null && (!this.#differentiated.has(id) || this.#repeatable.has(id));
    const open = new Set(gradOutputs.filter(isOpen));
    const isReached = retainingPlan.steps.map(({ op }) => {
      if (!op.inputs.some((id) => open.has(id))) return false;
      const outputs = op.outputs.filter(isOpen);
      for (const id of outputs) open.add(id);
      return outputs.length > 0;
    });
    // An output's gradient may be an input's gradient.
    if (!isReached.includes(true) && !gradInputs.some((id) => id !== null && open.has(id))) {
      // The gradient of a result that depends only on leaves of the program leads nowhere, but may be requested.
      const isRead = (id: ValueId | null) =>
        retainingPlan.steps.some(({ op }) => op.inputs.includes(id!));
      return gradOutputs.some((id) => isOpen(id) && !isRead(id)) ? new Set() : null;
    }
    const needed = new Set(retainingPlan.outputs);
    retainingPlan.steps.forEach(({ op }, i) => {
      if (isReached[i]) for (const id of op.inputs) needed.add(id);
    });
    // Also values that backward computes only from saved ones. The other terms of a gradient sum don't recur.
    const gradients = derivedFrom(gradOutputs, retainingPlan);
    for (const { op } of retainingPlan.steps.toReversed()) {
      if (op.outputs.some((id) => needed.has(id) && !gradients.has(id)))
        for (const id of op.inputs) needed.add(id);
    }
    return needed;
  }

  /**
   * Notes a backward after which only a replay of the run shows which results are open: its path decides, or it has
   * received gradients of forward values, whose outputs are numbered after the program's.
   */
  closeThrough(part: ClosedResults): void {
    this.#closed.push(part);
    this.isOpenByReplay = true;
    this.#needed = this.#neededOnPath!();
  }

  get allDone(): boolean {
    return this.#needed === null;
  }

  /** The values that later backwards may read. */
  get needed(): ReadonlySet<ValueId> {
    return this.#needed ?? new Set();
  }
}

/** The outputs of a backward, and the gradients it requested. */
type ClosedResults = Pick<BackwardVariant, 'outputs' | 'requested'>;

function isApart(a: ReadonlySet<ValueId>, b: ReadonlySet<ValueId>): boolean {
  for (const id of a) if (b.has(id)) return false;
  return true;
}

/** The values needed after the first backward of a run, cached by its plan. */
const neededAfter = new WeakMap<PartialBackward, ReadonlySet<ValueId> | null>();

/** Whether the path shows what the first backward of a run closes. */
const firstDependsOnPath = new WeakMap<BackwardVariant, boolean>();

const repeatable = new WeakMap<BackwardPart, ReadonlySet<ValueId>>();

/** Returns the gradients that reach the inputs through ops that read only gradients. */
function repeatableGradients(backward: BackwardPart): ReadonlySet<ValueId> {
  let known = repeatable.get(backward);
  if (!known) {
    known = findRepeatable(backward);
    repeatable.set(backward, known);
  }
  return known;
}

function findRepeatable({ gradOutputs, plan, saved }: BackwardPart): ReadonlySet<ValueId> {
  const derived = derivedFrom(gradOutputs, plan);
  /** Forward values, and values computed only from them. */
  const fromForward = new Set(saved.withData);
  for (const { op } of plan.steps) {
    if (!op.inputs.some((id) => fromForward.has(id))) continue;
    for (const id of op.outputs) if (!derived.has(id)) fromForward.add(id);
  }
  const found = new Set(derived);
  for (const { op } of plan.steps.toReversed()) {
    const reads = op.inputs.some((id, i) => fromForward.has(id) && operandUse(op.op, i) === 'data');
    if (!reads && op.outputs.every((id) => found.has(id) || !derived.has(id))) continue;
    for (const id of op.inputs) found.delete(id);
  }
  return gradOutputs.some((id) => found.has(id!)) ? found : new Set();
}

function decides({ steps }: Plan): boolean {
  return steps.some(({ regions }) => regions);
}

/** Returns the gradients that these lead to on all paths. */
function certainlyDerived(given: readonly ValueId[], { steps }: Plan): ReadonlySet<ValueId> {
  const derived = new Set(given);
  for (const { op, regions } of steps) {
    if (regions || !op.inputs.some((id) => derived.has(id))) continue;
    for (const id of op.outputs) derived.add(id);
  }
  return derived;
}

/** Returns the given gradients and everything backward computes from them. */
function derivedFrom(
  gradients: readonly (ValueId | null)[],
  { steps }: Plan,
): ReadonlySet<ValueId> {
  const derived = new Set(gradients.filter((id) => id !== null));
  for (const { op } of steps) {
    if (!op.inputs.some((id) => derived.has(id))) continue;
    for (const id of op.outputs) derived.add(id);
  }
  return derived;
}
