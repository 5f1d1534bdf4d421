import { gradEnabled, noGrad, withGradMode } from '../../runtime/autograd/grad-mode.ts';
import type { RunProgramNode } from '../../runtime/run-program/grad-node.ts';
import type { Subgraph } from '../../runtime/run-program/run-program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { Images } from './images.ts';
import { type NamedTensor, type Outcome, outcomeOf } from './outcome.ts';

type Gradient = Tensor | null | undefined;

/** One run of a subgraph, kept so that other plans of the same program can repeat it. */
export class Scenario {
  /** Numbers of the inputs that the run took over. */
  readonly donated: number;
  readonly #inputs: Images;
  readonly #numbers: readonly number[];
  readonly #gradEnabled = gradEnabled();

  constructor(inputs: readonly Tensor[], donated: number, numbers: readonly number[]) {
    this.#inputs = new Images(inputs);
    this.donated = donated;
    this.#numbers = [...numbers];
  }

  /**
   * Repeats the run on copies of its inputs. `takesOver`: the plan was made for inputs that are donated. The
   * node, if one was recorded, is retained for the caller.
   */
  run(subgraph: Subgraph, takesOver = false): { outcome: Outcome; node: RunProgramNode | null } {
    const inputs = this.#inputs.make() as Tensor[];
    let outputs: Tensor[] = [];
    try {
      outputs = withGradMode(this.#gradEnabled, () =>
        subgraph.run(inputs, takesOver ? this.donated : 0, this.#numbers),
      );
      const node = nodeOf(outputs);
      node?.retain();
      return { outcome: outcomeOf(shownByRun(inputs, outputs, this.donated)), node };
    } catch (error) {
      return { outcome: outcomeOf([], error), node: null };
    } finally {
      for (const tensor of [...outputs, ...inputs]) tensor.dispose();
    }
  }

  dispose(): void {
    this.#inputs.dispose();
  }
}

/** What a run shows outside: its outputs, and the inputs after it that it did not take over. */
export function shownByRun(
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  donated: number,
): NamedTensor[] {
  return [
    ...inputs.map((tensor, i) => ({
      name: `input ${i} after the run`,
      tensor: isDonated(donated, i) || !tensor.holder ? null : tensor,
      requiresGrad: false,
    })),
    ...outputs.map((tensor, i) => ({
      name: `output ${i}`,
      tensor,
      requiresGrad: tensor.requiresGrad,
    })),
  ];
}

/** Bits of a number: inputs from 31 on are never donated. */
function isDonated(donated: number, input: number): boolean {
  return input < 31 && ((donated >> input) & 1) === 1;
}

/** The node of the run that made these outputs. */
export function nodeOf(outputs: readonly Tensor[]): RunProgramNode | null {
  for (const output of outputs) {
    const node = output.gradEdge?.node;
    if (node?.name === 'run_program') return node as RunProgramNode;
  }
  return null;
}

/** One call of a node's `apply`, kept with all that came in from outside. */
export class BackwardCall {
  readonly #given: Images;
  readonly #missing: readonly (null | undefined)[];
  readonly #wanted: readonly boolean[];
  /** Gradients that other nodes had brought before, by target. */
  readonly #sums = new Map<number, Images>();
  /** What hooks returned for gradients of inner outputs. */
  readonly #passed = new Map<number, Images>();
  /** Whether somebody looks at gradients of inner outputs. */
  readonly #watches: boolean;

  constructor(given: readonly Gradient[], wanted: readonly boolean[], watches: boolean) {
    this.#given = new Images(given);
    this.#missing = Array.from(given, (gradient) => (gradient === undefined ? undefined : null));
    this.#wanted = wanted;
    this.#watches = watches;
  }

  noteSum(target: number, sum: Tensor | null): void {
    if (sum) this.#sums.set(target, new Images([sum]));
  }

  notePassed(index: number, gradient: Tensor): void {
    this.#passed.set(index, new Images([gradient]));
  }

  /** Repeats the call on another run's node, which keeps what it saved. */
  apply(node: RunProgramNode): Outcome {
    const given = this.#given.make().map((gradient, i) => gradient ?? this.#missing[i]);
    let gradients: readonly (Tensor | null)[] = [];
    try {
      gradients = noGrad(() =>
        node.apply(
          given,
          true,
          this.#wanted,
          (target) => this.#sums.get(target)?.make()[0] ?? null,
          this.#watches ? (index, gradient) => this.#passInner(index, gradient) : null,
        ),
      );
      return outcomeOf(shownByBackward(gradients));
    } catch (error) {
      return outcomeOf([], error);
    } finally {
      for (const tensor of [...given, ...gradients]) tensor?.dispose();
    }
  }

  #passInner(index: number, gradient: Tensor): Tensor {
    const passed = this.#passed.get(index);
    if (!passed) return gradient;
    gradient.dispose();
    return passed.make()[0]!;
  }

  dispose(): void {
    for (const images of [this.#given, ...this.#sums.values(), ...this.#passed.values()]) {
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
