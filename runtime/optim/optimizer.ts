import { enableGrad, noGrad } from '../autograd/grad-mode.ts';
import { deviceGuard } from '../device/current.ts';
import { ArgumentError } from '../errors/errors.ts';
import { full } from '../ops/movement/create.ts';
import { neg } from '../ops/pointwise/pointwise.ts';
import { expectFunction, noParameters } from '../options/expect-arguments.ts';
import { expectNoMore, shown, unknownOption } from '../options/expect-options.ts';
import { isAsync } from '../options/is-async.ts';
import { keep, tidy } from '../tensor/lifetime.ts';
import { Tensor } from '../tensor/tensor.ts';
import { OptimizerNames } from './absent-names.ts';
import { expectRates } from './optimizer-options.ts';
import { type GroupState, loadState, type OptimizerState } from './optimizer-state.ts';
import { optimizerText } from './optimizer-text.ts';

/** The dtype and shape of a parameter's state. */
export type StateSpec = Pick<Tensor, 'dtype' | 'shape'>;

/** A kind of state: one tensor per parameter. */
interface StateKind {
  readonly tensors: Tensor[];
  readonly specOf: ((parameter: StateSpec) => StateSpec) | undefined;
  readonly start: ((group: never) => number) | undefined;
}

/** Settings common to all optimizers; schedules assign them between steps. */
export interface Rates {
  lr: number;
  /** L2 penalty, added to the gradient, unless the optimizer documents otherwise. */
  weightDecay: number;
  /** Ascends the gradient instead of descending it. */
  maximize: boolean;
}

/** Parameters with their own options; omitted options default to the optimizer's. */
export type ParameterGroupOptions<H extends object = object> = (
  | { readonly parameters: Iterable<Tensor> }
  | { readonly params: Iterable<Tensor> }
) & { readonly [K in keyof (H & Rates)]?: (H & Rates)[K] | undefined };

/** Parameters with the options that apply to them. `H`: the optimizer's options other than `Rates`. */
export type ParameterGroup<H extends object = object> = Rates &
  H & {
    readonly parameters: readonly Tensor[];
    /** PyTorch's name for `parameters`. */
    readonly params: readonly Tensor[];
    /** The initial rate for schedules, set when the first schedule is created. */
    initialLr?: number;
  };

export type Parameters<H extends object = object> =
  | Iterable<Tensor>
  | Iterable<ParameterGroupOptions<H>>;

/** The update of one parameter in one step. */
export interface Update<H extends object = object> {
  readonly target: Tensor;
  /** The gradient to descend; already negated when maximizing. */
  readonly grad: Tensor;
  readonly group: ParameterGroup<H>;
  /** The index among all parameters, and of its state. */
  readonly index: number;
}

/**
 * Updates parameters in place from their gradients. The optimizer's constructor creates the state, so that every step
 * does the same work and one program captures them all.
 *
 * `H`: the optimizer's options, which groups may override. `F`: numbers that depend on the step count, computed once
 * for all parameters to keep captured steps small.
 */
export abstract class Optimizer<
  H extends object = object,
  F = unknown,
