import type { Tensor } from '../../../src/index.ts';
import { values, type World } from '../same-as-eager.ts';

export type Obj = Record<PropertyKey, unknown>;
export const num = (value: unknown): number => value as number;

/** The world of a function of one tensor and one object, which changes before some calls. */
export function changing(
  make: () => { object: Obj; fn: (x: Tensor, o: Obj) => unknown; log?: unknown[] },
  changes: readonly ((o: Obj, log: unknown[]) => void)[],
): () => World {
  return () => {
    const { object, fn, log = [] } = make();
    return {
      fn,
      args: (call) => {
        if (call >= 2) changes[call - 2]?.(object, log);
        return [values([2]), object];
      },
      state: () => log,
    };
  };
}

export const getter = (o: Obj, key: PropertyKey, log: unknown[], value: unknown) =>
  Object.defineProperty(o, key, {
    get() {
      log.push('get');
      return value;
    },
    enumerable: true,
    configurable: true,
  });
