import { RecentlyUsed } from '../../runtime/program/recently-used.ts';
import { renumber } from '../5-optimize/cleanup/normalize.ts';
import type { Choices } from '../programs/choices.ts';
import type { ChoiceStore, CompiledInput } from './compilation.ts';
import { tableOf } from './first-decisions.ts';

/** Enough for changing sizes and for numbers that become symbolic one after another. */
const mostPrograms = 8;

/**
 * Caches the choices of the last programs that a captured function compiled. Another trace often yields a program that
 * differs only in its guards or in the ids of its values: its searches would find the same choices.
 */
export class RecentChoices implements ChoiceStore {
  readonly #kept = new RecentlyUsed<string, { choices: Choices | null }>(mostPrograms);

  has(subject: CompiledInput): boolean {
    return this.#kept.has(textOf(subject));
  }

  find(subject: CompiledInput): Choices | undefined {
    const text = textOf(subject);
    if (!this.#kept.has(text)) return undefined;
    return this.#at(text).choices?.again();
  }

  keep(subject: CompiledInput, choices: Choices): void {
    this.#at(textOf(subject)).choices = choices;
  }

  refuse(subject: CompiledInput): void {
    this.#at(textOf(subject)).choices = null;
  }

  #at(text: string) {
    return this.#kept.get(text, () => ({ choices: null }));
  }
}

const numbers = new WeakMap<object, number>();
let count = 0;

/** Returns a number that identifies an object: two ops may have the same name. */
function numberOf(object: object): number {
  const number = numbers.get(object) ?? ++count;
  numbers.set(object, number);
  return number;
}

/** Returns text that is equal for programs and options that compile identically. */
function textOf({ program, requested, options, donated }: CompiledInput): string {
  const { memory, without, tier, compact, rate } = options;
  const { needsGrad, differentiable } = requested;
  const settings = [memory, [...without], tier, compact, rate, needsGrad, differentiable, donated];
  const { nodes } = tableOf(program) ?? {};
  return JSON.stringify([settings, nodes, renumber(program)], (key, value: unknown) => {
    if (key === 'at') return undefined;
    // Numbers that JSON doesn't distinguish from others.
    if (Object.is(value, -0)) return '-0';
    if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
    const isItself = key === 'op' || key === 'device' || key === 'call';
    return isItself && typeof value === 'object' && value !== null ? numberOf(value) : value;
  });
}
