/**
 * Programs in an imperative style: they write in place to tensors, views of them and arguments, read numbers before and
 * after, decide and loop by these numbers, and put both into arrays and objects.
 */

import fc from 'fast-check';

/** Of 6, 3 and 1 elements: `[2, 3]`, `[3]` and `[]`. */
type Kind = 'matrix' | 'vector' | 'scalar';

/** Which of the names in scope, counted round. */
type Pick = number;

type Statement =
  | { is: 'binary'; method: string; of: Pick; by: Pick; number: boolean }
  | { is: 'unary'; call: string; of: Pick }
  | { is: 'view'; of: Pick; call: Pick }
  | { is: 'write'; method: string; to: Pick; by: Pick; how: number }
  | { is: 'read'; of: Pick; how: Pick }
  | { is: 'number'; to: Pick; from: Pick; how: Pick }
  | { is: 'put'; where: string; what: Pick; number: boolean }
  | { is: 'assign'; to: Pick; from: Pick }
  | { is: 'branch'; test: string; left: Pick; right: Pick; taken: Statement[]; other: Statement[] }
  | { is: 'loop'; number: Pick; dataDependent: boolean; body: Statement[]; leaves: string };

export interface ImperativeProgram {
  readonly statements: readonly Statement[];
  /** Numbers of which the arguments of all calls are made. */
  readonly data: readonly number[];
  /** Arguments need gradients: writes are outside of them. */
  readonly gradients: boolean;
}

const pick = fc.nat(99);
const from = <T extends string>(...all: T[]) => fc.constantFrom(...all);

const simple: fc.Arbitrary<Statement>[] = [
  fc.record({
    is: fc.constant('binary' as const),
    method: from('add', 'mul', 'sub', 'maximum', 'minimum'),
    of: pick,
    by: pick,
    number: fc.boolean(),
  }),
  fc.record({
    is: fc.constant('unary' as const),
    call: from(
      ...['tanh()', 'sin()', 'relu()', 'abs()', 'neg()', 'clone()', 'detach()', 'gt(0)'],
      ...["to('float64')", "to('int32')", "to('float16')", "to('bool')"],
    ),
    of: pick,
  }),
  fc.record({ is: fc.constant('view' as const), of: pick, call: pick }),
  fc.record({
    is: fc.constant('write' as const),
    method: from('add_', 'mul_', 'sub_'),
    to: pick,
    by: pick,
    how: fc.nat(5),
  }),
  fc.record({ is: fc.constant('read' as const), of: pick, how: pick }),
  fc.record({ is: fc.constant('number' as const), to: pick, from: pick, how: pick }),
  fc.record({
    is: fc.constant('put' as const),
    where: from('list.push', 'list.unshift', 'box.a', 'box.b'),
    what: pick,
    number: fc.boolean(),
  }),
  fc.record({ is: fc.constant('assign' as const), to: pick, from: pick }),
];

function statements(depth: number): fc.Arbitrary<Statement[]> {
  if (depth === 0) return fc.array(fc.oneof(...simple), { minLength: 1, maxLength: 4 });
  const inner = statements(depth - 1);
  const branch = fc.record({
    is: fc.constant('branch' as const),
    test: from('<', '>', '<='),
    left: pick,
    right: pick,
    taken: inner,
    other: fc.oneof(fc.constant<Statement[]>([]), inner),
  });
  const loop = fc.record({
    is: fc.constant('loop' as const),
    number: pick,
    dataDependent: fc.boolean(),
    body: inner,
    leaves: from('', '', 'break', 'continue'),
  });
  const any = fc.oneof(...simple.map((arbitrary) => ({ weight: 2, arbitrary })), branch, loop);
  return fc.array(any, { minLength: 2, maxLength: 6 });
}

export const imperativePrograms: fc.Arbitrary<ImperativeProgram> = fc.record({
  statements: statements(2),
  data: fc.array(fc.integer({ min: -12, max: 12 }), { minLength: 30, maxLength: 30 }),
  gradients: fc.boolean(),
});

const viewsOf: Readonly<Record<Kind, readonly (readonly [call: string, kind: Kind])[]>> = {
  matrix: [
    ['select(0, 1)', 'vector'],
    ['select(0, 0)', 'vector'],
    ['t().select(1, 0)', 'vector'],
    ['reshape([6]).narrow(0, 2, 3)', 'vector'],
    ['sum(0)', 'vector'],
    ['select(1, 2).select(0, 1)', 'scalar'],
    ['sum()', 'scalar'],
  ],
  vector: [
    ['select(0, 1)', 'scalar'],
    ['select(0, 2)', 'scalar'],
    ['mean()', 'scalar'],
    ['flip([0])', 'vector'],
    ['expand([2, 3])', 'matrix'],
    ['reshape([1, 3]).expand([2, 3]).clone()', 'matrix'],
  ],
  scalar: [
    ['reshape([1]).expand([3]).clone()', 'vector'],
    ['mul(2)', 'scalar'],
  ],
};
const readsOf = [
  'sum()',
  'amax()',
  'mean()',
  'reshape([-1]).select(0, 0)',
  'reshape([-1]).narrow(0, 0, 1)',
];
const constants = ['2', '0.5', '-1', '3', '1.5'];

