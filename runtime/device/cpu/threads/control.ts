/**
 * The memory by which the threads of a pool agree: a few words, each in a cache line of its own, then the
 * arguments of the parts, then the modules that threads compile for themselves. WebAssembly modules can't be
 * posted to a thread that waits, but every thread can compile from shared bytes.
 */

/** Places of 32-bit words. */
export const words = {
  /** Number of the job, above `partBits` bits of the next part to take. */
  claim: 0,
  /** Parts of the job that are done. */
  done: 16,
  /** Threads that sleep until `claim` changes. */
  parked: 32,
  /** While not below its number, a thread takes no part. */
  threads: 48,
  /** Nonzero while the thread that began the job sleeps until `done` changes. */
  waiting: 64,
  /** Number of a thread in which a part threw; 0 for none. */
  failed: 80,
  /** The kernel that the job calls, and how often. */
  kernel: 96,
  parts: 97,
  arity: 98,
  /** 1 for each thread that has begun, by its number. */
  begun: 112,
} as const;

export const partBits = 12;
export const partMask = 2 ** partBits - 1;
/** In place of the next part's number: there is no job. */
export const closed = partMask;

export const mostParts = 1024;
export const mostArguments = 16;

/** In bytes. */
export const argumentsAt = 512;
export const codeAt = argumentsAt + mostParts * mostArguments * 8;
export const codeBytes = 8 << 20;
export const controlBytes = codeAt + codeBytes;
