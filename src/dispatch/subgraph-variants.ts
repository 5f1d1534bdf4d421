import type { Device } from '../../runtime/device/device.ts';
import { events } from '../../runtime/memory/events.ts';
import { holdsLines } from '../../runtime/program/checks.ts';
import { hasControl } from '../../runtime/program/plan.ts';
import type { ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { writtenInputs } from '../../runtime/program/writes.ts';
import type { Subgraph } from '../../runtime/run-program/run-program.ts';
import { sharedWritten } from '../../runtime/tensor/shared-memory.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { SubgraphStages } from '../programs/stages.ts';
import type { CurrentPlan, ReadySubgraph } from './current-plan.ts';
import type { CopiesViews, SavedInput } from './ownership/saved-views.ts';
import type { ReadByGradients } from './read-by-gradients.ts';
import type { Recomputing } from './step-budget.ts';

/** The facts that the plan of a subgraph may assume in one call. */
export interface PlanChoice {
  /** Indices of the inputs that are dead after the call: the program frees or overwrites them. */
  readonly donated: readonly number[];
  /** Whether two inputs share memory and one of them is written: the ops then run in the traced order. */
  readonly asTraced: boolean;
  /** For a file that any device may load: uses only dtypes that all devices have. */
  readonly portable?: boolean;
  /** Views to copy, so that backward keeps no larger memory. */
  readonly compact: readonly ValueId[];
  /**
   * The exchange rate between bytes and arithmetic at which backward recomputes forward; null: only to fit the
   * subgraph's own budget.
   */
  readonly rate: number | null;
}

const none: readonly number[] = [];

/** With more patterns of donation than this at one entry, calls differ too much for a plan each. */
const variantLimit = 8;

/** The plans at one exchange rate between bytes and arithmetic, if several subgraphs share a budget. */
interface PlansAtRate {
  readonly rate: number | null;
  /** The plan for calls that donate nothing. */
  readonly usual: CurrentPlan;
  /** Plans by the bit set of their donated inputs. */
  readonly donating: Map<number, CurrentPlan>;
  readonly numbers: Map<CurrentPlan, readonly number[]>;
  keptInputBytes: number | undefined;
}

function plansOf(rate: number | null, usual: CurrentPlan): PlansAtRate {
  return { rate, usual, donating: new Map(), numbers: new Map(), keptInputBytes: undefined };
}

/** Returns the bytes of inputs that backward keeps, directly or as views. */
function keptInputBytes({ forward, planned }: SubgraphStages, crossing: readonly number[]): number {
  const sources = new Map<ValueId, ValueId>();
  const sourceOf = (id: ValueId): ValueId => sources.get(id) ?? id;
  for (const { op, inputs, outputs } of forward.ops) {
    if (op.kernel.kind === 'view') sources.set(outputs[0]!, sourceOf(inputs[0]!));
  }
  const kept = new Set(planned.backward?.saved.withData.map(sourceOf));
  const inputs = crossing.map((i) => forward.inputs[i]!).filter((id) => kept.has(id));
  return inputs.reduce((sum, id) => sum + bytesOf(planned.values, id), 0);
}

/** The plans of one subgraph. Which inputs die in a call, and which share memory, is known only when it runs. */
export class SubgraphVariants implements CopiesViews, Recomputing {
  /** The plan that donates nothing, without a rate. */
  readonly #plain: CurrentPlan;
  /** Its plans at the current rate. */
  #plans: PlansAtRate;
  /** The subgraph that ran last. */
  last: Subgraph;
  /** Inputs that its backward keeps, and could keep copies of. */
  lastSavedInputs: readonly SavedInput[];
  /** Indices of the inputs that were donated to it. */
  lastDonated: readonly number[] = [];
  readonly #compile: (choice: PlanChoice) => CurrentPlan;
  /** Views to copy from now on, in order. */
  #compact: readonly ValueId[] = [];
  #asTraced: CurrentPlan | undefined;
  #portable: CurrentPlan | undefined;
  readonly #atRates = new Map<number | null, PlansAtRate>();
  /** Indices of the inputs that come from earlier subgraphs of a call. */
  readonly #crossing: readonly number[];
  /** Indices of the inputs that the program writes in place. */
  readonly written: readonly number[];
  /** Whether a check may fail after a line was logged. */
  readonly holdsLines: boolean;
  /** Whether it has control ops, whose decisions determine its bytes. */
  readonly decides: boolean;
  /** The inputs whose data gradients read in the plan for calls whose inputs share memory. */
  #readByGradients: ReadByGradients | undefined;
  /** Null if no gradient reads data. */
  readonly #readByGradientsOf: ((stages: SubgraphStages) => ReadByGradients) | null;
  /** Inputs that the trace knew to be views of one memory. */
  readonly #viewsOfOne: readonly (readonly number[])[];
  readonly device: Device;

  constructor(
    usual: CurrentPlan,
    readByGradientsOf: ((stages: SubgraphStages) => ReadByGradients) | null,
    compile: (choice: PlanChoice) => CurrentPlan,
    crossing: readonly number[],
    viewsOfOne: readonly (readonly number[])[],
  ) {
    const { subgraph, savedInputs } = usual.ready;
    this.#readByGradientsOf = readByGradientsOf;
    this.#plain = usual;
    this.#plans = plansOf(null, usual);
    this.#atRates.set(null, this.#plans);
    this.last = subgraph;
    this.lastSavedInputs = savedInputs;
    const { inputs, steps } = subgraph.planned.forward;
    this.written = writtenInputs({ inputs, ops: steps.map(({ op }) => op) });
    this.holdsLines = holdsLines(steps);
    this.decides = hasControl(steps);
    this.device = subgraph.planned.values[0]!.device;
    this.#compile = compile;
    this.#crossing = crossing;
    this.#viewsOfOne = viewsOfOne;
  }

  /** `donated`: a bit set of inputs. `numbers`: the scalar inputs. */
  run(inputs: readonly Tensor[], donated: number, numbers: readonly number[]): Tensor[] {
    const takes = this.#next(inputs, donated);
    return this.last.run(inputs, takes ? donated : 0, numbers);
  }

  /** Runs with an asynchronous backend. Calls whose inputs share memory run kernel by kernel. */
  async runAsync(
    inputs: readonly Tensor[],
    donated: number,
    numbers: readonly number[],
  ): Promise<Tensor[]> {
    const taken = this.#next(inputs, donated) ? donated : 0;
    const { last } = this;
    return last.isAsync ? last.runAsync(inputs, taken, numbers) : last.run(inputs, taken, numbers);
  }

  /** Selects the plan of this run. Returns whether inputs are donated to it. */
  #next(inputs: readonly Tensor[], donated: number): boolean {
    const plan = this.#choose(inputs, donated);
    const { subgraph, savedInputs } = plan.isFinal ? plan.ready : plan.next();
    this.last = subgraph;
    this.lastSavedInputs = savedInputs;
    this.lastDonated = this.#plans.numbers.get(plan) ?? none;
    return plan !== this.#plans.usual && plan !== this.#asTraced;
  }

  /** Makes later runs keep copies of these views, too. */
  copyViews(views: readonly ValueId[]): void {
    const compact = [...new Set([...this.#compact, ...views])].sort((a, b) => a - b);
    if (compact.length === this.#compact.length) return;
    this.#compact = compact;
    const { rate } = this.#plans;
    this.#atRates.clear();
    this.#plans = this.#plansAt(rate);
  }

  planAt(rate: number | null): ReadySubgraph {
    return this.#plansAt(rate).usual.ready;
  }

  recomputeAt(rate: number | null): void {
    this.#plans = this.#plansAt(rate);
  }

  keptInputBytes(rate: number | null): number {
    const plans = this.#plansAt(rate);
    plans.keptInputBytes ??= keptInputBytes(plans.usual.ready.stages, this.#crossing);
    return plans.keptInputBytes;
  }

  /** A subgraph without a backward keeps nothing, so its plan doesn't depend on the rate. */
  #plansAt(requested: number | null): PlansAtRate {
    const { backward } = this.#plain.ready.stages.planned;
    const rate = backward === null ? null : requested;
    let plans = this.#atRates.get(rate);
    if (!plans) {
      const compact = this.#compact;
      const usual = this.#compile({ donated: none, asTraced: false, compact, rate });
      plans = plansOf(rate, usual);
      this.#atRates.set(rate, plans);
    }
    return plans;
  }

  /** The current plan for calls that donate nothing. */
  get usual(): ReadySubgraph {
    return this.#plans.usual.ready;
  }

  get isFinal(): boolean {
    return this.#all().every((plan) => plan.isFinal);
  }

  /** Makes the final plans of everything run so far. */
  finish(): void {
    for (const plan of this.#all()) plan.finish();
    this.last = this.#plans.usual.ready.subgraph;
  }

  #all(): CurrentPlan[] {
    const asTraced = this.#asTraced ? [this.#asTraced] : [];
    return [this.#plans.usual, ...this.#plans.donating.values(), ...asTraced];
  }

  /** The final plan for a file: in the traced order if inputs of a call have shared memory. */
  get portable(): Subgraph {
    const { stages, subgraph } = (this.#asTraced ?? this.#plain).finish();
    const { savedPlaces, offload } = stages.passes;
    if (!savedPlaces?.applied && !offload?.applied) return subgraph;
    const choice = { donated: none, asTraced: false, compact: [], rate: null };
    this.#portable ??= this.#compile({ ...choice, portable: true });
    return this.#portable.finish().subgraph;
  }

  /**
   * Whether an input that gradients read shares memory with one that is written. Eager execution detects such writes by
   * memory versions, but a program treats its inputs as separate memories.
   */
  aliasesWritten(inputs: readonly Tensor[]): boolean {
    if (!this.#readByGradientsOf || this.written.length === 0) return false;
    if (sharedWritten(inputs, this.written) < 0) return false;
    // Such a call runs the plan in the traced order. The usual one may read before a write what the code reads after it.
    this.#readByGradients ??= this.#readByGradientsOf(this.#tracedPlan().ready.stages);
    const { saved, afterWrites } = this.#readByGradients;
    const isWritten = (i: number, isApart: (k: number) => boolean): boolean => {
      const { holder } = inputs[i]!;
      return this.written.some((k) => k !== i && inputs[k]!.holder === holder && !isApart(k));
    };
    // A backward inside the program was traced with the versions of these inputs' one memory.
    const knownWith = (i: number) => {
      const known = this.#viewsOfOne.find((group) => group.includes(i)) ?? none;
      return (k: number) => known.includes(k);
    };
    return (
      saved.some((i) => isWritten(i, () => false)) ||
      afterWrites.some((i) => isWritten(i, knownWith(i)))
    );
  }

  #choose(inputs: readonly Tensor[], donated: number): CurrentPlan {
    if (this.written.length > 0 && sharedWritten(inputs, this.written) >= 0)
      return this.#tracedPlan();
    return donated === 0 ? this.#plans.usual : (this.#donatingOf(donated) ?? this.#plans.usual);
  }

  #donatingOf(donated: number): CurrentPlan | undefined {
    const known = this.#plans.donating.get(donated);
    if (known || this.#plans.donating.size >= variantLimit) return known;
    const numbers = numbersIn(donated);
    const variant = this.#compile({
      donated: numbers,
      asTraced: false,
      compact: this.#compact,
      rate: this.#plans.rate,
    });
    this.#plans.donating.set(donated, variant);
    this.#plans.numbers.set(variant, numbers);
    return variant;
  }

  #tracedPlan(): CurrentPlan {
    this.#asTraced ??= this.#compile({ donated: none, asTraced: true, compact: [], rate: null });
    return this.#asTraced;
  }
}

function numbersIn(bits: number): number[] {
  const numbers: number[] = [];
  for (let i = 0; bits >> i > 0; i++) if ((bits >> i) & 1) numbers.push(i);
  return numbers;
}

let calls = 0;

/** Records the start and end of a subgraph's run as events, so that a log shows it. */
export function runMarked(
  subgraph: SubgraphVariants,
  inputs: readonly Tensor[],
  donated: number,
  numbers: readonly number[],
): Tensor[] {
  const call = calls++;
  if (!events.active) return subgraph.run(inputs, donated, numbers);
  events.mark(`START SOT_CALL_${call}`);
  try {
    return subgraph.run(inputs, donated, numbers);
  } finally {
    events.mark(`END SOT_CALL_${call}`);
  }
}
