/** Booleans that differ from call to call and only choose numbers: two translations, equal to eager execution. */

import { describe, expect, it } from 'vitest';
import { exportModule } from '../../src/export/index.ts';
import {
  type DType,
  load,
  nn,
  noGrad,
  optim,
  save,
  seed,
  type Tensor,
  type ToStaticOptions,
  tensor,
  toStatic,
} from '../../src/index.ts';
import { instanceOf } from '../export/module/module-instance.ts';
import { expectSameAsEager, values, weights } from './same-as-eager.ts';
import { describeValues } from './snapshot.ts';

const count = 5;

/** Flags of which each call has others; in the second call, only the third differs. */
const flagsOf = (call: number): boolean[] => {
  const bits = [0b00000, 0b00100, 0b11111, 0b01010, 0b10101, 0b00001, 0b11000, 0b00110][call % 8]!;
  return Array.from({ length: count }, (_, i) => (bits & (1 << i)) !== 0);
};

const modes: Readonly<Record<string, ToStaticOptions>> = {
  'by default': {},
  fullGraph: { fullGraph: true },
  dynamic: { dynamic: true },
};

const table = { fast: 4, slow: -0 };
const otherTable = { fast: 8, slow: 9 };

/** TypeScript admits arithmetic with a boolean only by assertion. */
const n = (flag: boolean) => flag as unknown as number;

