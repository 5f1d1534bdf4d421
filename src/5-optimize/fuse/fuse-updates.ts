import type { PassContext, Staged } from '../facts/pass.ts';
import { fuseGroups } from './fuse-groups.ts';
import { listGroups } from './list-groups.ts';

/**
 * In: a program in the order of its plan, pointwise ops fused. Out: the same with updates of one structure of several tensors
 * as one op each: one launch for all parameters of an optimizer, over whose elements threads share.
 */
export function fuseUpdates(given: Staged, context: PassContext): Staged {
  return fuseGroups(given, context, (options) => listGroups(given.program, options));
}
