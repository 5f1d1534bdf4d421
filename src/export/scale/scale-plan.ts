import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { ExportedInput, ExportedOutput } from '../stablehlo/export-program.ts';
import type { Mesh, PartitionSpec, ShardHint } from './mesh.ts';

/** The facts about the program that `run.py` reads from `scale.json` in its folder. */
export interface ScalePlan {
  readonly format: 'tostatic-scale';
  readonly version: 1;
  readonly name: string;
  readonly mesh: Readonly<Record<string, number>>;
  readonly inputs: readonly (Omit<ExportedInput, 'shard'> & { readonly spec: PartitionSpec })[];
  readonly outputs: readonly ExportedOutput[];
}

interface Sidecar {
  readonly name: string;
  readonly inputs: readonly ExportedInput[];
  readonly outputs: readonly ExportedOutput[];
}

/**
 * Returns how each input is split over the mesh: arguments by their first dimension over the axis `data`, others by
 * the last matching hint. Throws ArgumentError for a hint without a tensor, a size that an axis doesn't divide, and
 * a program that isn't a step.
 */
export function scalePlan(
  { name, inputs, outputs }: Sidecar,
  mesh: Mesh,
  hints: readonly ShardHint[],
): ScalePlan {
  if (!outputs.some(({ feeds }) => feeds !== null)) {
    throw new ArgumentError({
      what: 'scale: the program changes no state',
      given: `${name || 'a function'} with ${inputs.length} inputs, and results alone`,
      expected: 'a training step, which updates parameters',
      remedy: 'for inference at scale export the program as ONNX: tostatic export FILE --to onnx',
    });
  }
  for (const { text, matches } of hints) {
    if (inputs.some((input) => matches(input.name))) continue;
    throw new ArgumentError({
      what: 'scale: a shard hint matches no tensor',
      given: text,
      expected: `one of ${inputs.map((input) => input.name).join(', ')}`,
      remedy: 'use * for any text: --shard "*.weight=model"',
    });
  }
  for (const input of inputs) checkName(input);
  return {
    format: 'tostatic-scale',
    version: 1,
    name,
    mesh: Object.fromEntries(mesh),
    inputs: inputs.map(({ shard, ...input }) => {
      const hint = hints.findLast(({ matches }) => matches(input.name));
      const byBatch = shard === 'data' && mesh.has('data') ? ['data'] : [];
      const spec = trimmed(hint ? hint.spec : byBatch);
      checkSpec(input.name, input.shape, spec, mesh);
      return { ...input, spec };
    }),
    outputs,
  };
}

/** Arguments are looked up by name in the data folder. */
function checkName({ name, kind }: ExportedInput): void {
  if (kind !== 'argument' || /^(?!.*\.\.)[\w.-]+$/.test(name)) return;
  throw new ArgumentError({
    what: 'scale: the name of an argument is not a valid file name',
    given: name,
    expected: 'letters, digits, -, _ and single dots',
    remedy: 'rename the property of the argument, and save the step again',
  });
}

function trimmed(spec: PartitionSpec): PartitionSpec {
  return spec.slice(0, spec.findLastIndex((axis) => axis !== null) + 1);
}

function checkSpec(name: string, shape: readonly number[], spec: PartitionSpec, mesh: Mesh): void {
  for (const [d, axis] of spec.entries()) {
    const [size, parts] = [shape[d], axis === null ? 1 : mesh.get(axis)!];
    if (size !== undefined && size % parts === 0) continue;
    throw new ArgumentError({
      what: `scale: ${name} can't be split`,
      given:
        size === undefined
          ? `${spec.length} dimensions to split of shape [${shape.join(', ')}]`
          : `dimension ${d} of shape [${shape.join(', ')}] over ${axis}=${parts}`,
      expected: 'sizes that are multiples of the axis',
      remedy: `save the step with another size, or leave the tensor whole: --shard '${name}=-'`,
    });
  }
}
