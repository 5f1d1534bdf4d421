import { lowerEntry } from '../lowering/entry-lowering.ts';
import type { PortableProgram } from '../lowering/portable-program.ts';
import { typeOf, type Value } from './emit/emitter.ts';
import { StableHloEngine } from './engine.ts';

/** One argument of `@main`. */
export interface ExportedInput {
  readonly name: string;
  readonly kind: 'argument' | 'state' | 'random';
  /** Element type and shape in StableHLO. */
  readonly type: string;
  readonly shape: readonly number[];
  /** A number's value when the program was saved; tensors are in the safetensors file. */
  readonly value: number | null;
  /** A sharding hint: the mesh axis of the first dimension, for batches; null for replicated. */
  readonly shard: 'data' | null;
}

/** One result of `@main`. */
export interface ExportedOutput {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  /** The index of the input that receives it in the next call; null for a result of the function. */
  readonly feeds: number | null;
}

interface ExportedProgram {
  /** A StableHLO module in MLIR's text form. */
  readonly text: string;
  readonly inputs: readonly ExportedInput[];
  readonly outputs: readonly ExportedOutput[];
  /** The number of user checks (`if (bad) throw …`) that the exported program omits. */
  readonly unchecked: number;
}

/**
 * Exports the program as one StableHLO function, with its state as inputs and results. `maxIterations`: the most
 * iterations of a data-dependent loop that gradients flow through.
 */
export function exportProgram(
  portable: PortableProgram,
  maxIterations: number | null,
): ExportedProgram {
  const engine = new StableHloEngine(maxIterations);
  const { inputs, results, unchecked } = lowerEntry(portable, engine);
  const parameters = inputs.map(({ value }) => value);
  const values = results.map(({ value }) => value);
  return {
    text: moduleText(portable.name, engine.lines, parameters, values),
    inputs: inputs.map(({ name, kind, value: { element, shape }, held }) => ({
      name,
      kind,
      type: element,
      shape,
      value: typeof held === 'number' || typeof held === 'boolean' ? Number(held) : null,
      shard: kind === 'argument' && shape.length > 0 ? 'data' : null,
    })),
    outputs: results.map(({ name, value: { element, shape }, feeds }) => ({
      name,
      type: element,
      shape,
      feeds,
    })),
    unchecked,
  };
}

function moduleText(
  programName: string,
  lines: readonly string[],
  inputs: readonly Value[],
  results: readonly Value[],
): string {
  const parameters = inputs.map((value) => `${value.id}: ${typeOf(value)}`).join(', ');
  const types = results.map(typeOf).join(', ');
  const ids = results.map(({ id }) => id).join(', ');
  const name = programName.replace(/\W/g, '_') || 'program';
  return [
    `module @${name} {`,
    `  func.func public @main(${parameters}) -> (${types}) {`,
    ...lines,
    `    return ${ids} : ${types}`,
    '  }',
    '}',
    '',
  ].join('\n');
}
