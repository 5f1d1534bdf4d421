import { invariant } from '../errors/invariant.ts';
import { Tensor } from '../tensor/tensor.ts';
import { badFile } from './file/field.ts';
import type { Primitive } from './primitive.ts';

/** One value that is not an argument: the value itself, or the gradient of a state tensor. */
export type StateEntry =
  | { readonly name: string; readonly value: Tensor | Primitive }
  | {
      readonly name: string;
      readonly gradientOf: number;
      /** The initial gradient; undefined if programs only check whether the tensor has one. */
      readonly gradient?: Tensor | null;
    };

/** The state that a loaded program keeps between calls: parameters, buffers, counters. */
export class ProgramState {
  readonly #entries: readonly StateEntry[];
  readonly #values: unknown[];

  constructor(entries: readonly StateEntry[]) {
    this.#entries = entries;
    this.#values = entries.map((entry) => ('value' in entry ? entry.value : undefined));
    for (const entry of entries) {
      if ('gradientOf' in entry && entry.gradient)
        this.#tensor(entry.gradientOf).grad = entry.gradient;
    }
  }

  get(index: number): unknown {
    const entry = this.#entries[index]!;
    return 'value' in entry ? this.#values[index] : this.#tensor(entry.gradientOf).grad;
  }

  /** Throws DataError unless the value is a gradient of the tensor. */
  expectSettable(index: number, value: unknown): void {
    if ('value' in this.#entries[index]! || value == null || value instanceof Tensor) return;
    throw badFile(`a gradient, ${this.nameOf(index)}`, typeof value, 'a tensor or null');
  }

  set(index: number, value: unknown): void {
    const entry = this.#entries[index]!;
    if ('value' in entry) this.#values[index] = value;
    else this.#tensor(entry.gradientOf).grad = (value as Tensor | null | undefined) ?? null;
  }

  #tensor(index: number): Tensor {
    const value = this.#values[index];
    invariant(value instanceof Tensor, 'a gradient of a tensor');
    return value;
  }

  nameOf(index: number): string {
    return this.#entries[index]!.name;
  }

  /** The current entries, in order. */
  entries(): StateEntry[] {
    return this.#entries.map((entry, i) => {
      const { name } = entry;
      if ('value' in entry) return { name, value: this.#values[i] as Tensor | Primitive };
      if (entry.gradient === undefined) return entry;
      return { ...entry, gradient: this.#tensor(entry.gradientOf).grad };
    });
  }

  /** The tensors by name, owned by the program. */
  tensors(): Readonly<Record<string, Tensor>> {
    const found = this.entries().flatMap((entry) =>
      'value' in entry && entry.value instanceof Tensor ? [[entry.name, entry.value] as const] : [],
    );
    return Object.fromEntries(found);
  }

  /** All other values, by name. */
  variables(): Readonly<Record<string, Primitive>> {
    const found = this.entries().flatMap((entry) =>
      'value' in entry && !(entry.value instanceof Tensor)
        ? [[entry.name, entry.value] as const]
        : [],
    );
    return Object.fromEntries(found);
  }
}
