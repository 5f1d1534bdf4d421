// biome-ignore-all lint/suspicious/noTemplateCurlyInString: functions are source text
/**
 * Sessions: two functions that record gradients, and what happens between their calls: backwards of some results,
 * gradients of any order, writes, hooks, results that are fed back, dropped or disposed of.
 */

import fc from 'fast-check';

/** One step of a session; numbers select tensors of the pool, counted round. */
export type Action =
  | { is: 'call' | 'call without gradients'; fn: number; x: number; y: number; k: number }
  | { is: 'backward'; of: number; retain: boolean; create: boolean }
  | { is: 'backward of a sum'; of: number; and: number; retain: boolean }
  | { is: 'gradient'; of: number; by: number; retain: boolean; create: boolean }
  | { is: 'backward to'; of: number; by: number; retain: boolean }
  | { is: (typeof plain)[number]; of: number; by: number };

const plain = [
  ...(['combine', 'write to a weight', 'write to a result', 'write to an input'] as const),
  ...(['hook', 'hook of a weight', 'retainGrad', 'zeroGrad', 'freeze', 'thaw'] as const),
  ...(['dispose', 'drop', 'ready', 'leaf of a result', 'scale a gradient'] as const),
];

export interface CallSession {
  readonly functions: readonly [string, string];
  readonly actions: readonly Action[];
}

interface Parts {
  tensor: string;
  statement: string;
}

const text = (strings: TemplateStringsArray, ...holes: readonly fc.Arbitrary<string>[]) =>
  fc.tuple(...holes).map((values) => String.raw({ raw: strings }, ...values));

const of = fc.constantFrom;
const size = { depthSize: 'small', withCrossShrink: true } as const;

const { tensor, statement } = fc.letrec<Parts>((tie) => {
  const [e, s] = [tie('tensor') as fc.Arbitrary<string>, tie('statement') as fc.Arbitrary<string>];
  const local = of('h', 'g');
  return {
    tensor: fc.oneof(
      size,
      local,
      local,
      of('x', 'y', 'w0', 'w1', 'state.last'),
      text`${e}.${of('mul', 'add', 'sub')}(${e})`,
      text`${e}.${of('tanh', 'sigmoid', 'relu', 'exp', 'clone', 'detach')}()`,
      text`${e}.t().matmul(${e}).sum(0).expand([2, 3])`,
      text`${e}.select(0, 1).expand([2, 3])`,
      text`noGrad(() => ${e})`,
      text`dropout(${e}, 0.5)`,
      text`cube(${e})`,
      text`grad(${e}.mul(w0).sum(), [w0], { createGraph: ${of('true', 'false')} })[0]`,
      text`${e}.mul(k)`,
    ),
    statement: fc.oneof(
      size,
      text`${local} = ${e};`,
      text`${local} = ${local}.mul(w0);`,
      text`${local} = ${local}.mul(1); ${local}.${of('mul_', 'add_')}(${e});`,
      text`if (k > 1) ${s}`,
      text`if (${local}.sum().itemSync() > 0) ${s}`,
      text`for (let i = 0; i < 2; i++) ${s}`,
      text`note([1]);`,
      text`state.last = ${e}; state.n++;`,
      text`noGrad(() => { state.buffer.add_(${e}); });`,
      text`${e}.mul(w0).sum().backward();`,
      text`if (k > 2) throw new RangeError('k');`,
      text`if (${local}.requiresGrad && !${local}.isLeaf) ${local}.registerHook((d) => { log.push('h' + state.n); return d.mul(2); });`,
      text`if (${local}.requiresGrad && !${local}.isLeaf) ${local}.retainGrad();`,
    ),
  };
});

const results = of(
  ...['[h, g]', '[h, h.select(0, 0), g]', '[h.sum()]', '[h.mul(w0), h]'],
  '[x.mul(w0), y.mul(w1), h]',
);

const body = fc
  .tuple(fc.array(statement, { minLength: 1, maxLength: 4 }), tensor, results)
  .map(
    ([lines, t, end]) =>
      `let h = x.mul(w0), g = y;\n  ${lines.join('\n  ')}\n  h = ${t};\n  return ${end};`,
  );

const pick = fc.nat(99);
const flag = fc.boolean();

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ is: of('call'), fn: fc.nat(1), x: pick, y: pick, k: of(1, 1, 2, 3) }),
  },
  { weight: 3, arbitrary: fc.record({ is: of('backward'), of: pick, retain: flag, create: flag }) },
  {
    weight: 2,
    arbitrary: fc.record({ is: of('gradient'), of: pick, by: pick, retain: flag, create: flag }),
  },
  fc.record({ is: of('backward of a sum'), of: pick, and: pick, retain: flag }),
  fc.record({ is: of('backward to'), of: pick, by: pick, retain: flag }),
  { weight: 2, arbitrary: fc.record({ is: of(...plain), of: pick, by: pick }) },
  fc.record({ is: of('call without gradients'), fn: fc.nat(1), x: pick, y: pick, k: of(1, 2) }),
);

export const callSessions: fc.Arbitrary<CallSession> = fc.record({
  functions: fc.tuple(body, body),
  actions: fc.array(action, { minLength: 4, maxLength: 14 }),
});