describe.each(Object.entries(modes))('trace/changing-booleans %s', (_mode, options) => {
  type OfFlags = (flags: boolean[], x: Tensor) => unknown;
  const forms: Readonly<Record<string, OfFlags>> = {
    'tensor(flags)': (flags) => tensor(flags),
    'tensor of a flag, and nested': (flags) => [
      tensor(flags[0]!),
      tensor([flags.slice(0, 2), [true, !flags[2]!]]),
    ],
    'tensor of flags and numbers': (flags) => tensor([n(flags[0]!), 2.5, n(!flags[1]!)]),
    '? :': (flags) => tensor(flags.map((flag) => (flag ? 0 : 1))),
    '? : of a negation': (flags) => tensor(flags.map((flag) => (!flag ? 0.25 : -3))),
    '? : of numbers that arithmetic would mix up': (flags) =>
      tensor(
        flags.flatMap((flag) => [flag ? Number.NaN : -0, flag ? -0 : Infinity, flag ? 0 : -0]),
      ),
    '? : inside one another': (flags) => tensor([flags[0] ? (flags[1] ? 1 : 2) : flags[2] ? 3 : 4]),
    '? : of numbers that are computed': (flags) =>
      tensor(flags.map((flag, i) => (flag ? i * 2 : -i / 3))),
    '&&, || and ! of flags': (flags) => {
      const both = flags[0]! && flags[1]!;
      const either = flags[2]! || !flags[3]!;
      return [tensor([both, either]), tensor([both && either ? 0.5 : 2]), both, either];
    },
    'compared with booleans, and with each other': (flags, x) => {
      const [a, b, c, d, e] = flags as [boolean, boolean, boolean, boolean, boolean];
      const same = tensor([a === true ? 2 : 3, b !== true ? 4 : 5, false === c ? 6 : 7]);
      return [
        same,
        tensor([d === e, a !== b, !c === d]),
        x.mul(b === (c === d) ? 0.5 : 2),
        a === b,
      ];
    },
    'Number, + and arithmetic': (flags) =>
      tensor([Number(flags[0]), +flags[1]!, 1 - n(flags[2]!), -flags[3]!, 0.99 * n(!flags[4]!)]),
    if: (flags) => {
      const kept: number[] = [];
      for (const flag of flags) {
        let weight = 1;
        if (flag) weight = 0;
        kept.push(weight);
      }
      return tensor(kept);
    },
    'if with returns': (flags) => {
      const weightOf = (flag: boolean) => {
        if (flag) return 0.5;
        return 1;
      };
      return tensor(flags.map(weightOf));
    },
    'attributes of ops': (flags, x) =>
      x
        .mul(flags[0] ? 2 : -0)
        .add(flags[1] ? Number.NaN : 1)
        .clamp(flags[2] ? -1 : 0, 9),
    'in a sum': (flags, x) => {
      let open = 0;
      for (const flag of flags) open += flag ? 0 : 1;
      return x.div(open);
    },
    'a default where a flag chooses no number': (flags, x) => [
      tensor(flags.map((flag) => (flag && 3) || 0.5)),
      tensor([+flags[0]! || -0, (!flags[1]! && 2) || 7]),
      x.mul((flags[3]! && flags[4]! && -0) || (flags[0]! ? Number.NaN : 4)),
    ],
    'the flag itself, where its path knows it': (flags) => {
      const [a, b] = flags as [boolean, boolean];
      return [tensor(flags), tensor([!b ? 1 : a && b ? 2 : +a, a ? 1 - +a : +a + 3])];
    },
    'a key or an object that a flag chooses': (flags) => {
      const rates = { fast: 0.5, slow: 2 };
      const other = { fast: -1, slow: 3 };
      return [
        tensor(flags.map((flag) => table[flag ? 'fast' : 'slow'])),
        tensor([rates[flags[0] ? 'fast' : 'slow'], table[flags[1] ? 'slow' : 'fast']]),
        tensor([(flags[2] ? table : otherTable).slow, flags[3] ? rates.fast : other.slow]),
      ];
    },
    'a sum of a hundred': (flags, x) => {
      let open = 0;
      for (let i = 0; i < 20; i++) for (const flag of flags) open += flag ? i : 1;
      return x.mul(open);
    },
    'results without a tensor': (flags, x) => [
      x.neg(),
      flags.map((flag) => !flag),
      flags.map((flag) => (flag ? 1 : -0)),
    ],
  };

  it.each(Object.entries(forms))('%s', (_name, fn) => {
    const { stats } = expectSameAsEager(
      () => ({ fn, args: (call) => [flagsOf(call), values([4])] }),
      { calls: 8, ...options },
    );
    expect(stats).toMatchObject({ translations: 2, breaks: [], fallbacks: [] });
  });

  const dtypes: readonly DType[] = [
    'float64',
    'float32',
    'float16',
    'bfloat16',
    'int32',
    'uint8',
    'bool',
  ];
  it.each(dtypes)('tensors of %s', (dtype) => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (flags: boolean[]) => [
          tensor(flags, { dtype }),
          tensor(
            flags.map((flag) => (flag ? 0 : 1)),
            { dtype },
          ),
          tensor(
            flags.map((flag) => (flag ? 3.7 : 100)),
            { dtype },
          ),
        ],
        args: (call) => [flagsOf(call)],
      }),
      { calls: 8, ...options },
    );
    expect(stats).toMatchObject({ translations: 2, breaks: [], fallbacks: [] });
  });

  it('decisions with effects or tensors are guarded, and agree with what is computed', () => {
    const { stats } = expectSameAsEager(
      () => {
        const log: string[] = [];
        return {
          fn: (flags: boolean[], x: Tensor) => {
            const weight = flags[0] ? 2 : 3;
            if (flags[0]) log.push(`weight ${weight}`);
            const sized = x.reshape([flags[0] ? 2 : 4, -1]).mul(weight);
            return flags[0] ? sized.neg() : sized.add([5, 6][flags[0] ? 0 : 1]!);
          },
          args: (call) => [flagsOf(call), weights([4])],
          state: () => log,
        };
      },
      { calls: 8, ...options },
    );
    expect(stats).toMatchObject({ translations: 2, breaks: [], fallbacks: [] });
  });

  it('a value of another type has its own translation', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (flag: unknown) => tensor([flag ? 1 : 2, +(flag as number)]),
        args: (call) => [[true, false, 3, true, null, 4, undefined, false, 'a'][call]],
      }),
      { calls: 9, ...options },
    );
    expect(stats.fallbacks).toEqual([]);
  });
});

