import { gradEnabled } from '../autograd/grad-mode.ts';
import { GradNode, type PassOutput, type TakeSum, type Target } from '../autograd/node.ts';
import { AutogradError } from '../errors/errors.ts';
import { valuesThatMayMiss } from '../program/missing-gradients.ts';
import type { BackwardPart, Plan } from '../program/plan.ts';
import type { ValueId } from '../program/program.ts';
import { formatSpec } from '../tensor/meta.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { continueSums } from './continued-sums.ts';
import { enterDynamic, isDynamic } from './dynamic-outputs.ts';
import { enter } from './enter.ts';
import { Executable } from './executor.ts';
import { asPlanned, innerOutputsOf, partsAtOutputs } from './inner-outputs.ts';
import { type PartialBackward, partialBackward } from './partial-backward.ts';
import type { Subgraph } from './run-program.ts';
import type { Scope } from './scope.ts';

/** The backward programs of a subgraph, bound when the first backward of their kind runs. */
const executables = new WeakMap<object, Executable>();

/** A backward plan, and its gradients. */
type RunningPart = Pick<PartialBackward, 'plan' | 'gradInputs'>;

/** Per plan, by the inputs whose sums go on from what was there. */
const continued = new WeakMap<Plan, Map<string, Plan>>();

/** Per plan, by the missing gradients. */
const partials = new WeakMap<Plan, Map<string, PartialBackward>>();

/**
 * The one node of a run of a subgraph. It keeps the scope locked, in which only the values that
 * backward reads still have data; of no-need-buffer values there is nothing but their compile-time meta.
 */
export class RunProgramNode extends GradNode {
  override readonly name = 'run_program';
  readonly #subgraph: Subgraph;
  readonly #scope: Scope;
  readonly #versions: readonly number[];
  /** What backwards that didn't retain the graph have undone, of results that hang on nothing else. */
  readonly #undone = new Set<ValueId>();
  /** The backwards that may still come. */
  #open: readonly PartialBackward[] = [];

  constructor(subgraph: Subgraph, scope: Scope, targets: readonly Target[], owners: number) {
    super(targets, owners);
    this.#subgraph = subgraph;
    this.#scope = scope;
    this.#versions = this.#backward.saved.withData.map((id) => scope.slots[id]!.holder!.version);
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    _wanted: readonly boolean[],
    takeSum: TakeSum,
    passInner: PassOutput | null,
  ): (Tensor | null)[] {
    refuseGraph();
    const missing = this.#missing(gradOutputs);
    this.#checkVersions(missing);
    const part = this.#part(missing, retainGraph);
    try {
      const plan = this.#continued(part, takeSum);
      return this.#run(plan, part.gradInputs, gradOutputs, passInner);
    } catch (error) {
      this.#afterFailure(retainGraph);
      throw error;
    }
  }

  override leadsTo(outputs: ReadonlySet<number>): readonly boolean[] | null {
    const { plan, gradOutputs } = this.#backward;
    const missing = gradOutputs.filter((id, i) => id !== null && !outputs.has(i)) as ValueId[];
    if (missing.length === 0) return null;
    return this.#partial(plan, new Set(missing)).gradInputs.map((id) => id !== null);
  }

