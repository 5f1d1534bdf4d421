/**
 * The memory that synchronizes the threads of a pool: a few words, each in its own cache line, then the arguments
 * of the parts, then the modules that threads compile. WebAssembly modules can't be posted to a waiting thread,
 * but every thread can compile from shared bytes.
 */

/** Indices of 32-bit words. */
export const words = {
  /** The job's number, above `partBits` bits with the next part to take. */
  claim: 0,
  /** The number of finished parts of the job. */
  done: 16,
  /** The number of threads sleeping until `claim` changes. */
  parked: 32,
  /** A thread takes parts only while its number is below this. */
  threads: 48,
  /** Nonzero while the thread that started the job sleeps until `done` changes. */
  waiting: 64,
  /** The number of a thread in which a part threw; 0 for none. */
  failed: 80,
  /** The kernel that the job calls, and the number of its parts. */
  kernel: 96,
  parts: 97,
  arity: 98,
  /** 1 for each started thread, by its number. */
  begun: 112,
} as const;

export const partBits = 12;
export const partMask = 2 ** partBits - 1;
/** In place of the next part's number, says that there is no job. */
export const closed = partMask;

export const mostParts = 1024;
export const mostArguments = 16;

/** In bytes. */
export const argumentsAt = 512;
export const codeAt = argumentsAt + mostParts * mostArguments * 8;
export const codeBytes = 8 << 20;
export const controlBytes = codeAt + codeBytes;