> extends (OptimizerNames as new () => object) {
  readonly groups: readonly ParameterGroup<H>[] = [];
  /** Default options of groups. */
  readonly defaults: Rates & H;
  /** The parameters of all groups, each once. */
  readonly parameters: readonly Tensor[] = [];
  // No private names for anything that `step` uses: capture supports ordinary fields only.
  /** The number of calls of `step`, including a running one. */
  protected stepsTaken = 0;
  /** For each parameter, the number of steps in which it had no gradient; they don't count for it. */
  protected readonly missed: number[] = [];
  /** Whether no parameter has missed a step. */
  protected complete = true;
  /** State tensors by name, one per parameter. */
  private readonly stateByName = new Map<string, readonly Tensor[]>();
  private readonly kinds: StateKind[] = [];

  constructor(
    parameters: Parameters<H>,
    options: Pick<Rates, 'lr'> & Partial<Rates> & H,
    ...surplus: []
  ) {
    super();
    expectNoMore(new.target.name, surplus);
    const { weightDecay = 0, maximize = false } = options;
    this.defaults = { ...options, weightDecay, maximize };
    this.add(groupsOf(parameters));
    if (this.parameters.length === 0) {
      throw new ArgumentError({
        what: 'optimizer: nothing to optimize',
        given: 'no parameters',
        expected: 'at least one tensor',
        remedy: 'pass model.parameters(), and wrap weights of your own in parameter(…)',
      });
    }
  }

  private add(groups: readonly Pick<ParameterGroup, 'parameters' | 'params'>[]): void {
    for (const group of groups) {
      expectGroup(group, this.defaults);
      const complete = { ...this.defaults } as ParameterGroup<H>;
      for (const [name, value] of Object.entries(group)) {
        if (value !== undefined) (complete as Record<string, unknown>)[name] = value;
      }
      this.check(complete);
      (this.groups as ParameterGroup<H>[]).push(complete);
      for (const parameter of complete.parameters) {
        (this.parameters as Tensor[]).push(parameter);
        this.missed.push(this.stepsTaken);
      }
    }
    this.complete &&= this.stepsTaken === 0;
    for (const kind of this.kinds) this.extendState(kind);
  }

  /** Adds parameters, optionally with their own options: `addParamGroup({ params: layer.parameters(), lr: 0.1 })`. */
  addParamGroup(group: ParameterGroupOptions<H>): void {
    this.add(groupsOf([group], this.parameters));
  }

  /** Throws ArgumentError if an option of a group is out of range. Runs before the fields of a subclass are set. */
  protected check({ lr, weightDecay }: ParameterGroup<H>): void {
    nonNegative('lr', lr);
    nonNegative('weightDecay', weightDecay);
  }

  /** PyTorch's name for `groups`. */
  get paramGroups(): readonly ParameterGroup<H>[] {
    return this.groups;
  }

  /** The learning rate of the first group; assigning it sets the rate of every group. */
  get lr(): number {
    return this.groups[0]!.lr;
  }

  set lr(value: number) {
    for (const group of this.groups) group.lr = nonNegative('lr', value);
  }

  /** For each parameter, the number of steps it has taken; steps without a gradient don't count. */
  get counts(): number[] {
    return this.missed.map((missed) => this.stepsTaken - missed);
  }

  /**
   * Creates state that the groups' options now require. Called first by `step`, and by schedules that change such
   * options, so that a captured step needn't create it.
   */
  prepareState(): void {}

  /**
   * Updates every parameter that has a gradient. As in PyTorch, a `closure` is called first, with recording enabled, to
   * recompute the gradients; `step` returns its result, the loss.
   */
  step<L = void>(closure?: () => L): L {
    const loss = closure === undefined ? undefined : lossOf(closure);
    noGrad(() => this.updateAll());
    return loss as L;
  }

  /** Takes one step; runs without recording. */
  protected updateAll(): void {
    this.prepareState();
    this.stepsTaken++;
    let index = 0;
    for (const group of this.groups) {
      expectRates(group);
      const factors = this.factors(group, this.stepsTaken);
      for (const target of group.parameters) this.stepOne(target, group, index++, factors);
    }
  }

  /** Not a private method, so that capture can inline it into a step. */
  protected stepOne(target: Tensor, group: ParameterGroup<H>, index: number, factors: F): void {
    const gradient = target.grad;
    if (!gradient) {
      this.missed[index] = this.missed[index]! + 1;
      this.complete = false;
      return;
    }
    const late = this.complete ? 0 : this.missed[index]!;
    const stepFactors = late === 0 ? factors : this.factors(group, this.stepsTaken - late, index);
    tidy(() => {
      const grad = group.maximize ? neg(gradient) : gradient;
      this.update({ target, grad, group, index }, stepFactors);
    });
  }

  /**
   * Returns the numbers that depend on `count`, the steps taken including the current one. `late` is the index of
   * the parameter if it has missed steps. None by default.
   */
  protected factors(_group: ParameterGroup<H>, _count: number, _late?: number): F {
    return undefined as F;
  }

  /** Updates a parameter; runs without recording, inside `tidy`. */
  protected abstract update(update: Update<H>, factors: F): void;

  /**
   * Creates state filled with zeros or `start`: one tensor per parameter, on its device and by default of its shape and
   * dtype.
   */
  protected newState(
    name: string,
    specOf?: (parameter: StateSpec) => StateSpec,
    start?: (group: ParameterGroup<H>) => number,
  ): readonly Tensor[] {
    const kind: StateKind = { tensors: [], specOf, start };
    this.extendState(kind);
    this.kinds.push(kind);
    this.stateByName.set(name, kind.tensors);
    return kind.tensors;
  }

  /** Creates state for parameters that have none. */
  private extendState({ tensors, specOf, start }: StateKind): void {
    let index = 0;
    for (const group of this.groups) {
      for (const parameter of group.parameters) {
        if (index++ < tensors.length) continue;
        const { shape, dtype } = specOf?.(parameter) ?? parameter;
        const value = start?.(group as never) ?? 0;
        tensors.push(keep(deviceGuard(parameter.device, () => full(shape, value, { dtype }))));
      }
    }
  }

  /** Frees the gradients, so that the next backward starts new sums. */
  zeroGrad(): void {
    for (const tensor of this.parameters) {
      tensor.grad?.dispose();
      tensor.grad = null;
    }
  }

  /** Returns everything a step depends on except the parameters. The tensors are the optimizer's own. */
  stateDict(): OptimizerState {
    return {
      groups: this.groups.map(
        ({ parameters, params, ...options }) => options as object as GroupState,
      ),
      counts: this.counts,
      state: Object.fromEntries(this.stateByName),
    };
  }

  /** Copies the state of an optimizer of the same kind with the same parameters into this one. */
  loadStateDict(state: OptimizerState): void {
    loadState(this.stateDict(), state);
    for (const [i, group] of state.groups.entries()) Object.assign(this.groups[i]!, group);
    this.stepsTaken = Math.max(...state.counts);
    for (const [i, count] of state.counts.entries()) this.missed[i] = this.stepsTaken - count;
    this.complete = Math.max(...this.missed) === 0;
  }

  /** Returns the groups, one per line: the number of their parameters, and their options. */
  override toString(): string {
    return optimizerText(this);
  }

  /** Frees the state, not the parameters. */
  dispose(): void {
    for (const tensors of this.stateByName.values()) for (const tensor of tensors) tensor.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Calls a closure that computes gradients. It must not be async, or the gradients would come after the step. */
export function lossOf<L>(closure: () => L): L {
  expectFunction('Optimizer.step', closure);
  if (!isAsync(closure)) {
    const loss = enableGrad(closure);
    if (!(loss instanceof Promise)) return loss;
  }
  throw new ArgumentError({
    what: 'optimizer: the closure of step is asynchronous',
    given: 'a function that returns a promise',
    expected: 'a function that has computed gradients when it returns',
    remedy: 'await its call, then call step()',
  });
}

/** A parameter given twice is updated once. */
function groupsOf<H extends object>(
  parameters: Parameters<H>,
  known: readonly Tensor[] = [],
): Pick<ParameterGroup, 'parameters' | 'params'>[] {
  expectSeveral(parameters);
  const items = [...parameters] as (Tensor | ParameterGroupOptions<H>)[];
  const groups = items.every(isGroup) ? items : [{ parameters: items }];
  const seen = new Set<Tensor>(known);
  return (groups as { readonly parameters?: Tensor[]; readonly params: Tensor[] }[]).map(
    (group) => {
      const parameters = [...new Set(severalOf(group))];
      parameters.forEach(expectParameter);
      for (const tensor of parameters) {
        if (seen.has(tensor)) {
          throw new ArgumentError({
            what: 'optimizer: a parameter in two groups',
            given: 'a tensor of two groups',
            expected: 'each parameter in one group',
            remedy: 'leave it out of one of them',
          });
        }
        seen.add(tensor);
      }
      return { ...group, parameters: parameters, params: parameters };
    },
  );
}

/** Whether the item is a parameter group, not a module, whose `parameters` is a method. */
const isGroup = (item: unknown): boolean =>
  item instanceof Object &&
  ('params' in item || ('parameters' in item && typeof item.parameters !== 'function'));

function severalOf(group: { readonly parameters?: Tensor[]; readonly params: Tensor[] }): Tensor[] {
  const several = group.parameters ?? group.params;
  expectSeveral(several);
  return several;
}

/** Rejects a tensor: it is iterable, but its rows are not parameters. */
function expectSeveral(value: unknown): void {
  if (typeof value === 'object' && Symbol.iterator in (value ?? {}) && !(value instanceof Tensor))
    return;
  throw noParameters('optimizer', value);
}

/** Checks that a group has only the optimizer's options, with the same types. */
function expectGroup(group: object, options: object): void {
  const known = ['parameters', 'params', 'initialLr', ...Object.keys(options)];
  for (const [name, value] of Object.entries(group)) {
    if (!known.includes(name)) throw unknownOption('optimizer: parameter group', name, known);
    const standard: unknown = options[name as keyof typeof options];
    if (value === undefined || standard === undefined || typeof value === typeof standard) continue;
    throw new ArgumentError({
      what: `optimizer: ${name} of a parameter group has a wrong type`,
      given: `${name} = ${shown(value)}`,
      expected: `a value like ${shown(standard)}`,
      remedy: `pass such a value, or leave ${name} out`,
    });
  }
}

function expectParameter(value: unknown, index: number): void {
  if (value instanceof Tensor) return;
  const isForeign = value instanceof Object && 'dtype' in value && 'isLeaf' in value;
  throw new ArgumentError({
    what: `optimizer: parameter ${index} is not a tensor${isForeign ? ' of this copy of the package' : ''}`,
    given: shown(value),
    expected: 'tensors that require gradients, or groups of them',
    remedy: isForeign
      ? 'import both from one copy: npm ls tostatic lists them'
      : 'pass model.parameters(), or [{ params: layer.parameters(), lr: 0.1 }]',
  });
}

export function nonNegative(name: string, value: number): number {
  if (typeof value === 'number' && value >= 0) return value;
  throw new ArgumentError({
    what: `optimizer: ${name} out of range`,
    given: `${name} = ${shown(value)}`,
    expected: 'a number, 0 or more',
    remedy: `pass a non-negative ${name}`,
  });
}

/** Validates the decay rate of a moving average. */
export function fraction(name: string, value: number): number {
  if (typeof value === 'number' && value >= 0 && value < 1) return value;
  throw new ArgumentError({
    what: `optimizer: ${name} out of range`,
    given: `${name} = ${shown(value)}`,
    expected: '0 ≤ value < 1',
    remedy: `pass a ${name} such as 0.9`,
  });
}
