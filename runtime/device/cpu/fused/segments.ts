import type { Expr } from '../../../ops/expr/expr.ts';
import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import { isHeavy, type KernelBody } from './split-parts.ts';

/** The number of vectors that a loop processes before the next one starts: values stay in the L1 cache. */
export const stripVectors = 256;

/** Consecutive parts that share a loop, from `first` up to but excluding `end`. */
export interface Segment {
  readonly first: number;
  readonly end: number;
}

/** Longer chains exceed what the processor keeps in flight anyway. */
const mostNodes = 64;

interface Weight {
  readonly nodes: number;
  readonly heavy: number;
}

function weightOf(expr: Expr): Weight {
  const nodes = nodesOf(expr);
  return { nodes: nodes.length, heavy: nodes.filter(isHeavy).length };
}

/**
 * Splits the parts into the loops that run fastest. Exponentials and similar functions are limited by the latency
 * of their instruction chain, and the processor overlaps several iterations only if the loop is short. So each of
 * them gets a separate loop, with the cheap parts around it.
 */
export function segmentsOf({ parts }: KernelBody): readonly Segment[] {
  const segments: Segment[] = [];
  let first = 0;
  let sum: Weight = { nodes: 0, heavy: 0 };
  parts.forEach(({ expr }, i) => {
    const own = weightOf(expr);
    const isFull = (own.heavy > 0 && sum.heavy > 0) || sum.nodes + own.nodes > mostNodes;
    if (isFull && i > first) {
      segments.push({ first, end: i });
      [first, sum] = [i, own];
      return;
    }
    sum = { nodes: sum.nodes + own.nodes, heavy: sum.heavy + own.heavy };
  });
  return [...segments, { first, end: parts.length }];
}
