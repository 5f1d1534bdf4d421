import { heap, mostThreads, threadBytes } from '../core/heap.ts';
import { countsAt } from '../core/scratch.ts';
import { i32, load, op, scratch, store } from './assembler/code.ts';
import type { FunctionBuilder } from './assembler/function-builder.ts';

/** How often a product left its second factor where it lies, and a packer read whole cache lines: the kernels decide. */
const places = { unpacked: countsAt, packedByLines: countsAt + 4 } as const;

export function count(f: FunctionBuilder, what: keyof typeof places): void {
  const place = scratch(places[what]);
  f.emit(store('i32.store', place, op('i32.add', load('i32.load', place), i32(1))));
}

/** Calls so far, of all threads. */
export function productCounts(): Record<keyof typeof places, number> {
  const sum = (at: number): number => {
    let calls = 0;
    for (let thread = 0; thread < mostThreads; thread++) {
      calls += heap.i32[(thread * threadBytes + at) / 4]!;
    }
    return calls;
  };
  return { unpacked: sum(places.unpacked), packedByLines: sum(places.packedByLines) };
}
