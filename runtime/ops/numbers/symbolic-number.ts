/**
 * JavaScript numbers that are known only when a program runs. The tensor API accepts them as numbers,
 * and they end in attributes of ops; they are computed from the program's scalar inputs.
 */

import { invariant } from '../../errors/invariant.ts';
import { scalarFunctions } from './scalar-functions.ts';

declare const scalarBrand: unique symbol;
/** A node of a scalar table. */
export type ScalarId = number & { readonly [scalarBrand]: 'ScalarId' };

/** One step of JavaScript arithmetic. */
export type ScalarNode =
  /** Scalar input number `index` of the program. */
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'apply'; readonly fn: string; readonly args: readonly ScalarId[] };

/** A comparison or test of a scalar table's numbers, and its result when the program was traced. */
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

/** JavaScript arithmetic of one program: a straight line, each step over earlier ones, each once. */
export class ScalarTable {
  readonly nodes: ScalarNode[] = [];
  /** The values that the nodes had when the program was traced. */
  readonly values: number[] = [];
  /** Nodes whose value decided something: the program holds for these values only. */
  readonly needed = new Set<ScalarId>();
  /** Comparisons and tests that decided something, by their keys: the program holds while they are the same. */
  readonly decisions = new Map<string, ScalarDecision>();
  readonly #known = new Map<string, ScalarId>();
  #inputs = 0;

  /** A table with these nodes, and the values that they had. */
  static of(nodes: Iterable<readonly [node: ScalarNode, value: number]>): ScalarTable {
    const table = new ScalarTable();
    for (const [node, value] of nodes) {
      table.nodes.push(node);
      table.values.push(value);
    }
    return table;
  }

  /** The next scalar input, with its value at present. */
  input(value: number): SymbolicNumber {
    const index = this.#inputs++;
    return this.#symbol(this.#add({ kind: 'input', index }, value));
  }

  /** `fn` of numbers, at least one of which is symbolic. */
  apply(fn: string, args: readonly (number | SymbolicNumber)[]): SymbolicNumber {
    const ids = args.map((arg) => (typeof arg === 'number' ? this.#constant(arg) : arg.id));
    const value = scalarFunctions.get(fn)!(...ids.map((id) => this.values[id]!));
    invariant(typeof value === 'number', `${fn} makes no number`);
    return this.#symbol(this.#add({ kind: 'apply', fn, args: ids }, value));
  }

  /** Whether a comparison or test holds for the numbers at present; the program depends on that alone. */
  decide(fn: string, args: readonly (number | SymbolicNumber)[]): boolean {
    const ids = args.map((arg) => (typeof arg === 'number' ? this.#constant(arg) : arg.id));
    const value = scalarFunctions.get(fn)!(...ids.map((id) => this.values[id]!));
    invariant(typeof value === 'boolean', `${fn} decides nothing`);
    this.decisions.set(`${fn} ${ids.join()}`, { fn, args: ids, value });
    return value;
  }

  /** The current dependencies of the program, to which it can be rolled back. */
  dependencies(): ScalarDependencies {
    return { needed: [...this.needed], decisions: [...this.decisions] };
  }

  /** The program depends on this alone. */
  dependOn({ needed, decisions }: ScalarDependencies): void {
    this.needed.clear();
    for (const id of needed) this.needed.add(id);
    this.decisions.clear();
    for (const [key, decision] of decisions) this.decisions.set(key, decision);
  }

  /** The values of all nodes for these inputs. */
  evaluate(inputs: readonly number[]): number[] {
    const values: number[] = [];
    for (const node of this.nodes) {
      if (node.kind === 'input') values.push(inputs[node.index]!);
      else if (node.kind === 'constant') values.push(node.value);
      else values.push(applied(node.fn, node.args, values) as number);
    }
    return values;
  }

  /** Inside `body`, numbers have the values that they have for these inputs. Returns what it came to depend on. */
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

  /** The scalar inputs at present. */
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

  /** Whether a program that depends on this for some inputs does as well for others. */
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

  /** Whether the number `id` is computed from the number `from`, or is that number. */
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
 * Behaves as a number whose value is requested when it must be known: arithmetic that knows nothing of
 * symbols takes the present value, and the table then notes that the program depends on it.
 */
export class SymbolicNumber {
  readonly table: ScalarTable;
  readonly id: ScalarId;

  constructor(table: ScalarTable, id: ScalarId) {
    this.table = table;
    this.id = id;
  }

  /** The present value; reading it here adds no dependency. */
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

/** True for symbolic numbers, too: they are accepted wherever a number is. */
export function isNumber(value: unknown): value is number {
  return typeof value === 'number' || value instanceof SymbolicNumber;
}

export function isSymbolic(value: unknown): value is SymbolicNumber {
  return value instanceof SymbolicNumber;
}
