import { gradEnabled, noGrad } from '../../autograd/grad-mode.ts';
import { share } from '../../autograd/share.ts';
import type { AutogradError } from '../../errors/errors.ts';
import type { ScalarDependencies, ScalarTable } from '../../ops/numbers/symbolic-number.ts';
import type {
  GradientPart,
  GradientProgram,
  GradientRequest,
  HigherOrderGradients,
  IsOpen,
  RejectedBackward,
  TakenPath,
} from '../../program/higher-order-gradients.ts';
import type { PlannedSubgraph } from '../../program/plan.ts';
import type { GradientContribution, ValueId, ValueTable } from '../../program/program.ts';
import { RecentlyUsed } from '../../program/recently-used.ts';
import { attach, type PassOutput, type Target } from '../../tensor/grad-node.ts';
import { Tensor } from '../../tensor/tensor.ts';
import type { Slot } from '../scope/scope.ts';

interface Runnable {
  run(inputs: readonly Tensor[], donated: number, numbers: readonly number[]): Tensor[];
}

/** Binds a planned program to its device. */
type Bind = (planned: PlannedSubgraph) => Runnable;

/** The forward run to differentiate. */
interface Run {
  readonly slots: readonly Slot[];
  readonly values: ValueTable;
  /** The run's scalar values. */
  readonly numbers: readonly number[];
  /** Returns the gradient target of a forward value. */
  readonly placeOf: (id: ValueId) => Target;
}

/** A recorded backward, and the numbers of the run it was made for. */
interface BuiltBackward {
  readonly backward: RecordedBackward;
  readonly numbers: readonly number[];
  /** The decisions on numbers made while it was built, beyond the guards of the run. */
  readonly dependencies: ScalarDependencies;
}

const independent: ScalarDependencies = { needed: [], decisions: [] };

/** The number of requests whose backwards are cached: a loop has one per iteration count. */
const mostRequests = 64;

/** The recorded backwards of one subgraph, created on first request and cached by recent use. */
export class RecordedBackwards {
  readonly #makes: HigherOrderGradients;
  readonly #bind: Bind;
  readonly #table: ScalarTable | undefined;
  readonly #known = new RecentlyUsed<string, BuiltBackward[]>(mostRequests);
  readonly #open = new RecentlyUsed<string, IsOpen>(mostRequests);

  constructor(makes: HigherOrderGradients, bind: Bind, table: ScalarTable | undefined) {
    this.#makes = makes;
    this.#bind = bind;
    this.#table = table;
  }

  /** Returns the backward for a request. `numbers` are those of the run; gradient rules may depend on them. */
  at(request: GradientRequest, numbers: readonly number[]): RecordedBackward {
    const key = JSON.stringify(request);
    const known = this.#known.get(key, () => []);
    const table = this.#table;
    const fits = ({ dependencies, numbers: own }: BuiltBackward) =>
      !table || table.isAlike(dependencies, own, numbers);
    let existing = known.find(fits);
    if (!existing) {
      existing = this.#make(request, numbers);
      known.push(existing);
    }
    return existing.backward;
  }

  /** Returns the gradient arrivals on the path of a run. */
  arrivals(path: TakenPath, numbers: readonly number[]): readonly GradientContribution[] {
    return this.#ofRun(numbers, () => this.#makes.arrivals(path));
  }

  /** `numbers` is null if the run's are no longer available. */
  eagerRefusal(
    backward: RejectedBackward,
    numbers: readonly number[] | null,
  ): AutogradError | null {
    return this.#ofRun(numbers, () => this.#makes.eagerRefusal(backward));
  }

  /** `numbers` as in `eagerRefusal`. */
  stillOpen(
    after: Pick<RejectedBackward, 'earlier' | 'path'>,
    numbers: readonly number[] | null,
  ): IsOpen {
    const make = () => this.#ofRun(numbers, () => this.#makes.stillOpen(after));
    return this.#table ? make() : this.#open.get(JSON.stringify(after), make);
  }

  #ofRun<T>(numbers: readonly number[] | null, body: () => T): T {
    const make = () => noGrad(body);
    return this.#table && numbers ? this.#table.withInputs(numbers, make).result : make();
  }

  #make(request: GradientRequest, numbers: readonly number[]): BuiltBackward {
    // These ops belong to no program under construction, and must not be recorded by the caller either.
    const make = () => noGrad(() => this.#makes.at(request));
    const { result, dependencies } = this.#table
      ? this.#table.withInputs(numbers, make)
      : { result: make(), dependencies: independent };
    return { backward: new RecordedBackward(result, this.#bind), numbers, dependencies };
  }
}

/** A backward whose results have a history: a sequence of programs on tensors. */
class RecordedBackward {
  readonly program: GradientProgram;
  readonly #runnables = new Map<GradientPart, Runnable>();

  constructor(program: GradientProgram, bind: Bind) {
    this.program = program;
    const { recomputed, parts } = program;
    if (recomputed) this.#runnables.set(recomputed, bind(recomputed.planned));
    for (const { part } of parts) if (part) this.#runnables.set(part, bind(part.planned));
  }

  /**
   * `gradients` are the given ones, in the program's order. Returns one handle per target, owned by the caller;
   * null where no gradient flows.
   */
  run(run: Run, gradients: readonly Tensor[], passInner: PassOutput | null): (Tensor | null)[] {
    const { reads, recomputed, given, parts, gradInputs } = this.program;
    const known = new Map<ValueId, Tensor>();
    const owned: Tensor[] = [];
    const define = (id: ValueId, tensor: Tensor): void => {
      known.set(id, tensor);
      owned.push(tensor);
    };
    /**
     * Returns a handle to a forward value from which others are recomputed. Backward may also read it, at its place
     * in the graph.
     */
    const handleFor = (id: ValueId): Tensor => {
      const handle = handleOf(run, id, run.slots[id]!.holder !== null);
      owned.push(handle);
      return handle;
    };
    const compute = (part: GradientPart): void => {
      const inputs = part.inputs.map((id) => known.get(id) ?? handleFor(id));
      const results = this.#runnables.get(part)!.run(inputs, 0, run.numbers);
      part.outputs.forEach((id, i) => {
        define(id, results[i]!);
      });
    };
    try {
      if (recomputed) noGrad(() => compute(recomputed));
      for (const { id, data, flows } of reads) {
        if (!known.has(id)) define(id, handleOf(run, id, data));
        if (flows && gradEnabled()) attach(known.get(id)!, run.placeOf(id));
      }
      given.forEach((id, i) => {
        known.set(id, gradients[i]!);
      });
      for (const { part, passes } of parts) {
        if (part) compute(part);
        if (!passes) continue;
        let gradient = share(known.get(passes.from)!);
        for (const index of passes.numbers) gradient = passInner!(index, gradient);
        define(passes.to, gradient);
      }
      return gradInputs.map((id) => (id === null ? null : share(known.get(id)!)));
    } finally {
      for (const tensor of owned) tensor.dispose();
    }
  }
}

function handleOf({ slots, values }: Run, id: ValueId, data: boolean): Tensor {
  const { dtype, shape, strides, device } = values[id]!;
  const { holder, offset } = slots[id]!;
  return new Tensor({ dtype, shape, strides, offset, device }, data ? holder!.retain() : null);
}