describe('trace/changing-booleans', () => {
  it('a path that the call does not take reads nothing that may be missing', () => {
    type Step = { final: boolean; next: { value: number } | null };
    const { stats } = expectSameAsEager(
      () => ({
        fn: (steps: Step[]) => tensor(steps.map((step) => (step.final ? 0 : step.next!.value))),
        args: (call) => [
          flagsOf(call).map((final, i) => ({
            final,
            next: final ? null : { value: i + call / 2 },
          })),
        ],
      }),
      { calls: 4 },
    );
    expect(stats.breaks).toEqual([]);
  });

  it('a getter on a path that the call does not take is not called', () => {
    let calls = 0;
    const settings = {
      get scale() {
        calls++;
        return 3;
      },
    };
    const f = toStatic((x: Tensor, flag: boolean) => x.mul(flag ? settings.scale : 2));
    for (const flag of [false, true, false, false, true, false]) f(values([2]), flag);
    expect(calls).toBe(2);
  });

  it('in branches and loops on data', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (flags: boolean[], x: Tensor) => {
          let scale = flags[0] ? 1 : 2;
          const total = x.sum().itemSync() as number;
          if (total > 0) scale *= flags[1] ? 3 : 5;
          else scale = flags[2] ? -1 : -0;
          for (let i = 0; i < total; i++) scale += flags[3] ? 0.5 : 0.25;
          return x.mul(scale);
        },
        args: (call) => [flagsOf(call), tensor([call - 3, 0.5])],
      }),
      { calls: 8, fullGraph: true },
    );
    expect(stats).toMatchObject({ translations: 2, fallbacks: [] });
  });

  it('after a graph break', () => {
    const { stats } = expectSameAsEager(
      () => ({
        fn: (flags: boolean[], x: Tensor) => {
          const first = x.sum().itemSync() as number;
          const isOpen = !flags[0];
          const mask = tensor(flags.map((flag) => (flag ? first : 1)));
          return isOpen ? mask.mul(2) : mask;
        },
        args: (call) => [flagsOf(call), tensor([call, 2])],
      }),
      { calls: 8 },
    );
    expect(stats.fallbacks).toEqual([]);
    expect(stats.translations).toBeLessThanOrEqual(5);
  });

  it('saved programs compute them', async () => {
    const f = toStatic(
      (x: Tensor, done: boolean[], flag: boolean) => [
        x.mul(tensor(done.map((each) => (each ? 0 : 1)))).mul(flag ? 2 : -0),
        tensor(done),
        !flag,
      ],
      { fullGraph: true },
    );
    const x = values([count]);
    const seen = (fn: typeof f, call: number) => describeValues(fn(x, flagsOf(call), call % 2 > 0));
    for (let call = 0; call < 3; call++) seen(f, call);
    expect(f.stats().translations).toBe(2);
    const loaded = (await load(await save(f))) as unknown as typeof f;
    for (let call = 3; call < 8; call++) expect(seen(loaded, call)).toEqual(seen(f, call));
    expect(() => loaded(x, flagsOf(0), 1 as never)).toThrow();
  });

  it('modules compute them', async () => {
    const f = toStatic(
      (x: Tensor, a: boolean, b: boolean) => x.mul(a ? 2 : -0).add(!b ? 1 : a && b ? 2 : +a),
      { fullGraph: true },
    );
    const x = values([count]);
    const pairs = [0, 3, 1, 2].map((call) => [call % 2 > 0, call > 1] as const);
    for (const pair of pairs) f(x, ...pair);
    const model = await instanceOf((await exportModule(f)).code);
    for (const pair of pairs) {
      const made = model.run(x.dataSync(), ...pair) as { data: Float32Array };
      expect(made.data).toEqual(noGrad(() => f(x, ...pair)).dataSync());
    }
  });

  it('a DQN step over a batch of transitions', () => {
    interface Transition {
      readonly state: readonly number[];
      readonly next: readonly number[];
      readonly action: number;
      readonly reward: number;
      readonly done: boolean;
    }
    const batchOf = (call: number): Transition[] =>
      Array.from({ length: 8 }, (_, i) => ({
        state: [call / 7, i / 3],
        next: [(call + 1) / 7, i / 3],
        action: (call + i) % 2,
        reward: Math.sin(call * 8 + i),
        done: (call * 5) % 8 === i,
      }));
    const { stats } = expectSameAsEager(
      () => {
        seed(3);
        const q = new nn.Linear(2, 2);
        const target = new nn.Linear(2, 2);
        const optimizer = new optim.Adam(q.parameters(), { lr: 0.01 });
        return {
          fn: (batch: Transition[]) => {
            const rewards = tensor(batch.map((b) => b.reward));
            const open = tensor(batch.map((b) => (b.done ? 0 : 1)));
            const actions = tensor(
              batch.map((b) => b.action),
              { dtype: 'int32' },
            );
            const best = noGrad(() =>
              target.forward(tensor(batch.map((b) => [...b.next]))).amax(1),
            );
            const goal = rewards.add(best.mul(open).mul(0.99));
            const values = q.forward(tensor(batch.map((b) => [...b.state])));
            const loss = values
              .gather(1, actions.unsqueeze(1))
              .squeeze(1)
              .sub(goal)
              .square()
              .mean();
            q.zeroGrad();
            loss.backward();
            optimizer.step();
            return loss.detach();
          },
          args: (call) => [batchOf(call)],
          state: () => q.parameters(),
        };
      },
      { calls: 8, fullGraph: true },
    );
    expect(stats.translations).toBeLessThanOrEqual(3);
  });
});