  /**
   * What these gradients make of the backward program. Results that don't hang together are differentiated one
   * by one, as the graphs that they are eagerly: what the others need stays.
   */
  #part(missing: ReadonlySet<ValueId>, retainGraph: boolean): RunningPart {
    const { plan, retainingPlan, gradInputs, gradOutputs } = this.#backward;
    if (missing.size === 0 && this.#undone.size === 0) {
      this.#open = [];
      return { plan: retainGraph ? retainingPlan : plan, gradInputs };
    }
    const { undone } = this.#partial(plan, missing);
    this.#refuseTwice(undone);
    if (retainGraph) return this.#partial(retainingPlan, missing);
    for (const id of undone) this.#undone.add(id);
    const given = gradOutputs.filter((id) => id !== null);
    this.#open = given
      .filter((id) => missing.has(id))
      .map((id) => this.#partial(plan, new Set(given.filter((other) => other !== id))))
      .filter((other) => isApart(other.undone, this.#undone));
    return this.#partial(this.#open.length > 0 ? retainingPlan : plan, missing);
  }

  #refuseTwice(undone: ReadonlySet<ValueId>): void {
    if (isApart(undone, this.#undone)) return;
    throw new AutogradError({
      what: 'backward through run_program a second time',
      given: 'a graph whose saved values were given back by an earlier backward',
      expected: 'a graph that was not yet differentiated',
      remedy: 'pass { retainGraph: true } to the first backward, or run the forward pass again',
    });
  }

  /** While some results may still be differentiated, what they need stays. */
  override finish(): void {
    if (this.#open.length === 0) {
      this.consume();
      return;
    }
    const needed = new Set(
      this.#open.flatMap(({ plan }) => plan.steps.flatMap(({ op }) => op.inputs)),
    );
    for (const { plan } of this.#open) for (const id of plan.outputs) needed.add(id);
    for (const id of this.#backward.saved.withData) {
      if (!needed.has(id)) this.#scope.slots[id]!.release();
    }
  }

  #run(
    plan: Plan,
    gradInputs: BackwardPart['gradInputs'],
    gradOutputs: readonly (Tensor | null | undefined)[],
    passInner: PassOutput | null,
  ): (Tensor | null)[] {
    const { slots } = this.#scope;
    this.#backward.gradOutputs.forEach((id, i) => {
      const gradient = gradOutputs[i];
      if (id === null || !gradient || plan.unusedInputs.includes(id)) return;
      const meta = this.#subgraph.planned.values[id]!;
      if (isDynamic(meta, gradient)) enterDynamic(slots[id]!, gradient);
      else enter(slots[id]!, gradient, meta);
      // The scope is the only owner now: the gradient dies at its last use in the program.
      gradient.dispose();
    });
    if (passInner) this.#runInParts(plan, passInner);
    else this.#executable(plan).run(this.#scope);
    // Null as well where the way that the run took brings none.
    const results = gradInputs.map((id) =>
      id === null || !slots[id]!.holder ? null : this.#subgraph.take(slots, id),
    );
    for (const id of plan.freesAtEnd) slots[id]!.release();
    return results;
  }

  /** Between two parts a gradient of an output goes through the hands of whoever asked for it. */
  #runInParts(plan: Plan, passInner: PassOutput): void {
    const { slots } = this.#scope;
    for (const { part, output } of partsAtOutputs(plan)) {
      this.#executable(part, plan).run(this.#scope);
      if (!output) continue;
      const { id, numbers } = output;
      if (!slots[id]!.holder) continue;
      let gradient = this.#subgraph.take(slots, id);
      slots[id]!.release();
      for (const index of numbers) gradient = passInner(index, gradient);
      const meta = this.#subgraph.planned.values[id]!;
      if (isDynamic(meta, gradient)) enterDynamic(slots[id]!, gradient);
      else {
        gradient = asPlanned(gradient, meta);
        slots[id]!.put(gradient.holder!.retain(), gradient.offset);
      }
      gradient.dispose();
    }
  }

