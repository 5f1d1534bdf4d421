import type { Program, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import type { EnteringAlone } from '../../runtime/run-program/simulate/simulated-run.ts';
import type { Entering } from './order/memory-graph.ts';

/** The ownership of the inputs of a program. */
export interface EnteringOptions {
  /** Whether inputs die with the scope that they enter, as gradients do; if not, they belong to the caller. */
  readonly inputsEnterAlone?: boolean | ((index: number) => boolean);
  /** Inputs owned only by the program: freed after their last use, or overwritten. */
  readonly donated?: ReadonlySet<ValueId>;
}

/** Returns the indices of the inputs that only the scope owns. */
export function enteringAlone(
  inputs: readonly ValueId[],
  { inputsEnterAlone: alone = false, donated }: EnteringOptions,
): EnteringAlone {
  return {
    alone: typeof alone === 'function' ? alone : () => alone,
    donated: (i) => donated?.has(inputs[i]!) ?? false,
  };
}

/** Returns how each input enters the program: its bytes, and whether it has another owner. */
export function enteringWith(
  { values, inputs }: Program,
  { donated, inputsEnterAlone: alone = false }: EnteringOptions,
): (id: ValueId) => Entering {
  let numbers: ReadonlyMap<ValueId, number> | undefined;
  const entersAlone = (id: ValueId) => {
    if (typeof alone !== 'function') return alone;
    numbers ??= new Map(inputs.map((each, i) => [each, i]));
    return alone(numbers.get(id)!);
  };
  return (id) => {
    if (donated?.has(id)) return { bytes: bytesOf(values, id), exclusive: true };
    return { bytes: entersAlone(id) ? bytesOf(values, id) : 0, exclusive: false };
  };
}
