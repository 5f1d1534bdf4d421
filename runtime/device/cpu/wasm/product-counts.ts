import { i32, load, op, scratch, store } from './assembler/code.ts';
import type { FunctionBuilder } from './assembler/function-builder.ts';

/** Increments a counter in a thread's scratch memory, the only record of decisions made inside a kernel. */
export function count(f: FunctionBuilder, at: number): void {
  const place = scratch(at);
  f.emit(store('i32.store', place, op('i32.add', load('i32.load', place), i32(1))));
}