interface Scope {
  readonly tensors: readonly (readonly [name: string, kind: Kind])[];
  readonly numbers: readonly string[];
}

/** The function as text; `ts` is the library. */
export function imperativeText({ statements, gradients }: ImperativeProgram): string {
  let names = 0;
  const lines: string[] = [];

  const block = (body: readonly Statement[], outer: Scope, indent: string): Scope => {
    const tensors = [...outer.tensors];
    const numbers = [...outer.numbers];
    const put = (line: string): void => {
      lines.push(indent + line);
    };
    const tensor = (at: Pick, kind?: Kind) => {
      const those = tensors.filter((each) => kind === undefined || each[1] === kind);
      return those[at % those.length]!;
    };
    const number = (at: Pick): string => {
      const those = [...numbers, ...numbers, ...constants];
      return those[at % those.length]!;
    };
    const define = (value: string, kind: Kind): void => {
      const name = `t${names++}`;
      put(`let ${name} = ${value};`);
      tensors.push([name, kind]);
    };
    const write = (text: string): void => put(gradients ? `ts.noGrad(() => ${text});` : `${text};`);

    for (const each of body) {
      switch (each.is) {
        case 'binary': {
          const [of, kind] = tensor(each.of);
          const takesNumber = each.number && !each.method.endsWith('imum');
          const by = takesNumber ? number(each.by) : tensor(each.by, kind)[0];
          define(`${of}.${each.method}(${by})`, kind);
          break;
        }
        case 'unary': {
          const [of, kind] = tensor(each.of);
          define(`${of}.${each.call}`, kind);
          break;
        }
        case 'view': {
          const [of, kind] = tensor(each.of);
          const [call, result] = viewsOf[kind][each.call % viewsOf[kind].length]!;
          define(`${of}.${call}`, result);
          break;
        }
        case 'write': {
          const [to, kind] = tensor(each.to);
          const [by] = tensor(each.by, kind);
          const element = kind === 'scalar' ? to : `${to}.select(0, 0)`;
          const texts = [
            `${to}.${each.method}(${number(each.by)})`,
            `${to}.${each.method}(${by})`,
            `${to}.copy_(${by})`,
            `${to}.fill_(${number(each.by)})`,
            `${element}.${each.method}(${number(each.by)})`,
            `${to}.zero_()`,
          ];
          write(texts[each.how]!);
          break;
        }
        case 'read': {
          const [of, kind] = tensor(each.of);
          const call = kind === 'scalar' ? '' : `.${readsOf[each.how % readsOf.length]}`;
          const name = `n${names++}`;
          put(`let ${name} = ${of}${call}.itemSync();`);
          numbers.push(name);
          break;
        }
        case 'number': {
          if (numbers.length === 0) break;
          const value = number(each.from);
          const texts = [`Math.min(3, Math.max(-3, ${value}))`, `0.5 * ${value}`, `1 + ${value}`];
          put(`${numbers[each.to % numbers.length]} = ${texts[each.how % texts.length]};`);
          break;
        }
        case 'put': {
          const value = each.number ? number(each.what) : tensor(each.what)[0];
          put(
            each.where.startsWith('list')
              ? `${each.where}(${value});`
              : `${each.where} = ${value};`,
          );
          break;
        }
        case 'assign': {
          const [to, kind] = tensor(each.to);
          put(`${to} = ${tensor(each.from, kind)[0]};`);
          break;
        }
        case 'branch':
          put(`if (${number(each.left)} ${each.test} ${number(each.right + 1)}) {`);
          block(each.taken, { tensors, numbers }, `${indent}  `);
          if (each.other.length > 0) {
            put('} else {');
            block(each.other, { tensors, numbers }, `${indent}  `);
          }
          put('}');
          break;
        case 'loop': {
          const count = `k${names++}`;
          const some = numbers.length > 0 && each.dataDependent;
          const limit = some
            ? `${count} < 3 && Math.abs(${numbers[each.number % numbers.length]}) < 40`
            : `${count} < 2`;
          put(`for (let ${count} = 0; ${limit}; ${count}++) {`);
          block(each.body, { tensors, numbers }, `${indent}  `);
          if (each.leaves) put(`  if (${number(each.number)} > 1) ${each.leaves};`);
          put('}');
          break;
        }
      }
    }
    put(`sum = sum.add(${tensors.at(-1)![0]}.sum().mul(0.1));`);
    return { tensors, numbers };
  };

  const start: Scope = {
    tensors: [
      ['x', 'matrix'],
      ['y', 'vector'],
      ['z', 'scalar'],
    ],
    numbers: [],
  };
  const { tensors, numbers } = block(statements, start, '  ');
  const results = [...tensors.slice(-4).map(([name]) => name), ...numbers.slice(-3)];
  const inputs = gradients ? '[a.mul(1), b.mul(1), c.mul(1)]' : '[a, b, c]';
  return `return (a, b, c) => {
  let [x, y, z] = ${inputs};
  let sum = a.sum().mul(0.01);
  const list = [], box = {};
${lines.join('\n')}
  return [sum, list, box, ${results.join(', ')}];
};`;
}
