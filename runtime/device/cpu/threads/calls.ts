import type { Kernel } from '../wasm/assembler/module-builder.ts';
import { mostParts } from './control.ts';
import { pool } from './pool.ts';

/** Calls of one kernel with `arity` arguments: at once, or as parts of jobs. Call `end` after the last one. */
export function callsOf(kernel: Kernel, arity: number, isShared: boolean) {
  let parts = 0;
  const end = (): void => {
    if (parts > 0) pool.run(kernel, parts, arity);
    parts = 0;
  };
  const call = (...args: number[]): void => {
    if (!isShared) {
      kernel(...args);
      return;
    }
    if (parts === mostParts) end();
    pool.numbers.set(args, parts++ * arity);
  };
  return { call, end };
}
