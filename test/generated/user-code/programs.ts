/**
 * Functions in the style of user code: classes, collections, closures, generators, exceptions, modules, optimizers and
 * everything else that the other generators leave out, on values known while tracing and on values of tensors.
 */

import fc from 'fast-check';
import { awaitingForms } from './async-forms.ts';
import { classForms } from './class-forms.ts';
import { collectionForms } from './collection-forms.ts';
import { functionForms } from './function-forms.ts';
import { madeStateForms, madeStateSeen } from './made-state-forms.ts';
import type { Parts, Text } from './parts.ts';
import { statementForms } from './statement-forms.ts';
import { tensorForms, trainingForms } from './tensor-forms.ts';

export interface UserProgram {
  readonly body: string;
  readonly isAsync: boolean;
  /** The first argument has another layout or dtype in each call. */
  readonly varies: boolean;
}

interface Tied {
  tensor: string;
  number: string;
  condition: string;
  statement: string;
  block: string;
}

const text: Text = (strings, ...holes) =>
  fc.tuple(...holes).map((values) => String.raw({ raw: strings }, ...values));

const local = fc.constantFrom('t0', 't1');
const tensorLeaf = fc.oneof(
  local,
  fc.constantFrom('x', 'y', 'w0', 'w1', 'obj.t', 'items[0]', 'history.at(-1)', 'box.value'),
);
const numberLeaf = fc.oneof(
  fc.integer({ min: -2, max: 3 }).map(String),
  fc.constantFrom('k', 'm0', 'n0', 'obj.a', 'count.n', 'numbers[0]', 'kept.size', 'counter()'),
  fc.constantFrom('m0++', 'items.length', 'obj.deep?.b', 'model.calls', 'x.shape[1]', '0.5'),
);
const conditionLeaf = fc.constantFrom(
  ...['flag', '!flag', 'x === y', '"fresh" in obj', 'model.training', 'bag.has(1)', 'm0 > 1'],
  ...['kept.has("a")', 'w1.requiresGrad', 'Array.isArray(items)', 'later.length', 'true', 'false'],
);

/** One depth for all: at its end only leaves are taken. */
const depthIdentifier = fc.createDepthIdentifier();
const one = {
  depthIdentifier,
  maxDepth: process.env['GENERATED_RUNS'] ? 4 : 3,
  depthSize: 'small',
  withCrossShrink: true,
} as const;

const { tensor, number, condition, statement } = fc.letrec<Tied>((tie) => {
  const part = (key: keyof Tied) => tie(key) as fc.Arbitrary<string>;
  const [e, n, c] = [part('tensor'), part('number'), part('condition')];
  const [s, b] = [part('statement'), part('block')];
  const parts: Parts = { e, n, c, s, b, local };
  const operator = fc.constantFrom('add', 'sub', 'mul');
  const call = fc.constantFrom('tanh', 'relu', 'neg', 'abs', 'clone', 'detach');
  const forms = [classForms, collectionForms, functionForms, tensorForms];
  return {
    tensor: fc.oneof(
      one,
      tensorLeaf,
      text`${e}.${operator}(${e})`,
      text`${e}.${operator}(${n})`,
      text`${e}.${call}()`,
      text`(${c} ? ${e} : ${e})`,
      text`(${local} = ${e})`,
      ...forms.map((each) => fc.oneof(...each(text, parts))),
      ...forms.map((each) => fc.oneof(...each(text, parts))),
    ),
    number: fc.oneof(
      one,
      numberLeaf,
      text`(${n} ${fc.constantFrom('+', '-', '*', '%', '&')} ${n})`,
      text`(${c} ? ${n} : ${n})`,
      text`Math.round(${e}.sum().itemSync())`,
      text`(${n} ?? ${n})`,
      text`noted(${n})`,
    ),
    condition: fc.oneof(
      one,
      conditionLeaf,
      text`(${n} ${fc.constantFrom('<', '===', '>=')} ${n})`,
      text`(${c} ${fc.constantFrom('&&', '||')} ${c})`,
      text`!${c}`,
      text`(${e}.sum().itemSync() > 0)`,
      text`(${e}.mean().itemSync() < 0.1)`,
    ),
    block: fc.array(s, { minLength: 1, maxLength: 2 }).map((list) => `{ ${list.join(' ')} }`),
    statement: fc.oneof(
      one,
      text`${local} = ${e};`,
      text`m0 = ${n};`,
      text`if (${c}) ${b} else ${b}`,
      fc.oneof(...statementForms(text, parts)),
      fc.oneof(...statementForms(text, parts)),
      fc.oneof(...statementForms(text, parts)),
      fc.oneof(...trainingForms(text, parts)),
      fc.oneof(...madeStateForms(text, parts)),
      fc.oneof(...madeStateForms(text, parts)),
    ),
  };
});

const result = fc.constantFrom(
  't0',
  '[t0, t1, m0]',
  '{ t0, list: [t1], m0 }',
  '() => t0',
  'new Map([["t", t0], [t1, m0]])',
);

/** Statements that wait, around those that don't: functions inside of these are not asynchronous. */
const { awaiting } = fc.letrec<{ awaiting: string; block: string }>((tie) => {
  const [s, b] = [tie('awaiting') as fc.Arbitrary<string>, tie('block') as fc.Arbitrary<string>];
  const parts: Parts = { e: tensor, n: number, c: condition, s, b, local };
  return {
    block: fc.array(s, { minLength: 1, maxLength: 2 }).map((list) => `{ ${list.join(' ')} }`),
    awaiting: fc.oneof(
      one,
      statement,
      fc.oneof(...awaitingForms(text, parts)),
      fc.oneof(...awaitingForms(text, parts)),
      text`if (${condition}) ${b} else ${b}`,
      text`for (const t of [${tensor}, ${tensor}]) { t0 = t0.add(t); ${s} }`,
    ),
  };
});

const programs = (isAsync: boolean): fc.Arbitrary<UserProgram> =>
  fc
    .tuple(
      fc.array(isAsync ? awaiting : statement, { minLength: 1, maxLength: 4 }),
      tensor,
      number,
      condition,
      result,
      fc.boolean(),
    )
    .map(([lines, t, n, c, end, varies]) => ({
      body: [
        ...lines,
        ...[`t0 = ${t};`, `m0 = ${n};`, `if (${c}) m0++;`, madeStateSeen, `return ${end};`],
      ].join('\n    '),
      isAsync,
      varies,
    }));

export const userPrograms = programs(false);
export const asyncPrograms = programs(true);
