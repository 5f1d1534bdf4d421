/** What the library's own code throws at a user's mistake is the error of a full graph, too. */

import { describe, expect, it } from 'vitest';
import { absentMethods } from '../../../runtime/errors/absent-names.ts';
import {
  gridSample,
  gumbelSoftmax,
  nn,
  optim,
  randn,
  Tensor,
  type ToStaticOptions,
  toStatic,
} from '../../../src/index.ts';

type Mistake = (x: Tensor) => unknown;

function thrownBy(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    const { name, message } = error as Error;
    return `${name}: ${message.split('\n').slice(0, 3).join('\n')}`;
  }
  return 'nothing';
}

function expectSameError(fn: Mistake): void {
  const options: readonly ToStaticOptions[] = [{}, { fullGraph: true }, { capture: 'auto' }];
  const eager = thrownBy(() => fn(randn([2, 4])));
  expect(eager).not.toBe('nothing');
  for (const each of options) {
    const f = toStatic(fn, each);
    for (let call = 0; call < 2; call++) expect(thrownBy(() => f(randn([2, 4])))).toBe(eager);
  }
}

const wrong = { noSuchOption: 1 } as never;
const layers = {
  encoder: new nn.TransformerEncoderLayer(4, 2, { dimFeedforward: 4, batchFirst: true }),
  decoder: new nn.TransformerDecoderLayer(4, 2, { dimFeedforward: 4, batchFirst: true }),
  attention: new nn.MultiheadAttention(4, 2, { batchFirst: true }),
};

describe('options that a module or function does not have', () => {
  const mistakes: Readonly<Record<string, Mistake>> = {
    'encoder.forward': (x) => layers.encoder.forward(x.unsqueeze(0), wrong),
    'decoder.forward': (x) => layers.decoder.forward(x.unsqueeze(0), x.unsqueeze(0), wrong),
    'attention.forward': (x) =>
      layers.attention.forward(x.unsqueeze(0), x.unsqueeze(0), x.unsqueeze(0), wrong),
    'attention.forward on one path': (x) =>
      x.shape[0] === 2 ? layers.attention.forward(x, x, x, wrong) : x,
    gridSample: (x) => gridSample(x.reshape([1, 1, 2, 4]), randn([1, 2, 2, 2]), wrong),
    gumbelSoftmax: (x) => gumbelSoftmax(x, wrong),
    'new Linear': () => new nn.Linear(2, 2, wrong),
    'new SGD': (x) => new optim.SGD([x.detach().requiresGrad_()], wrong),
    'new Rprop': (x) => new optim.Rprop([x.detach().requiresGrad_()], { weightDecay: 1 } as never),
    'a parameter group': (x) =>
      new optim.SGD([{ params: [x.detach().requiresGrad_()], ...(wrong as object) }], { lr: 1 }),
  };
  it.each(Object.entries(mistakes))('%s', (_name, fn) => expectSameError(fn));
});

it('methods that PyTorch has and this library has not', () => {
  const behind: object = Object.getPrototypeOf(Tensor.prototype);
  const names = Object.getOwnPropertyNames(behind).filter((name) => {
    const { value } = Object.getOwnPropertyDescriptor(behind, name)!;
    return typeof value === 'function' && absentMethods.has(value);
  });
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) {
    expectSameError((x) => (x as unknown as Record<string, () => unknown>)[name]!());
  }
});
