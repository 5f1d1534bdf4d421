import { type Code, i32, i32x4, lane, load, memoryLane, op, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';

interface Values {
  readonly values: readonly Code[];
  /** Clears the lanes that repeat a tail element. */
  readonly once: (value: Code) => Code;
}

/**
 * Iterates over float32 elements at `reads`, four at a time, then one at a time in all lanes; `body` returns what to
 * store at `to`, if anything. Changes the count and the addresses.
 */
export function along(
  f: FunctionBuilder,
  count: Local,
  reads: readonly Local[],
  to: Local | null,
  body: (run: Values) => Code | null,
): void {
  const firstLane = f.local('v128');
  f.set(firstLane, lane('i32x4.replace_lane', 0, i32x4(0), i32(-1)));
  const values = reads.map(() => f.local('v128'));
  const step = (width: 4 | 1) => () => {
    reads.forEach((read, i) => {
      f.set(values[i]!, load(width === 4 ? 'v128.load' : 'v128.load32_splat', get(read)));
      if (read !== to) f.add(read, width * 4);
    });
    const once = (value: Code): Code =>
      width === 4 ? value : op('v128.and', value, get(firstLane));
    const result = body({ values: values.map(get), once });
    if (!result || !to) return;
    const stored = f.local('v128', result);
    f.emit(
      width === 4
        ? store('v128.store', get(to), get(stored))
        : memoryLane('v128.store32_lane', get(to), get(stored), 0),
    );
    f.add(to, width * 4);
  };
  f.countDown(count, 4, step(4));
  f.countDown(count, 1, step(1));
}
