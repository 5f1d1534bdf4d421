import type { Expr } from '../../../ops/expr/expr.ts';
import { nodesOf } from '../../../ops/expr/expr-nodes.ts';
import { isHeavy, type KernelBody } from './split-parts.ts';

/**
 * Elements that one loop goes over before the next one starts, in vectors: what the loops hand on to each other
 * stays in the nearest cache.
 */
export const stripVectors = 256;

/** Consecutive parts that share a loop: from `first` up to `end`. */
export interface Segment {
  readonly first: number;
  readonly end: number;
}

/** A chain of this many operations is longer than what the processor has in flight anyway. */
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
 * The parts in as many loops as run fastest: exponentials and their like are bound by the length of their chain of
 * instructions, of which the processor overlaps those of several iterations only where the loop is short. So each
 * of them has a loop of its own, with the cheap parts around it.
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
