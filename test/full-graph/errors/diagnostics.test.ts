/** Every diagnostic of the catalogue, provoked by a small function: what it says, where, and what to do. */

import { runInThisContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { stack } from '../../../runtime/ops/movement/joining.ts';
import {
  breakGraph,
  checkpoint,
  FullGraphError,
  ignoreModule,
  memory,
  notToStatic,
  type Tensor,
  type ToStaticOptions,
  tensor,
  tidy,
  toStatic,
} from '../../../src/index.ts';
import {
  type BreakReason,
  breakReasons,
  expectedInstead,
  hintForOneProgram,
} from '../../../src/traces/graph-break.ts';
import { ignored } from './ignored.ts';

interface Case {
  /** A second path to the same value is told from the first. */
  readonly name?: string;
  // biome-ignore lint/suspicious/noExplicitAny: any function that a user may write.
  readonly run: (x: Tensor, given: any) => unknown;
  /** In what was given. */
  readonly says: RegExp;
  readonly given?: () => unknown;
  readonly options?: ToStaticOptions;
}

const sum = (x: Tensor) => x.sum().itemSync();
const leaf = tensor([1, 2]).requiresGrad_();
const hooked = tensor([3, 4]).requiresGrad_();
hooked.registerHook((gradient) => gradient.mul(2));
const wrapped = new Proxy((x: Tensor) => x.mul(2), {});
const unmarked = notToStatic((x: Tensor) => x.mul(2));
const watched = new Proxy({ rate: 2 }, { get: () => 3 });
/** A variable that is a property of the global object, too. */
declare let ofScript: number;
runInThisContext('var ofScript = 1;');
const place = String.raw`\(?\S*diagnostics\.test\.ts:\d+:\d+\)?`;

/** Reasons that end no trace of one program: what eager execution throws is thrown, or it takes a break first. */
type Elsewhere = 'throw' | 'op-error' | 'loop-iteration' | 'host-value' | 'changing-call';

const cases: Record<Exclude<BreakReason, Elsewhere>, Case | readonly Case[]> = {
  'data-read': { run: (x) => x.mul(x.dataSync()[0]!), says: /x\.dataSync\(\) reads values/ },
  'data-size': {
    run: (x) => x.to('int32').histc(),
    says: /the size of the result of histc\(\) depends on data/,
  },
  'native-call': { run: (x) => x.mul(process.uptime()), says: /process\.uptime\(\) is native/ },
  'not-captured': { run: (x) => wrapped(x), says: /wrapped\(\) is not captured: .*Proxy/s },
  'framework-call': {
    run: (x) => checkpoint((y: { x: Tensor }) => y.x, { x } as never),
    says: /checkpoint\(\) with arguments other than tensors/,
  },
  constructor: {
    run: (x) => x.mul(Number(new Number(2))),
    says: /new Number\(\): native code/,
  },
  'in-place': {
    run: (x) => {
      const y = x.mul(2);
      const row = y.select(0, y.argmax().itemSync());
      y.add_(1);
      return row;
    },
    says: /a write to a tensor of which rows were taken at a data-dependent index/,
  },
  'object-write': {
    run: (x, [bytes, same]: readonly [Uint8Array, Uint8Array]) => {
      bytes[0] = 3;
      return x.mul(same[0]!);
    },
    given: () => {
      const bytes = new Uint8Array(2);
      return [bytes, new Uint8Array(bytes.buffer)];
    },
    says: /two typed arrays share memory that is written/,
  },
  'variable-write': {
    run: (x) => {
      ofScript = 2;
      return x.mul(ofScript);
    },
    says: /ofScript is assigned/,
  },
  getter: { run: (x) => x.mul(watched.rate), says: /reading rate of a Proxy/ },
  'unsupported-value': {
    run: (x) => {
      class Pair extends Float32Array {}
      return x.mul(new Pair(2).length);
    },
    says: /a class extends a built-in class/,
  },
  'unsupported-iterable': {
    run: (x) => {
      let y = x;
      for (const _name in watched) y = y.mul(2);
      return y;
    },
    says: /for-in visits the names of a Proxy/,
  },
  'branch-gradient': {
    run: (x) => {
      const z = sum(x) > 0 ? leaf.mul(hooked) : leaf.mul(2);
      z.sum().backward();
      return x.mul(2);
    },
    says: /a function is called with a gradient that exists on some paths only/,
  },
  'branch-mismatch': [
    {
      name: 'sharing',
      run: (x) => {
        const own = [x.mul(2)];
        const made = () => [x.add(1)];
        if (sum(x) > 0) {
          const one = made();
          return { own, both: [one, one] };
        }
        return { own, both: [made(), made()] };
      },
      says: RegExp(`one object on one path and two on another \\(${place} and ${place}\\)`),
    },
    {
      name: 'holes',
      run: (x) => {
        const both = Array<Tensor>(2);
        if (sum(x) > 0) both[1] = x;
        return both;
      },
      says: /element 1 of an array is an? .*tensor and a hole/,
    },
  ],
  'branch-effect': [
    {
      run: (x, given: { marks: WeakSet<object> }) => {
        const y = x.mul(2);
        if (sum(x) > 0) y.requiresGrad_();
        return [y, given];
      },
      given: () => ({}),
      says: /requiresGrad_\(\) in a branch or loop/,
    },
    {
      name: 'a tensor that one branch disposes of',
      run: (x) => {
        const y = x.mul(2);
        if (sum(x) > 0) y.dispose();
        return y.add(1);
      },
      says: /a tensor is used that a branch may have disposed of/,
    },
  ],
  'number-needed': [
    {
      name: 'for a key',
      run: (x) => new Map([[sum(x), x]]),
      says: /a data-dependent number \(read at .*\) is a key of a Map or Set/,
    },
    {
      name: 'for a dtype',
      run: (x) => tensor(new Int32Array([1, 2])).add(sum(x)),
      says: /joins a tensor of int32: whether it is whole decides the dtype of the result/,
    },
    {
      name: 'by a function of the host',
      run: (x) => 'abc'.padEnd(sum(x)),
      says: /is passed to padEnd\(\)/,
    },
  ],
  'number-as-text': {
    run: (x) => `${sum(x)}`.length,
    says: RegExp(`text of a data-dependent number \\(read at ${place} is asked for length`),
  },
  'unbacked-list': {
    run: (x) => {
      const all: number[] = [];
      let y = x;
      while (sum(y) < 50) {
        y = y.mul(2);
        all.push(sum(y));
      }
      return all.flat();
    },
    says: /needs its elements one by one/,
  },
  'unbacked-shape': {
    run: (x) => {
      const all: Tensor[] = [];
      let y = x;
      while (sum(y) < 50) {
        y = y.mul(2);
        all.push(y);
      }
      return x.mul(1).add_(stack(all));
    },
    says: /add_ of data-dependent shape writes in place .*assign a new one/,
  },
  'unbounded-loop': [
    {
      name: 'a value of another shape after every iteration',
      run: (x) => {
        let y = x;
        while (sum(y) < 50) y = stack([y, y]);
        return y;
      },
      says: /with every iteration of a loop y is a f32\[2\] tensor, a f32\[2,2\] tensor, a f32\[2,2,2\] tensor and so on/,
    },
  ],
  'too-many-paths': {
    run: (x) => {
      const chosen: object[] = [];
      for (let i = 0; i < 3; i++) if (x.select(0, 0).itemSync() > i) chosen.push({ i });
      return x.mul(chosen.length);
    },
    options: { pathLimit: 3 },
    says: /more than 3 paths \(pathLimit\) were traced for the decision at .*: \d+ at /,
  },
  await: {
    run: async (x) => {
      await null;
      return x.mul(2);
    },
    says: /the function waits here/,
  },
  yield: [
    {
      run: function* (x) {
        yield x.mul(2);
      },
      says: /the generator yields a value/,
    },
    {
      name: 'after arithmetic on a parameter and a decision on it',
      given: () => 3,
      run: function* (x, n: number) {
        for (let i = 0; i < n - 1; i++) yield x.mul(n * 2);
      },
      says: /the generator yields a value/,
    },
  ],
  'call-depth': {
    run: (x) => {
      const grow = (y: Tensor, n: number): Tensor => (n < 0 ? y : grow(y.mul(2), n + 1));
      return grow(x, 0);
    },
    says: /more than 1024 calls/,
  },
  'trace-length': [
    {
      run: (x) => {
        for (let n = 0; ; n++) if (n < 0) return x;
      },
      options: { traceLimit: 2000 },
      says: /more than 2000 instructions \(traceLimit\)/,
    },
    {
      name: 'a host loop whose condition is a tensor',
      run: (x) => {
        let go: Tensor | boolean = true;
        for (let n = 0; go && n < 1e9; n++) go = x;
        return x;
      },
      options: { traceLimit: 2000 },
      says: RegExp(`condition of the loop at ${place} is a tensor, which is always true: read its`),
    },
  ],
  'not-to-static': { run: (x) => unmarked(x), says: /unmarked\(\) is excluded from capture/ },
  'ignored-module': { run: (x) => ignored(x), says: /ignored\(\) is in .*ignored\.ts/ },
  forced: {
    run: (x) => {
      breakGraph();
      return x.mul(2);
    },
    says: /breakGraph\(\)/,
  },
};

const table = Object.entries(cases).flatMap(([reason, all]) =>
  [all].flat().map((each: Case) => ({ reason: reason as BreakReason, ...each })),
);

/** What the call throws, now or where it goes on. */
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    const result = call();
    if (result instanceof Promise) await result;
    else if (Symbol.iterator in Object(result)) (result as Iterator<unknown>).next();
  } catch (error) {
    return error;
  }
  return null;
}

