import type { Groups } from '../core/command-batch.ts';

/** A kernel of our own as data: the text of one WGSL module, what it binds, and its uniforms. */
export interface WgslText {
  readonly code: string;
  /** Whether the kernel writes each storage buffer, in the order of bindings 1, 2, …. */
  readonly written: readonly boolean[];
  /** Whether each storage buffer is declared to be written, or only read. */
  readonly writable: readonly boolean[];
  /** Threads write elements of one word. */
  readonly isAtomic: boolean;
  /** Size of the uniforms, which are binding 0. */
  readonly uniformBytes: number;
}

/** Threads of one workgroup, for kernels of one thread per element. */
export const workgroupThreads = 64;

/** Workgroups along one dimension of a dispatch that every adapter allows. */
const mostGroups = 65535;

/** `count` workgroups that a kernel numbers by `group` (see WgslWriter). */
export function groupsOf(count: number, z = 1): Groups {
  return [Math.min(count, mostGroups), Math.ceil(count / mostGroups), z];
}
