/** PyTorch's way to pass arguments: by position or by name. */

import type { Dims } from '../../runtime/ops/reduce/reduce.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';

export type Result = Tensor | readonly Tensor[];

/** What an operator of PyTorch got, by the names of its parameters. */
export class Arguments {
  readonly #byName: ReadonlyMap<string, unknown>;

  constructor(byName: ReadonlyMap<string, unknown>) {
    this.#byName = byName;
  }

  /** Undefined also for None. */
  get(name: string): unknown {
    return this.#byName.get(name) ?? undefined;
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  tensor(name: string): Tensor {
    const value = this.get(name);
    if (value instanceof Tensor) return value;
    throw new TypeError(`${name} is not a tensor`);
  }

  tensorOrNull(name: string): Tensor | null {
    return this.has(name) ? this.tensor(name) : null;
  }

  /** A tensor, or a number where PyTorch takes both. */
  operand(name: string): Tensor | number {
    const value = this.get(name);
    return value instanceof Tensor ? value : this.number(name);
  }

  tensors(name: string): readonly Tensor[] {
    return this.get(name) as readonly Tensor[];
  }

  number(name: string, fallback?: number): number {
    const value = this.get(name) ?? fallback;
    if (value === undefined) throw new TypeError(`${name} is missing`);
    return Number(value);
  }

  numberOr<T>(name: string, fallback: T): number | T {
    return this.has(name) ? this.number(name) : fallback;
  }

  flag(name: string, fallback = false): boolean {
    return Boolean(this.get(name) ?? fallback);
  }

  text<T extends string>(name: string, fallback: T): T {
    return (this.get(name) ?? fallback) as T;
  }

  /** A list of numbers; a number alone counts as one. */
  list(name: string): number[] {
    return [this.get(name)].flat().map(Number);
  }

  listOr<T>(name: string, fallback: T): number[] | T {
    return this.has(name) ? this.list(name) : fallback;
  }

  /** One dimension, several, or all. An empty list means all of them, as in PyTorch 1. */
  dims(name: string): Dims {
    const value = this.get(name);
    if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(Number);
    return value === undefined ? undefined : Number(value);
  }

  /** One number, or one per spatial dimension; undefined when left out or empty. */
  window<T extends number | readonly [number, number]>(name: string): T | undefined {
    const value = this.get(name);
    if (!Array.isArray(value)) return value as T | undefined;
    if (value.length === 0) return undefined;
    return (value.length === 1 ? value[0] : value) as T;
  }
}

/** One operator of PyTorch in our names. */
export interface Adapter {
  /** Names of the parameters in PyTorch's order; those by name alone come last. */
  readonly parameters: readonly string[];
  /** What a user of this library writes, for the documentation. */
  readonly ours: string;
  readonly call: (given: Arguments) => Result;
}

export type Adapters = Readonly<Record<string, Adapter>>;

/** `parameters` separated by spaces. */
export function adapter(
  ours: string,
  parameters: string,
  call: (given: Arguments) => Result,
): Adapter {
  return { ours, parameters: parameters.split(' '), call };
}

/** Calls the operator with PyTorch's arguments. */
export function callAdapter(
  { parameters, call }: Adapter,
  args: readonly unknown[],
  keywords: Readonly<Record<string, unknown>>,
): Result {
  const byName = new Map<string, unknown>(Object.entries(keywords));
  args.forEach((value, i) => {
    byName.set(parameters[i] ?? `argument ${i}`, value);
  });
  return call(new Arguments(byName));
}
