import { enableGrad, gradEnabled, noGrad, withGradMode } from '../../runtime/autograd/grad-mode.ts';
import { notingCalls, repeatingCalls } from '../../runtime/run-program/control/called-numbers.ts';
import { droppingLines } from '../../runtime/run-program/control/lines.ts';
import type { RunProgramNode } from '../../runtime/run-program/grad-node.ts';
import type { Subgraph } from '../../runtime/run-program/run-program.ts';
import { attach, type RequestedGradients, targetOf } from '../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { Images } from './images.ts';
import { type NamedTensor, type Outcome, outcomeOf } from './outcome.ts';

type Gradient = Tensor | null | undefined;

/** One run of a subgraph, recorded so that other plans of the same program can repeat it. */
export class Scenario {
  /** Indices of the inputs that were donated to the run, as a bit set. */
  readonly donated: number;
  #owners = 1;
  readonly #inputs: Images;
  readonly #numbers: readonly number[];
  /** Numbers that `Math.random()` and the clock returned in the program. */
  readonly #called: number[] = [];
  readonly #gradEnabled = gradEnabled();
  /** Whether each input is visible after the run: not if it was donated or has no data. */
  readonly #isShown: readonly boolean[];

  constructor(inputs: readonly Tensor[], donated: number, numbers: readonly number[]) {
    this.#inputs = new Images(inputs);
    this.donated = donated;
    this.#numbers = [...numbers];
    this.#isShown = inputs.map(({ holder }, i) => holder !== null && !isDonated(donated, i));
  }