describe('what keeps a function from being one program', () => {
  ignoreModule(new URL('./ignored.ts', import.meta.url));

  it.each(table)('$reason $name', async ({ reason, run, says, given, options }) => {
    const graph = toStatic(run, { fullGraph: true, ...options });
    const x = tensor([1, 2]);
    const before = memory.stats('cpu').allocated;
    const argument = given?.();
    const copy = structuredClone(argument);
    const error = (await failureOf(() => graph(x, argument))) as FullGraphError;
    expect(error).toBeInstanceOf(FullGraphError);
    expect(error.given).toMatch(says);
    expect(error.record.reason).toBe(reason);
    const { explanation } = breakReasons[reason];
    expect(error.message.toLowerCase()).toContain(explanation.toLowerCase().slice(0, -1));
    expect(error.expected).toBe(expectedInstead(reason));
    expect(error.remedy).toBe(hintForOneProgram(reason));
    const { file, line } = error.at!;
    expect(file).toMatch(/diagnostics\.test\.ts$/);
    expect(error.given).toMatch(RegExp(`^ *${line} \\| .*<--- HERE$`, 'm'));
    // Nothing has happened.
    expect(argument).toEqual(copy);
    expect(memory.stats('cpu').allocated).toBe(before);
    x.dispose();
  });
});

