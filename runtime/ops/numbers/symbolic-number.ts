/**
 * JavaScript numbers that are only known when a program runs: it computes them from its scalar inputs. The tensor API
 * accepts them as numbers, and they end up in op attributes.
 */

import { invariant } from '../../errors/invariant.ts';
import { scalarFunctions } from './scalar-functions.ts';

declare const scalarBrand: unique symbol;
/** A node of a scalar table. */
export type ScalarId = number & { readonly [scalarBrand]: 'ScalarId' };

/** One step of JavaScript arithmetic. */
export type ScalarNode =
  /** Scalar input `index` of the program. */
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'apply'; readonly fn: string; readonly args: readonly ScalarId[] };

/** A comparison or test of a scalar table's numbers, with its result at trace time. */
export interface ScalarDecision {
  readonly fn: string;
  readonly args: readonly ScalarId[];
  readonly value: boolean;
}

/** The numbers, and the comparisons of numbers, that a program depends on. */
export interface ScalarDependencies {
  readonly needed: readonly ScalarId[];
  readonly decisions: readonly (readonly [key: string, decision: ScalarDecision])[];
}

/**
 * The JavaScript arithmetic of one program: straight-line steps, each on the results of earlier steps, without
 * duplicates.
 */
export class ScalarTable {
  readonly nodes: ScalarNode[] = [];
  /** The values of the nodes at trace time. */
  readonly values: number[] = [];
  /** Nodes whose value was used: the program is valid only for these values. */
  readonly needed = new Set<ScalarId>();
  /** Comparisons and tests that were used, by key: the program is valid while their results are the same. */
  readonly decisions = new Map<string, ScalarDecision>();
  readonly #known = new Map<string, ScalarId>();
  #inputs = 0;

  /** Creates a table with these nodes and their values. */
  static of(nodes: Iterable<readonly [node: ScalarNode, value: number]>): ScalarTable {
    const table = new ScalarTable();
    for (const [node, value] of nodes) {
      table.nodes.push(node);
      table.values.push(value);
    }
    return table;
  }

  /** Adds a scalar input with its current value. */
  input(value: number): SymbolicNumber {
    const index = this.#inputs++;
    return this.#symbol(this.#add({ kind: 'input', index }, value));
  }

