import { toInt32 } from '../../../../runtime/device/cpu/scalar/pointwise.ts';
import { invariant } from '../../../../runtime/errors/invariant.ts';
import { type Action, type HostArgument, NotRecorded } from '../actions/actions.ts';

/** A number of an action that is computed in each run. */
export interface RunNumber {
  /** Its index in the program's scalar table. */
  readonly id: number;
  /** The number itself, the word of a float32 or int32, or one of the two words of a float64. */
  readonly form: 'number' | 'f32' | 'i32' | 'low' | 'high';
  /** An integer that is added to it. */
  readonly plus: number;
}

export type Num = number | RunNumber;

export type Argument = Num | string | readonly HostArgument[];

const cell = new Int32Array(2);
const single = new Float32Array(cell.buffer);
const double = new Float64Array(cell.buffer);

const formsOf = (
  value: number,
): { readonly [F in Exclude<RunNumber['form'], 'number'>]: number } => {
  double[0] = value;
  const [low, high] = cell as unknown as [number, number];
  single[0] = value;
  return { low, high, f32: cell[0]!, i32: toInt32(value) };
};

/** One recording: the numbers of its run, and its actions. */
interface NumberedRun {
  readonly scalars: readonly number[];
  readonly actions: readonly Action[];
}

/**
 * Compares recordings of one plan that differ only in the numbers of the run, to find which numbers in their actions
 * come from the run. The first recording has realistic numbers; the others have arbitrary ones, which identify each
 * number.
 */
export class NumberMatcher {
  readonly #first: NumberedRun;
  readonly #others: readonly NumberedRun[];
  readonly #forms: readonly (readonly ReturnType<typeof formsOf>[])[];

  constructor(first: NumberedRun, others: readonly NumberedRun[]) {
    this.#first = first;
    this.#others = others;
    this.#forms = others.map(({ scalars }) => scalars.map(formsOf));
    const { length } = first.actions;
    if (others.some(({ actions }) => actions.length !== length)) throw new NotRecorded(dependent);
  }

  /** Returns the corresponding action of each other recording. */
  others<A extends Action>(index: number, action: A): readonly A[] {
    return this.#others.map(({ actions }) => {
      const other = actions[index]!;
      if (other.kind !== action.kind) throw new NotRecorded(dependent);
      return other as A;
    });
  }

  get actions(): readonly Action[] {
    return this.#first.actions;
  }

  /** Returns the value itself or, given its values in the other recordings, the number of the run that it equals. */
  match(value: number, others: readonly number[]): Num {
    if (others.every((other) => Object.is(other, value))) return value;
    const { scalars } = this.#first;
    for (let id = 0; id < scalars.length; id++) {
      for (const form of ['f32', 'i32', 'low', 'high'] as const) {
        if (others.every((other, i) => this.#forms[i]![id]![form] === other)) {
          return { id, form, plus: 0 };
        }
      }
      // Positions in the random stream are sums.
      const [plus, ...rest] = others.map((other, i) => other - this.#others[i]!.scalars[id]!);
      const whole = Math.round(plus!);
      const isSum = [plus!, ...rest].every((each) => Math.abs(each - whole) < 1e-3);
      if (isSum && scalars[id]! + whole === value) return { id, form: 'number', plus: whole };
    }
    throw new NotRecorded(dependent);
  }

  argument(value: HostArgument, others: readonly HostArgument[]): Argument {
    if (typeof value === 'number') return this.match(value, others as readonly number[]);
    const text = JSON.stringify(value);
    if (others.some((other) => JSON.stringify(other) !== text)) throw new NotRecorded(dependent);
    return value;
  }
}

const dependent = 'what it does to memory depends on a number of the run';

/** Returns distinct numbers that occur in no run. */
export function arbitraryNumbers(count: number, seed: number): readonly number[] {
  invariant(Number.isInteger(seed), 'a seed');
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return 1000 + (state >>> 0) / 4096 + Math.sqrt(state >>> 16) * 1e-5;
  });
}
