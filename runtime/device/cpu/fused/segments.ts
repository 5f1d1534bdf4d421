import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import type { DType } from '../../../spec/dtype.ts';
import { isHeavy, type KernelBody, type KernelPart } from './split-parts.ts';

/** The number of vectors that a loop processes before the next loop starts: few enough for the L1 cache. */
export const stripVectors = 256;

/** Consecutive parts that share a loop, from `first` up to but excluding `end`. */
export interface Segment {
  readonly first: number;
  readonly end: number;
}

/**
 * Limits of a chain, above which the processor overlaps too few iterations. Passing one value to another loop is
 * cheaper; passing several is cheaper only for very long chains.
 */
const [mostInChain, mostNodes] = [16, 64];

/** The cost of rounding a result to a half and widening it for the next part, in nodes. */
const halfNodes: { readonly [D in DType]?: number } = { float16: 27, bfloat16: 9 };

interface Weight {
  readonly nodes: number;
  readonly heavy: number;
}

function weightOf({ expr, dtype }: KernelPart): Weight {
  const nodes = nodesOf(expr);
  return { nodes: nodes.length + (halfNodes[dtype] ?? 0), heavy: nodes.filter(isHeavy).length };
}

/**
 * Splits the parts into the loops that run fastest. Exponentials and similar functions are limited by the latency of
 * their instructions, and processors overlap iterations only of short loops. So each gets a separate loop, with the
 * cheap parts around it. The parts of one op share a loop unless several are such functions.
 */
export function segmentsOf({ parts, results }: KernelBody): readonly Segment[] {
  const lastUse = parts.map((_, i) => (results.includes(i) ? parts.length : i));
  parts.forEach(({ operands }, i) => {
    for (const each of operands)
      if ('part' in each) lastUse[each.part] = Math.max(lastUse[each.part]!, i);
  });
  const segments: Segment[] = [];
  let first = 0;
  let sum: Weight = { nodes: 0, heavy: 0 };
  parts.forEach((part, i) => {
    const weight = weightOf(part);
    const passed = lastUse.filter((last, at) => at < i && last >= i).length;
    const most = passed > 1 ? mostNodes : mostInChain;
    const isLong = sum.nodes + weight.nodes > most && part.attrsOf !== parts[i - 1]?.attrsOf;
    if (i > first && (isLong || (weight.heavy > 0 && sum.heavy > 0))) {
      segments.push({ first, end: i });
      [first, sum] = [i, weight];
      return;
    }
    sum = { nodes: sum.nodes + weight.nodes, heavy: sum.heavy + weight.heavy };
  });
  return [...segments, { first, end: parts.length }];
}