/** Met where the graph may break; where it may not, the error is the function's own. */
const breaks: Record<
  Elsewhere,
  { readonly run: (x: Tensor) => unknown; readonly throws: boolean }
> = {
  throw: {
    run: (x) => {
      if (x.shape[0] === 2) throw new RangeError('two');
      return x;
    },
    throws: true,
  },
  'op-error': { run: (x) => x.matmul(tensor([[1, 2, 3]])), throws: true },
  'loop-iteration': {
    run: (x) => {
      let y = x;
      for (const step of [1, 2, 3]) {
        y = y.mul(step);
        breakGraph();
        y = y.add(1);
      }
      return y;
    },
    throws: false,
  },
  'host-value': {
    run: (x) => {
      let n = x.sum().itemSync();
      while (n < 40) n *= 1.5;
      return x.mul(n);
    },
    throws: false,
  },
  'changing-call': {
    run: (x) => {
      const y = x.mul(2);
      return Math.random() < 2 ? y.add(1) : y;
    },
    throws: false,
  },
};

describe('what ends a graph that may break', () => {
  it.each(Object.entries(breaks))('%s', (reason, { run, throws }) => {
    const graph = toStatic(run);
    const results = [1, 2, 3, 4, 5, 6].map((i) =>
      tidy(() => {
        const x = tensor([i, 2]);
        return [run, graph].map((each) => {
          try {
            return [...(each(x) as Tensor).dataSync()];
          } catch (error) {
            return (error as Error).name;
          }
        });
      }),
    );
    for (const [eager, broken] of results) {
      expect(broken).toEqual(eager);
      expect(typeof eager === 'string').toBe(throws);
    }
    const reasons = graph.programs().map(({ trace: { outcome } }) => {
      return outcome.kind === 'break' ? outcome.record.reason : null;
    });
    expect(reasons).toContain(reason);
  });
});
