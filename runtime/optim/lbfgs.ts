import { enableGrad, noGrad } from '../autograd/grad-mode.ts';
import { ArgumentError } from '../errors/errors.ts';
import { invariant } from '../errors/invariant.ts';
import { tensor } from '../ops/core/create.ts';
import { add_, copy_ } from '../ops/in-place/in-place.ts';
import { cat } from '../ops/movement/joining.ts';
import { clone, narrow, reshape } from '../ops/movement/movement.ts';
import { zerosLike } from '../ops/movement/ranges.ts';
import { abs, mul, neg, sub } from '../ops/pointwise/pointwise.ts';
import { dot } from '../ops/products/products.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { max } from '../ops/reduce/extremes.ts';
import { sum } from '../ops/reduce/reduce.ts';
import { expectOptions, type OptionKinds } from '../options/expect-options.ts';
import { anyNumber, count, oneOf, orNull } from '../options/option-kinds.ts';
import { sizeOf } from '../spec/shape.ts';
import { innermostTidy, inTidy, keep, tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { itemSync } from '../tensor-methods/read.ts';
import { strongWolfe, type Trial } from './line-search/strong-wolfe.ts';
import {
  lossOf,
  nonNegative,
  Optimizer,
  type ParameterGroup,
  type Parameters,
  type Rates,
} from './optimizer.ts';
import { ratesOf, signRateKinds } from './optimizer-options.ts';
import { expectState, loadState, type OptimizerState } from './optimizer-state.ts';

interface LBFGSGroup {
  maxIter: number;
  maxEval: number | null;
  toleranceGrad: number;
  toleranceChange: number;
  historySize: number;
  lineSearchFn: 'strongWolfe' | null;
}

export interface LBFGSOptions extends Partial<Omit<Rates, 'weightDecay'>> {
  /** The most iterations per step; 20 by default. */
  readonly maxIter?: number;
  /** The most calls of the closure per step; 5/4 of `maxIter` by default. */
  readonly maxEval?: number | null;
  /** A step ends when no element of the gradient exceeds it; 1e-7 by default. */
  readonly toleranceGrad?: number;
  /** A step ends when neither the loss nor any parameter changes by more; 1e-9 by default. */
  readonly toleranceChange?: number;
  /** The number of past changes of parameters and gradient to keep; 100 by default. */
  readonly historySize?: number;
  /** Searches for the length of each step; by default it is the rate. */
  readonly lineSearchFn?: 'strongWolfe' | null;
}

const lbfgsKinds: OptionKinds<LBFGSOptions> = {
  ...signRateKinds,
  maxIter: count(1),
  maxEval: orNull(count(1)),
  toleranceGrad: anyNumber,
  toleranceChange: anyNumber,
  historySize: count(1),
  lineSearchFn: orNull(oneOf('strongWolfe')),
};

/** State kept from one iteration to the next. The tensors are flat vectors of all parameters. */
interface Memory {
  iterations: number;
  evaluations: number;
  step: number;
  /** The scale of the first estimate of the inverse Hessian. */
  scale: number;
  direction: Tensor | null;
  gradient: Tensor | null;
  /** Changes of the gradient and of the parameters, and the reciprocal products of the two. */
  readonly changes: Tensor[];
  readonly moves: Tensor[];
  readonly reciprocals: number[];
}

/** The loss and the gradient at a point. */
interface Value {
  readonly loss: number;
  readonly gradient: Tensor;
}

const largest = (x: Tensor): number => itemSync(max(abs(x)));
const product = (x: Tensor, y: Tensor): number => itemSync(dot(x, y));

/**
 * Limited-memory BFGS (Liu and Nocedal), with PyTorch's line search. A step repeatedly calls its closure, which
 * computes the gradients and returns the loss, and reads the loss: the device must be synchronously readable. In
 * captured functions, ordinary JavaScript updates the optimizer's state between graphs.
 */
export class LBFGS extends Optimizer<LBFGSGroup, undefined> {
  private memory: Memory = emptyMemory();

  constructor(parameters: Parameters<LBFGSGroup>, options: LBFGSOptions = {}, ...surplus: []) {
    expectOptions('LBFGS', options, lbfgsKinds);
    super(
      parameters,
      {
        ...ratesOf(options, 1),
        maxIter: options.maxIter ?? 20,
        maxEval: options.maxEval ?? null,
        toleranceGrad: options.toleranceGrad ?? 1e-7,
        toleranceChange: options.toleranceChange ?? 1e-9,
        historySize: options.historySize ?? 100,
        lineSearchFn: options.lineSearchFn ?? null,
      },
      ...surplus,
    );
    this.expectOneGroup(this.groups.length);
  }

  private expectOneGroup(groups: number): void {
    if (groups === 1) return;
    throw new ArgumentError({
      what: 'LBFGS: several parameter groups',
      given: `${groups} groups`,
      expected: 'one group: the step is one vector of all parameters',
      remedy: 'pass all parameters in one array',
    });
  }

  override addParamGroup(): void {
    this.expectOneGroup(this.groups.length + 1);
  }

  protected override check(group: ParameterGroup<LBFGSGroup>): void {
    super.check(group);
    nonNegative('toleranceGrad', group.toleranceGrad);
    nonNegative('toleranceChange', group.toleranceChange);
  }

  protected override factors(): undefined {}

  protected override update(): void {
    invariant(false, 'LBFGS updates all parameters together');
  }

  override step<L = void>(closure?: () => L): L {
    if (closure === undefined) {
      throw new ArgumentError({
        what: 'LBFGS: a step without a closure',
        given: 'undefined',
        expected: 'a function that computes gradients and returns the loss',
        remedy:
          'step(() => { optimizer.zeroGrad(); const loss = lossOf(model); loss.backward(); return loss; })',
      });
    }
    const loss = lossOf(closure);
    // Tensors that the closure creates belong to the caller's `tidy`, as in its first call.
    const surrounding = innermostTidy();
    const again = () => inTidy(surrounding, () => enableGrad(closure));
    noGrad(() => tidy(() => this.minimize(again, this.valueAfter(loss))));
    this.stepsTaken++;
    return loss;
  }

  /** Returns the loss as a number, to be minimized, with the current gradient. */
  private valueAfter(loss: unknown): Value {
    const [group] = this.groups;
    if (typeof loss !== 'number') expectTensors('LBFGS', loss as Tensor);
    const value = typeof loss === 'number' ? loss : itemSync(loss as Tensor);
    const parts = this.parameters.map((each) => reshape(each.grad ?? zerosLike(each), [-1]));
    const gradient = cat(parts);
    return group!.maximize ? { loss: -value, gradient: neg(gradient) } : { loss: value, gradient };
  }

  private minimize(closure: () => unknown, first: Value): void {
    const [group] = this.groups;
    const { maxIter, toleranceGrad, toleranceChange } = group!;
    const maxEval = group!.maxEval ?? Math.floor((maxIter * 5) / 4);
    const { memory } = this;
    memory.evaluations++;
    let evaluations = 1;
    let value = first;
    if (largest(value.gradient) <= toleranceGrad) return;
    for (let iteration = 1; ; iteration++) {
      memory.iterations++;
      const direction = this.nextDirection(value.gradient);
      replace(memory, 'direction', direction);
      replace(memory, 'gradient', value.gradient);
      const before = value.loss;
      const slope = product(value.gradient, direction);
      const rate = group!.lr;
      memory.step =
        memory.iterations === 1 ? Math.min(1, 1 / itemSync(sum(abs(value.gradient)))) * rate : rate;
      if (slope > -toleranceChange) return;
      let trials = 0;
      if (group!.lineSearchFn) {
        const found = this.search(closure, value, direction, slope, maxEval - evaluations);
        ({ trials } = found);
        memory.step = found.best.step;
        value = { loss: found.best.loss, gradient: found.best.point };
        this.move(memory.step, direction);
      } else {
        this.move(memory.step, direction);
        // After the last iteration, the next step's first call computes the value.
        if (iteration < maxIter) {
          value = this.valueAfter(closure());
          trials = 1;
        }
      }
      evaluations += trials;
      memory.evaluations += trials;
      if (iteration === maxIter || evaluations >= maxEval) return;
      if (largest(value.gradient) <= toleranceGrad) return;
      if (largest(mul(direction, memory.step)) <= toleranceChange) return;
      if (Math.abs(value.loss - before) < toleranceChange) return;
    }
  }

  /** Records what the last iteration changed, and returns the estimated inverse Hessian times the negative gradient. */
  private nextDirection(gradient: Tensor): Tensor {
    const { memory } = this;
    const { changes, moves, reciprocals } = memory;
    if (memory.iterations === 1 || !memory.gradient || !memory.direction) return neg(gradient);
    const change = sub(gradient, memory.gradient);
    const move = mul(memory.direction, memory.step);
    const both = product(change, move);
    if (both > 1e-10) {
      if (changes.length === this.groups[0]!.historySize) {
        changes.shift()!.dispose();
        moves.shift()!.dispose();
        reciprocals.shift();
      }
      changes.push(keep(change));
      moves.push(keep(move));
      reciprocals.push(1 / both);
      memory.scale = both / product(change, change);
    }
    const direction = neg(gradient);
    const parts = new Array<number>(changes.length);
    for (let i = changes.length - 1; i >= 0; i--) {
      parts[i] = product(moves[i]!, direction) * reciprocals[i]!;
      add_(direction, changes[i]!, -parts[i]!);
    }
    const scaled = mul(direction, memory.scale);
    for (let i = 0; i < changes.length; i++) {
      const part = product(changes[i]!, scaled) * reciprocals[i]!;
      add_(scaled, moves[i]!, parts[i]! - part);
    }
    return scaled;
  }

  private search(
    closure: () => unknown,
    { loss, gradient }: Value,
    direction: Tensor,
    slope: number,
    mostTrials: number,
  ) {
    const from = this.parameters.map((each) => clone(each));
    const evaluate = (step: number): Trial<Tensor> => {
      this.move(step, direction);
      const value = this.valueAfter(closure());
      this.parameters.forEach((each, i) => void copy_(each, from[i]!));
      const at = product(value.gradient, direction);
      return { step, loss: value.loss, slope: at, point: value.gradient };
    };
    return strongWolfe({
      evaluate,
      start: { step: 0, loss, slope, point: gradient },
      first: this.memory.step,
      extent: largest(direction),
      toleranceChange: this.groups[0]!.toleranceChange,
      mostTrials,
    });
  }

  /** Adds a multiple of the direction to the parameters. */
  private move(step: number, direction: Tensor): void {
    let start = 0;
    for (const parameter of this.parameters) {
      const size = sizeOf(parameter.shape);
      add_(parameter, reshape(narrow(direction, 0, start, size), parameter.shape), step);
      start += size;
    }
  }

  override stateDict(): OptimizerState {
    const { iterations, evaluations, step, scale, reciprocals, ...others } = this.memory;
    const { direction, gradient, changes, moves } = others;
    const numbers = [iterations, evaluations, step, scale, ...reciprocals];
    return {
      ...super.stateDict(),
      state: {
        numbers: [tensor(numbers, { dtype: 'float64' })],
        direction: direction ? [direction] : [],
        gradient: gradient ? [gradient] : [],
        changes: [...changes],
        moves: [...moves],
      },
    };
  }

  override loadStateDict(state: OptimizerState): void {
    expectState(state);
    const { numbers, direction, gradient, changes, moves } = state.state;
    if (!numbers || !changes || !moves) {
      throw new ArgumentError({
        what: 'loadStateDict: other kinds of state',
        given: Object.keys(state.state).join(', ') || 'none',
        expected: 'numbers, direction, gradient, changes, moves',
        remedy: 'load the state of an LBFGS optimizer of the same parameters',
      });
    }
    loadState({ ...this.stateDict(), state: {} }, { ...state, state: {} });
    Object.assign(this.groups[0]!, state.groups[0]);
    this.stepsTaken = Math.max(...state.counts);
    const [iterations, evaluations, step, scale, ...reciprocals] = [
      ...numbers[0]!.dataSync(),
    ] as number[];
    const copies = (list: readonly Tensor[] = []) =>
      noGrad(() => list.map((each) => keep(clone(each))));
    disposeMemory(this.memory);
    this.memory = {
      iterations: iterations!,
      evaluations: evaluations!,
      step: step!,
      scale: scale!,
      reciprocals,
      direction: copies(direction)[0] ?? null,
      gradient: copies(gradient)[0] ?? null,
      changes: copies(changes),
      moves: copies(moves),
    };
  }

  override dispose(): void {
    disposeMemory(this.memory);
    this.memory = emptyMemory();
  }
}

function emptyMemory(): Memory {
  const tensors = { direction: null, gradient: null, changes: [], moves: [], reciprocals: [] };
  return { iterations: 0, evaluations: 0, step: 0, scale: 1, ...tensors };
}

function replace(memory: Memory, name: 'direction' | 'gradient', value: Tensor): void {
  memory[name]?.dispose();
  memory[name] = keep(clone(value));
}

function disposeMemory({ direction, gradient, changes, moves }: Memory): void {
  for (const each of [direction, gradient, ...changes, ...moves]) each?.dispose();
}
