import type { PassContext, Staged } from '../facts/pass.ts';
import { fuseGroups } from './fuse-groups.ts';
import { listGroups } from './list-groups.ts';

/** The factor by which the peak may grow for fewer launches, by preference. */
const worthOfLaunches = { time: 1.01, bytes: 1.001 } as const;

/**
 * In: a program in the order of its plan, with pointwise ops fused. Out: the same program with updates of several
 * tensors that have one structure fused into one op: one launch for all parameters of an optimizer, whose elements are
 * divided among threads. In a whole step, fusing may raise the peak by up to 1 %, or 0.1 % if bytes are preferred, but
 * not above a budget or the peak that the program had before it was ordered again.
 */
export function fuseUpdates(staged: Staged, context: PassContext): Staged {
  const { memory, peakBefore = 0, available = [] } = context;
  const isWhole = staged.alsoRead.length === 0 && available.length === 0;
  const most = Math.min(peakBefore, memory.budget ?? peakBefore);
  const limitOf = (bytes: number) =>
    isWhole ? Math.max(bytes, Math.min(bytes * worthOfLaunches[memory.prefer], most)) : bytes;
  return fuseGroups(staged, context, (options) => listGroups(staged.program, options), limitOf);
}
