import type { Groups } from '../core/command-batch.ts';

/** One of our kernels as data: the text of a WGSL module, its bindings and its uniforms. */
export interface WgslText {
  readonly code: string;
  /** Whether the kernel writes each storage buffer, in the order of bindings 1, 2, …. */
  readonly written: readonly boolean[];
  /** Whether each storage buffer is declared writable. */
  readonly writable: readonly boolean[];
  /** Whether threads write elements of one word. */
  readonly isAtomic: boolean;
  /** The size of the uniforms, which are binding 0. */
  readonly uniformBytes: number;
}

/** The threads per workgroup, for kernels with one thread per element. */
export const workgroupThreads = 64;

/** The number of workgroups along one dimension of a dispatch that every adapter allows. */
const mostGroups = 65535;

/** Returns `count` workgroups, which a kernel numbers by `group` (see WgslWriter). */
export function groupsOf(count: number, z = 1): Groups {
  return [Math.min(count, mostGroups), Math.ceil(count / mostGroups), z];
}
