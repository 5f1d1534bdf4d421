import type { PassContext, Staged } from '../facts/pass.ts';
import { fuseGroups } from './fuse-groups.ts';
import { listGroups } from './list-groups.ts';

/**
 * In: a program in the order of its plan, with pointwise ops fused. Out: the same program with updates of several
 * tensors that have one structure fused into one op: one launch for all parameters of an optimizer, whose elements
 * are divided among threads.
 */
export function fuseUpdates(given: Staged, context: PassContext): Staged {
  return fuseGroups(given, context, (options) => listGroups(given.program, options));
}