  override get innerOutputs(): ReadonlySet<number> | null {
    return innerOutputsOf(this.#backward.plan);
  }

  /** The plan that adds to what has arrived for the inputs so far, which enters the scope. */
  #continued({ plan, gradInputs }: RunningPart, takeSum: TakeSum): Plan {
    const { continuedSums } = this.#subgraph;
    const going: number[] = [];
    for (const { target, sum } of continuedSums) {
      const earlier = gradInputs[target] === null ? null : takeSum(target);
      if (!earlier) continue;
      enter(this.#scope.slots[sum.earlier]!, earlier, this.#subgraph.values[sum.earlier]!);
      earlier.dispose();
      going.push(target);
    }
    if (going.length === 0) return plan;
    let ofPlan = continued.get(plan);
    if (!ofPlan) {
      ofPlan = new Map();
      continued.set(plan, ofPlan);
    }
    const key = going.join();
    let known = ofPlan.get(key);
    if (!known) {
      const sums = continuedSums.flatMap(({ target, sum }) =>
        going.includes(target) ? [sum] : [],
      );
      known = continueSums(plan, sums);
      ofPlan.set(key, known);
    }
    return known;
  }

  /** As if it hadn't begun; without `retainGraph` saved values may be gone, so nobody runs it again. */
  #afterFailure(retainGraph: boolean): void {
    if (!retainGraph) {
      this.consume();
      return;
    }
    const saved = new Set<number>(this.#backward.saved.withData);
    this.#scope.slots.forEach((slot, id) => {
      if (!saved.has(id)) slot.release();
    });
  }

  protected override releaseSaved(): void {
    this.#subgraph.scopes.giveBack(this.#scope);
  }

  get #backward(): BackwardPart {
    return this.#subgraph.planned.backward!;
  }

  /** `whole`: the plan that it is a part of, in which gradients may miss that the part goes on with. */
  #executable(plan: Plan, whole = plan): Executable {
    const existing = executables.get(plan);
    if (existing) return existing;
    const mayMiss = whole === plan ? [] : valuesThatMayMiss(whole.steps.map(({ op }) => op));
    const executable = new Executable(plan, this.#subgraph.values, [...mayMiss]);
    executables.set(plan, executable);
    return executable;
  }

  /** The outputs that the user's loss doesn't depend on. */
  #missing(gradOutputs: readonly (Tensor | null | undefined)[]): ReadonlySet<ValueId> {
    const missing = new Set<ValueId>();
    this.#backward.gradOutputs.forEach((id, i) => {
      if (id !== null && !gradOutputs[i]) missing.add(id);
    });
    return missing;
  }

  #partial(plan: Plan, missing: ReadonlySet<ValueId>): PartialBackward {
    const key = [...missing].join();
    let parts = partials.get(plan);
    if (!parts) {
      parts = new Map();
      partials.set(plan, parts);
    }
    let part = parts.get(key);
    if (!part) {
      part = partialBackward(this.#backward, plan, this.#subgraph.planned.values, missing);
      parts.set(key, part);
    }
    return part;
  }

  /** Of what these gradients need: what only others would need may have changed. */
  #checkVersions(missing: ReadonlySet<ValueId>): void {
    const { slots } = this.#scope;
    const { plan, saved } = this.#backward;
    const reads = missing.size > 0 ? this.#partial(plan, missing).reads : null;
    saved.withData.forEach((id, i) => {
      if (reads && !reads.has(id)) return;
      const { holder } = slots[id]!;
      // Given back: nobody asks for it any more.
      if (!holder || holder.version === this.#versions[i]) return;
      throw new AutogradError({
        what: 'backward of run_program: a value that it needs was changed in place',
        given: `%${id}, a ${formatSpec(this.#subgraph.planned.values[id]!)} tensor, written since forward`,
        expected: 'the data that the forward pass saw',
        remedy: 'use the out-of-place form of the op that changed it, or change a clone()',
      });
    });
  }
}

function refuseGraph(): void {
  if (!gradEnabled()) return;
  throw new AutogradError({
    what: 'run_program: a gradient of a gradient that is not known',
    given: 'a backward with createGraph through a compiled function',
    expected: 'ops whose gradients can be differentiated again',
    remedy: 'leave createGraph out, or run the function uncompiled here',
  });
}

function isApart(a: ReadonlySet<ValueId>, b: ReadonlySet<ValueId>): boolean {
  for (const id of a) if (b.has(id)) return false;
  return true;
}
