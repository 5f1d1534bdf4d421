import type { Program, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';

/** The gradients that each value of a backward program is computed from, as a bit set. */
interface GradientSources {
  of(id: ValueId): bigint;
  /** Values that combine gradients from different sources, some of which may be missing in a run. */
  readonly joined: ReadonlySet<ValueId>;
}

const noSources: GradientSources = { of: () => 0n, joined: new Set() };

export function gradientSources({ ops }: Program, gradients: readonly ValueId[]): GradientSources {
  if (gradients.length === 0) return noSources;
  const sources = new Map(gradients.map((id, i) => [id, 1n << BigInt(i)]));
  const joined = new Set<ValueId>();
  const of = (id: ValueId): bigint => sources.get(id) ?? 0n;
  for (const op of ops) {
    const read = op.inputs.map(of).filter((bits) => bits !== 0n);
    const bits = read.reduce((all, each) => all | each, 0n);
    const isJoined = read.some((each) => each !== bits);
    for (const id of [...op.outputs, ...writtenOperands(op).map((i) => op.inputs[i]!)]) {
      sources.set(id, bits);
      if (isJoined) joined.add(id);
    }
  }
  return { of, joined };
}