  /** Makes the run that is to be repeated. */
  first<T>(run: () => T): T {
    return notingCalls(this.#called, run);
  }

  /**
   * Repeats the run on copies of its inputs. `takesOver`: whether the plan was made for donated inputs. If a node was
   * recorded, it is retained for the caller.
   */
  run(subgraph: Subgraph, takesOver = false): { outcome: Outcome; node: RunProgramNode | null } {
    const inputs = this.#inputs.make() as Tensor[];
    let outputs: Tensor[] = [];
    try {
      outputs = withGradMode(this.#gradEnabled, () =>
        repeatingCalls(this.#called, () =>
          subgraph.run(inputs, takesOver ? this.donated : 0, this.#numbers),
        ),
      );
      const node = nodeOf(outputs);
      node?.retain();
      return { outcome: outcomeOf(this.shown(inputs, outputs)), node };
    } catch (error) {
      return { outcome: outcomeOf([], error), node: null };
    } finally {
      for (const tensor of [...outputs, ...inputs]) tensor.dispose();
    }
  }

  /**
   * Repeats the run on the user's own inputs, in their previous state, and on copies of donated ones. The outputs are
   * the user's.
   */
  runForUser(subgraph: Subgraph, inputs: readonly Tensor[]): Tensor[] {
    const copies = this.#inputs.make();
    const versions = inputs.map(({ holder }) => holder?.version);
    this.#inputs.writeTo(inputs);
    inputs.forEach(({ holder }, i) => {
      // Memory that neither run writes remains valid for backwards that saved it.
      if (holder) holder.version = versions[i]!;
    });
    const operands = inputs.map((input, i) =>
      isDonated(this.donated, i) && copies[i] ? attach(copies[i], targetOf(input)) : input,
    );
    try {
      return repeatingCalls(this.#called, () =>
        droppingLines(() => subgraph.run(operands, 0, this.#numbers)),
      );
    } finally {
      for (const copy of copies) copy?.dispose();
    }
  }

  /** Returns the tensors that are visible after a run: its outputs, and the inputs that were not donated. */
  shown(inputs: readonly Tensor[], outputs: readonly Tensor[]): NamedTensor[] {
    return [
      ...inputs.map((tensor, i) => ({
        name: `input ${i} after the run`,
        tensor: this.#isShown[i] ? tensor : null,
        requiresGrad: false,
      })),
      ...outputs.map((tensor, i) => ({
        name: `output ${i}`,
        tensor,
        requiresGrad: tensor.requiresGrad,
      })),
    ];
  }

  /** Adds an owner for a later comparison. Returns a function that releases it. */
  retain(): () => void {
    this.#owners++;
    return () => this.dispose();
  }

  /** Releases an owner; the last one frees the copies. */
  dispose(): void {
    if (--this.#owners === 0) this.#inputs.dispose();
  }
}

/** Whether the input is donated: inputs from index 31 on never are. */
function isDonated(donated: number, input: number): boolean {
  return input < 31 && ((donated >> input) & 1) === 1;
}

/** Returns the node of the run that computed these outputs. */
export function nodeOf(outputs: readonly Tensor[]): RunProgramNode | null {
  for (const output of outputs) {
    const node = output.gradEdge?.node;
    if (node?.name === 'run_program') return node as RunProgramNode;
  }
  return null;
}

/** One call of a node's `apply`, recorded with all of its inputs. */
export class BackwardCall {
  readonly #gradients: Images;
  readonly #missing: readonly (null | undefined)[];
  readonly #requested: readonly boolean[];
  readonly #only: RequestedGradients | null;
  /** Contributions that other nodes made earlier, by target. */
  readonly #sums = new Map<number, Images>();
  /** The gradients that hooks returned for intermediate outputs. */
  readonly #passed = new Map<number, Images>();
  /** Whether hooks read gradients of intermediate outputs. */
  readonly #watches: boolean;
  /** `createGraph`: the gradients are recorded, by differentiable rules that may round differently. */
  readonly #createGraph = gradEnabled();
  /** Whether each incoming gradient has a history. */
  readonly #recorded: readonly boolean[];
  readonly #recordedSums = new Set<number>();

  constructor(
    gradients: readonly Gradient[],
    requested: readonly boolean[],
    watches: boolean,
    only: RequestedGradients | null,
  ) {
    this.#gradients = new Images(gradients);
    this.#missing = Array.from(gradients, (gradient) =>
      gradient === undefined ? undefined : null,
    );
    this.#recorded = Array.from(gradients, (gradient) => gradient?.requiresGrad ?? false);
    this.#requested = requested;
    this.#only = only;
    this.#watches = watches;
  }

  noteSum(target: number, sum: Tensor | null): void {
    if (!sum) return;
    this.#sums.set(target, new Images([sum]));
    if (sum.requiresGrad) this.#recordedSums.add(target);
  }

  notePassed(index: number, gradient: Tensor): void {
    this.#passed.set(index, new Images([gradient]));
  }

  /** Repeats the call on another run's node, which keeps its saved values. */
  apply(node: RunProgramNode): Outcome {
    const gradOutputs = this.#gradients.make().map((gradient, i) => {
      if (gradient && this.#recorded[i]) gradient.requiresGrad_();
      return gradient ?? this.#missing[i];
    });
    const mode = this.#createGraph ? enableGrad : noGrad;
    let gradients: readonly (Tensor | null)[] = [];
    try {
      gradients = mode(() =>
        node.apply(
          gradOutputs,
          true,
          this.#requested,
          (target) => this.#sumAt(target),
          this.#watches ? (index, gradient) => this.#passInner(index, gradient) : null,
          this.#only,
        ),
      );
      return outcomeOf(shownByBackward(gradients));
    } catch (error) {
      return outcomeOf([], error);
    } finally {
      for (const tensor of [...gradOutputs, ...gradients]) tensor?.dispose();
    }
  }

  #sumAt(target: number): Tensor | null {
    const sum = this.#sums.get(target)?.make()[0] ?? null;
    if (sum && this.#recordedSums.has(target)) sum.requiresGrad_();
    return sum;
  }

  #passInner(index: number, gradient: Tensor): Tensor {
    const passed = this.#passed.get(index);
    if (!passed) return gradient;
    gradient.dispose();
    return passed.make()[0]!;
  }

  dispose(): void {
    for (const images of [this.#gradients, ...this.#sums.values(), ...this.#passed.values()]) {
      images.dispose();
    }
  }
}

export function shownByBackward(gradients: readonly (Tensor | null)[]): NamedTensor[] {
  return gradients.map((tensor, i) => ({
    name: `gradient of input ${i}`,
    tensor,
    requiresGrad: false,
  }));
}
