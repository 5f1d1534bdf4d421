import type { ValueId } from '../../../runtime/program/program.ts';
import type { ForwardFacts } from './forward-facts.ts';

/**
 * Returns the values to keep if forward is divided into this many segments of about equal size: the memory that crosses
 * from segment to segment, at the positions where that is least. Chen et al., "Training Deep Nets with Sublinear Memory
 * Cost" (2016), for any program rather than a chain of layers.
 */
export function checkpoints(facts: ForwardFacts, segments: number): ReadonlySet<ValueId> {
  const { forward } = facts;
  const position = new Map(forward.map((index, at) => [index, at]));
  const ranges = forward.flatMap((index, from) =>
    facts.program.ops[index]!.outputs.filter((id) => facts.rootOf(id) === id).map((id) => {
      return { id, bytes: facts.bytesOf(id), from, to: position.get(facts.lastForwardRead(id))! };
    }),
  );
  const made = new Float64Array(forward.length);
  const starts = new Float64Array(forward.length + 1);
  for (const { bytes, from, to } of ranges) {
    made[from] = made[from]! + bytes;
    starts[from] = starts[from]! + bytes;
    starts[to] = starts[to]! - bytes;
  }
  const soFar = running(made);
  const crossing = running(starts);
  const total = soFar.at(-1) ?? 0;
  const kept = new Set<ValueId>();
  for (let segment = 1; segment < segments; segment++) {
    const target = (total * segment) / segments;
    const reach = total / segments / 3;
    let best = -1;
    for (let at = 0; at < forward.length; at++) {
      if (Math.abs(soFar[at]! - target) > reach) continue;
      if (best < 0 || crossing[at]! < crossing[best]!) best = at;
    }
    for (const { id, from, to } of ranges) if (from <= best && best < to) kept.add(id);
  }
  return kept;
}

function running(differences: Float64Array): Float64Array {
  let sum = 0;
  return differences.map((difference) => {
    sum += difference;
    return sum;
  });
}
