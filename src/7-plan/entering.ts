import type { Program, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import type { EnteringAlone } from '../../runtime/run-program/simulate/simulated-run.ts';
import type { Entering } from './order/memory-graph.ts';

/** Whose memory the inputs of a program are. */
export interface EnteringOptions {
  /** Inputs die with the scope that they enter, as gradients do; else they are the caller's. */
  readonly inputsEnterAlone?: boolean | ((index: number) => boolean);
  /** Exclusively owned inputs: freed after their last use, or overwritten. */
  readonly donated?: ReadonlySet<ValueId>;
}

/** The numbers of the inputs that only the scope holds. */
export function enteringAlone(
  inputs: readonly ValueId[],
  { inputsEnterAlone: alone = false, donated }: EnteringOptions,
): EnteringAlone {
  return {
    alone: typeof alone === 'function' ? alone : () => alone,
    donated: (i) => donated?.has(inputs[i]!) ?? false,
  };
}

/** What each input brings. */
export function enteringWith(
  { values, inputs }: Program,
  { donated, inputsEnterAlone: alone = false }: EnteringOptions,
): (id: ValueId) => Entering {
  const numbers = new Map(inputs.map((id, i) => [id, i]));
  const entersAlone = (id: ValueId) =>
    typeof alone === 'function' ? alone(numbers.get(id)!) : alone;
  return (id) => {
    if (donated?.has(id)) return { bytes: bytesOf(values, id), exclusive: true };
    return { bytes: entersAlone(id) ? bytesOf(values, id) : 0, exclusive: false };
  };
}
