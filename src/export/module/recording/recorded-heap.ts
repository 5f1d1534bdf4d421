import { heap, sharedTables } from '../../../../runtime/device/cpu/core/heap.ts';
import { hostCalls, type View } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import { innerGround } from '../../../../runtime/device/cpu/fused/staged.ts';
import { pool } from '../../../../runtime/device/cpu/threads/pool.ts';
import {
  instantiation,
  kernelCaches,
} from '../../../../runtime/device/cpu/wasm/assembler/module-builder.ts';
import { relaxedMadd } from '../../../../runtime/device/cpu/wasm/assembler/multiply-add.ts';
import { wideVectors } from '../../../../runtime/device/cpu/wasm/assembler/wide-vectors.ts';
import {
  type Action,
  type HostArgument,
  NotRecorded,
  type RecordedKernel,
} from '../actions/actions.ts';
import { exportedNames } from '../code/read-code.ts';

const views = {
  f32: Float32Array,
  f64: Float64Array,
  i32: Int32Array,
  u16: Uint16Array,
  u8: Uint8Array,
} as const;

/** The actions of a run, added by kernels and views of the memory. */
export class ActionLog {
  /** The most bytes that staged ops use at any time besides all tensors. */
  innerBytes = 0;
  readonly actions: Action[] = [];
  /** Elements written since the last kernel, as stored: launches read their arguments back. */
  readonly #written = new Map<string, number>();
  readonly #recorded = new Map<unknown, RecordedKernel>();

  /** Returns a function that replaces a kernel. */
  kernel(recorded: RecordedKernel): (...args: number[]) => number {
    const kernel = (...args: number[]): number => {
      this.#written.clear();
      this.actions.push({ kind: 'call', kernel: recorded, args });
      return 0;
    };
    this.#recorded.set(kernel, recorded);
    return kernel;
  }

  /** Generated kernels are the last arguments. */
  host(name: string, values: readonly unknown[]): void {
    this.#written.clear();
    const kernels = values.flatMap((each) => this.#recorded.get(each) ?? []);
    const args = values.slice(0, values.length - kernels.length) as HostArgument[];
    this.actions.push({ kind: 'host', name, kernels, args });
  }

  /** Returns an object that replaces a view of the memory. */
  view(name: View): object {
    const cell = new views[name](1);
    const stored = (value: number): number => {
      cell[0] = value;
      return cell[0]!;
    };
    const write = (at: number, value: number): void => {
      this.#written.set(`${name} ${at}`, stored(value));
      const last = this.actions.at(-1);
      if (last?.kind === 'write' && last.view === name && last.at + last.values.length === at) {
        last.values.push(value);
      } else this.actions.push({ kind: 'write', view: name, at, values: [value] });
    };
    const methods: Readonly<Record<string, unknown>> = {
      fill: (value: number, from: number, to: number) => {
        if (to > from) this.actions.push({ kind: 'fill', view: name, value, from, to });
      },
      copyWithin: (to: number, from: number, end: number) => {
        if (end > from && to !== from) {
          this.actions.push({ kind: 'move', view: name, to, from, end });
        }
      },
      set: (values: ArrayLike<number>, at = 0) => {
        const { length } = values;
        if (length === 0) return;
        this.actions.push({ kind: 'write', view: name, at, values: Array.from(values) });
      },
    };
    return new Proxy(methods, {
      get: (_target, key) => {
        if (typeof key === 'string' && Object.hasOwn(methods, key)) return methods[key];
        const value = this.#written.get(`${name} ${String(key)}`);
        if (value === undefined) throw new NotRecorded('it reads elements of tensors');
        return value;
      },
      set: (_target, key, value) => {
        write(Number(key), value);
        return true;
      },
    });
  }
}

/** Memory of kernels besides tensors and a thread's scratch memory. */
export interface KernelMemory {
  /** The address of values between the stages of staged ops. */
  readonly inner: number;
  /** The address of tables that kernels read. */
  readonly tables: number;
}

/** How kernels are generated. */
export interface KernelChoice {
  /** As in this engine, or without relaxed SIMD instructions. */
  readonly relaxedSimd: boolean;
}

/**
 * Runs `body` with a memory and kernels that only record what is done with them, on one thread; code compiled
 * before is unaffected.
 */
export function recordingInto<T>(
  log: ActionLog,
  { inner, tables, relaxedSimd }: KernelMemory & KernelChoice,
  body: () => T,
): T {
  const { of } = instantiation;
  const { areUsed } = wideVectors;
  const kernels = kernelCaches.map((cache) => cache.made);
  const { alloc } = innerGround;
  const before = Object.fromEntries(viewNames.map((name) => [name, heap[name]]));
  const { call } = hostCalls;
  hostCalls.call = (_methods, name, args) => log.host(name, args as readonly unknown[]);
  instantiation.of = (code) => {
    const names = exportedNames(code);
    return { exports: Object.fromEntries(names.map((name) => [name, log.kernel({ code, name })])) };
  };
  innerGround.alloc = (offset, bytes) => {
    log.innerBytes = Math.max(log.innerBytes, offset + bytes);
    return inner + offset;
  };
  const tablesAt = sharedTables.at;
  sharedTables.at = tables;
  const { exists } = relaxedMadd;
  if (!relaxedSimd) relaxedMadd.exists = false;
  wideVectors.areUsed = false;
  for (const cache of kernelCaches) cache.made = undefined;
  Object.assign(heap, Object.fromEntries(viewNames.map((name) => [name, log.view(name)])));
  Object.defineProperty(pool, 'threads', { value: 1, configurable: true });
  try {
    return body();
  } finally {
    instantiation.of = of;
    hostCalls.call = call;
    innerGround.alloc = alloc;
    sharedTables.at = tablesAt;
    relaxedMadd.exists = exists;
    wideVectors.areUsed = areUsed;
    kernelCaches.forEach((cache, i) => {
      cache.made = kernels[i];
    });
    Object.assign(heap, before);
    Reflect.deleteProperty(pool, 'threads');
  }
}

const viewNames = Object.keys(views) as View[];
