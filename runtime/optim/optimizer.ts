import { noGrad } from '../autograd/grad-mode.ts';
import { deviceGuard } from '../device/current.ts';
import { ArgumentError } from '../errors/errors.ts';
import { zeros } from '../ops/create.ts';
import { keep, tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { loadState, type OptimizerState } from './optimizer-state.ts';

/** Parameters with rates of their own; what is left out is as for all. */
export interface ParameterGroupOptions {
  readonly parameters: Iterable<Tensor>;
  readonly lr?: number;
  readonly weightDecay?: number;
}

/** Schedules assign to the rates between steps. */
export interface ParameterGroup {
  readonly parameters: readonly Tensor[];
  lr: number;
  weightDecay: number;
}

export type Parameters = Iterable<Tensor> | Iterable<ParameterGroupOptions>;

/** One parameter in one step. */
export interface Update {
  readonly target: Tensor;
  readonly grad: Tensor;
  readonly group: ParameterGroup;
  /** Position among all parameters, which is that of its state. */
  readonly index: number;
  /** Steps that this parameter has taken, this one included. */
  readonly count: number;
}

/**
 * Changes parameters in place by their gradients. State is made with the optimizer, not at the first
 * step, so that every step does the same work and a captured step needs no second program.
 */
export abstract class Optimizer {
  readonly groups: readonly ParameterGroup[];
  /** Of all groups, each once. */
  readonly parameters: readonly Tensor[];
  /** Per parameter, the steps that it has taken: steps without gradient don't count. */
  readonly counts: number[];
  /** Tensors by what they are, one per parameter. */
  readonly #state = new Map<string, readonly Tensor[]>();

  constructor(parameters: Parameters, lr: number, weightDecay = 0) {
    this.groups = groupsOf(parameters).map((group) => ({
      parameters: [...group.parameters],
      lr: nonNegative('lr', group.lr ?? lr),
      weightDecay: nonNegative('weightDecay', group.weightDecay ?? weightDecay),
    }));
    this.parameters = this.groups.flatMap((group) => group.parameters);
    this.counts = this.parameters.map(() => 0);
    if (this.parameters.length === 0) {
      throw new ArgumentError({
        what: 'optimizer: nothing to optimize',
        given: 'no parameters',
        expected: 'at least one tensor that requires a gradient',
        remedy: 'pass model.parameters(), and wrap weights of your own modules in parameter(…)',
      });
    }
  }

  /** Learning rate of the first group; assigning sets that of every group. */
  get lr(): number {
    return this.groups[0]!.lr;
  }

  set lr(value: number) {
    for (const group of this.groups) group.lr = nonNegative('lr', value);
  }

  /** One update of every parameter that has a gradient. */
  step(): void {
    noGrad(() => {
      let index = 0;
      for (const group of this.groups) {
        for (const target of group.parameters) {
          this.stepOne(target, group, index++);
        }
      }
    });
  }

  /** An ordinary method, so that a captured step is followed into it. */
  protected stepOne(target: Tensor, group: ParameterGroup, index: number): void {
    const { grad } = target;
    if (!grad) return;
    const count = this.counts[index]! + 1;
    this.counts[index] = count;
    tidy(() => this.update({ target, grad, group, index, count }));
  }

  /** Runs without recording, inside `tidy`. */
  protected abstract update(update: Update): void;

  /** State that starts as zeros (or `value`), one tensor per parameter, on its device. */
  protected newState(name: string): readonly Tensor[] {
    const tensors = this.parameters.map((tensor) =>
      keep(deviceGuard(tensor.device, () => zeros(tensor.shape, { dtype: tensor.dtype }))),
    );
    this.#state.set(name, tensors);
    return tensors;
  }

  /** Gives the gradients back; the next backward starts from none. */
  zeroGrad(): void {
    for (const tensor of this.parameters) {
      tensor.grad?.dispose();
      tensor.grad = null;
    }
  }

  /** Everything that a step depends on but the parameters. The tensors are the optimizer's own. */
  stateDict(): OptimizerState {
    return {
      groups: this.groups.map(({ lr, weightDecay }) => ({ lr, weightDecay })),
      counts: [...this.counts],
      state: Object.fromEntries(this.#state),
    };
  }

  /** Copies such a state, of an optimizer of the same kind and parameters, into this one. */
  loadStateDict(state: OptimizerState): void {
    loadState(this.stateDict(), state);
    state.groups.forEach((group, i) => {
      Object.assign(this.groups[i]!, { lr: group.lr, weightDecay: group.weightDecay });
    });
    this.counts.splice(0, this.counts.length, ...state.counts);
  }

  /** Gives back the state, not the parameters. */
  dispose(): void {
    for (const tensors of this.#state.values()) for (const tensor of tensors) tensor.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** A parameter given twice is updated once. */
function groupsOf(parameters: Parameters): ParameterGroupOptions[] {
  const given = [...parameters] as (Tensor | ParameterGroupOptions)[];
  const groups = given.every((item) => 'parameters' in item)
    ? given
    : [{ parameters: given as Tensor[] }];
  const seen = new Set<Tensor>();
  return groups.map((group) => {
    const own = [...new Set(group.parameters)];
    if (own.some((tensor) => seen.has(tensor))) {
      throw new ArgumentError({
        what: 'optimizer: a parameter in two groups',
        given: `${groups.length} groups that share a parameter`,
        expected: 'each parameter in one group, whose rates it follows',
        remedy: 'leave it out of one of them',
      });
    }
    for (const tensor of own) seen.add(tensor);
    return { ...group, parameters: own };
  });
}

export function nonNegative(name: string, value: number): number {
  if (value >= 0) return value;
  throw new ArgumentError({
    what: `optimizer: ${name} out of range`,
    given: `${name} = ${value}`,
    expected: 'a number, 0 or more',
    remedy: `pass a non-negative ${name}`,
  });
}

/** A decay rate of a moving average. */
export function fraction(name: string, value: number): number {
  if (value >= 0 && value < 1) return value;
  throw new ArgumentError({
    what: `optimizer: ${name} out of range`,
    given: `${name} = ${value}`,
    expected: '0 ≤ value < 1',
    remedy: `pass a ${name} such as 0.9`,
  });
}