  /** Applies `fn` to numbers, at least one of which is symbolic. A comparison is 1 or 0. */
  apply(fn: string, args: readonly (number | SymbolicNumber)[]): SymbolicNumber {
    const ids = args.map((arg) => (typeof arg === 'number' ? this.#constant(arg) : arg.id));
    const value = Number(scalarFunctions.get(fn)!(...ids.map((id) => this.values[id]!)));
    return this.#symbol(this.#add({ kind: 'apply', fn, args: ids }, value));
  }

  /** Maps each constant of a number that is a choice among constants; undefined for other numbers. */
  mapChoice(id: ScalarId, to: (value: number) => number): SymbolicNumber | undefined {
    const node = this.nodes[id]!;
    if (node.kind === 'constant') return this.#symbol(this.#constant(to(node.value)));
    if (node.kind !== 'apply' || node.fn !== '?:') return undefined;
    const [test, x, y] = node.args as [ScalarId, ScalarId, ScalarId];
    const [a, b] = [this.mapChoice(x, to), this.mapChoice(y, to)];
    return a && b && this.apply('?:', [this.#symbol(test), a, b]);
  }

  /** Returns a comparison's or test's result for the current values; the program then depends only on it. */
  decide(fn: string, args: readonly (number | SymbolicNumber)[]): boolean {
    const ids = args.map((arg) => (typeof arg === 'number' ? this.#constant(arg) : arg.id));
    const value = scalarFunctions.get(fn)!(...ids.map((id) => this.values[id]!));
    invariant(typeof value === 'boolean', `${fn} decides nothing`);
    this.decisions.set(`${fn} ${ids.join()}`, { fn, args: ids, value });
    return value;
  }

  /** Returns the current dependencies of the program, to which it can be rolled back. */
  dependencies(): ScalarDependencies {
    return { needed: [...this.needed], decisions: [...this.decisions] };
  }

  /** Sets the dependencies of the program. */
  dependOn({ needed, decisions }: ScalarDependencies): void {
    this.needed.clear();
    for (const id of needed) this.needed.add(id);
    this.decisions.clear();
    for (const [key, decision] of decisions) this.decisions.set(key, decision);
  }

  /** Returns the values of all nodes for these inputs. */
  evaluate(inputs: readonly number[]): number[] {
    const values: number[] = [];
    for (const node of this.nodes) {
      if (node.kind === 'input') values.push(inputs[node.index]!);
      else if (node.kind === 'constant') values.push(node.value);
      else values.push(Number(applied(node.fn, node.args, values)));
    }
    return values;
  }

  /** Runs `body` with the numbers' values for these inputs. Also returns the dependencies that it added. */
  withInputs<T>(
    inputs: readonly number[],
    body: () => T,
  ): { readonly result: T; readonly dependencies: ScalarDependencies } {
    const before = this.dependencies();
    const traced = this.inputs();
    this.#have(this.evaluate(inputs));
    this.dependOn({ needed: [], decisions: [] });
    try {
      const result = body();
      return { result, dependencies: this.dependencies() };
    } finally {
      this.dependOn(before);
      this.#have(this.evaluate(traced));
    }
  }

  /** Returns the current scalar inputs. */
  inputs(): number[] {
    const inputs: number[] = [];
    this.nodes.forEach((node, id) => {
      if (node.kind === 'input') inputs[node.index] = this.values[id]!;
    });
    return inputs;
  }

  #have(values: readonly number[]): void {
    this.values.splice(0, this.values.length, ...values);
  }

  /** Whether a program with these dependencies on some inputs is also valid for others. */
  isAlike(
    { needed, decisions }: ScalarDependencies,
    inputs: readonly number[],
    others: readonly number[],
  ): boolean {
    if (needed.length === 0 && decisions.length === 0) return true;
    const [a, b] = [this.evaluate(inputs), this.evaluate(others)];
    const decides = ({ fn, args, value }: ScalarDecision) => applied(fn, args, b) === value;
    return (
      needed.every((id) => Object.is(a[id], b[id])) &&
      decisions.every(([, decision]) => decides(decision))
    );
  }

  /** Whether the number `id` is, or is computed from, the number `from`. */
  isFrom(id: ScalarId, from: ScalarId): boolean {
    const node = this.nodes[id]!;
    return (
      id === from || (node.kind === 'apply' && node.args.some((arg) => this.isFrom(arg, from)))
    );
  }

  #constant(value: number): ScalarId {
    return this.#add({ kind: 'constant', value }, value);
  }

  #symbol(id: ScalarId): SymbolicNumber {
    return new SymbolicNumber(this, id);
  }

  #add(node: ScalarNode, value: number): ScalarId {
    const key =
      node.kind === 'constant' && Object.is(node.value, -0) ? '-0' : JSON.stringify(node, spelled);
    let id = this.#known.get(key);
    if (id === undefined) {
      id = (this.nodes.push(node) - 1) as ScalarId;
      this.values.push(value);
      this.#known.set(key, id);
    }
    return id;
  }
}

function applied(
  fn: string,
  args: readonly ScalarId[],
  values: readonly number[],
): number | boolean {
  return scalarFunctions.get(fn)!(...args.map((id) => values[id]!));
}

/** JSON has no NaN and no infinities. */
const spelled = (_key: string, value: unknown) =>
  typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;

/**
 * Behaves like a number whose value is read only if needed: code unaware of symbols gets the current value, and the
 * table then records that the program depends on it.
 */
export class SymbolicNumber {
  readonly table: ScalarTable;
  readonly id: ScalarId;

  constructor(table: ScalarTable, id: ScalarId) {
    this.table = table;
    this.id = id;
  }

  /** The current value; reading it here adds no dependency. */
  get value(): number {
    return this.table.values[this.id]!;
  }

  [Symbol.toPrimitive](hint: 'string' | 'number' | 'default'): string | number {
    if (hint === 'string') return `$${this.id}`;
    this.table.needed.add(this.id);
    return this.value;
  }

  toJSON(): string {
    return `$${this.id}`;
  }
}

/** Whether the value is a number or a symbolic number, which is accepted wherever a number is. */
export function isNumber(value: unknown): value is number {
  return typeof value === 'number' || value instanceof SymbolicNumber;
}

export function isSymbolic(value: unknown): value is SymbolicNumber {
  return value instanceof SymbolicNumber;
}
