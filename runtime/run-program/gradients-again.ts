import { gradEnabled, noGrad } from '../autograd/grad-mode.ts';
import { attach, type PassOutput, share, type Target } from '../autograd/node.ts';
import type {
  GradientPart,
  GradientProgram,
  GradientRequest,
  GradientsAgain,
} from '../program/gradients-again.ts';
import type { PlannedSubgraph } from '../program/plan.ts';
import type { ValueId, ValueTable } from '../program/program.ts';
import { Tensor } from '../tensor/tensor.ts';
import type { Slot } from './scope.ts';

interface Runnable {
  run(inputs: readonly Tensor[], donated: number, numbers: readonly number[]): Tensor[];
}

/** Makes a planned program runnable on its device. */
type Bind = (planned: PlannedSubgraph) => Runnable;

/** The run whose backward it is. */
interface Run {
  readonly slots: readonly Slot[];
  readonly values: ValueTable;
  /** The host's numbers of the run. */
  readonly numbers: readonly number[];
  /** Where a gradient of a value of forward goes. */
  readonly placeOf: (id: ValueId) => Target;
}

/** The recorded backwards of one subgraph, each made when it is asked for first. */
export class RecordedBackwards {
  readonly #makes: GradientsAgain;
  readonly #bind: Bind;
  readonly #known = new Map<string, RecordedBackward>();

  constructor(makes: GradientsAgain, bind: Bind) {
    this.#makes = makes;
    this.#bind = bind;
  }

  at(request: GradientRequest): RecordedBackward {
    const key = JSON.stringify(request);
    let known = this.#known.get(key);
    if (!known) {
      // No op of it belongs to a program under construction, or is recorded by whoever asks.
      known = new RecordedBackward(
        noGrad(() => this.#makes.at(request)),
        this.#bind,
      );
      this.#known.set(key, known);
    }
    return known;
  }
}

/** A backward whose results have a history: programs run one after the other on tensors. */
export class RecordedBackward {
  readonly program: GradientProgram;
  readonly #runnables = new Map<GradientPart, Runnable>();

  constructor(program: GradientProgram, bind: Bind) {
    this.program = program;
    const { again, parts } = program;
    if (again) this.#runnables.set(again, bind(again.planned));
    for (const { part } of parts) if (part) this.#runnables.set(part, bind(part.planned));
  }

  /**
   * `gradients` are those that are given, in the program's order. Answers one handle per target that the caller
   * owns, null where no gradient flows.
   */
  run(run: Run, gradients: readonly Tensor[], passInner: PassOutput | null): (Tensor | null)[] {
    const { reads, again, given, parts, gradInputs } = this.program;
    const known = new Map<ValueId, Tensor>();
    const owned: Tensor[] = [];
    const define = (id: ValueId, tensor: Tensor): void => {
      known.set(id, tensor);
      owned.push(tensor);
    };
    /** What values of forward are made again from: they may be read as well, at their place in the graph. */
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
      if (again) noGrad(() => compute(again));
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
