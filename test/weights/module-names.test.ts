/** Names, shapes and order of what a module's state dict holds, as PyTorch's modules have them. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { torchName } from '../../runtime/weights/index.ts';
import { nn, ones, type Tensor, tidy, zeros } from '../../src/index.ts';

/** Constructors here, and the entries of PyTorch's state dicts. */
const recorded: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL('./fixtures/state-names.json', import.meta.url), 'utf8'),
);

class Symmetric extends nn.Module {
  override forward(x: Tensor): Tensor {
    return x.triu().add(x.triu(1).t());
  }
}

/** A layer with a parametrized weight. */
function reg(): nn.Module {
  const layer = new nn.Linear(3, 3);
  nn.utils.registerParametrization(layer, 'weight', new Symmetric());
  return layer;
}

const entriesOf = (module: nn.Module): string =>
  Object.entries(module.stateDict())
    .map(([name, { shape }]) => `${torchName(name)}${JSON.stringify(shape)}`)
    .join(' ');

it.each(Object.entries(recorded))('%s', (code, expected) => {
  tidy(() => {
    const make = new Function('nn', 'zeros', 'ones', 'reg', `return ${code};`);
    const module = make(nn, zeros, ones, reg) as nn.Module;
    expect(entriesOf(module)).toBe(expected);
    module.dispose();
  });
});

it('weightNorm has the names and the order of torch.nn.utils.weight_norm', () => {
  tidy(() => {
    const layer = nn.utils.weightNorm(new nn.Linear(2, 3));
    expect(entriesOf(layer)).toBe('bias[3] weight_g[3,1] weight_v[3,2]');
    layer.dispose();
    const gru = new nn.GRU(2, 2, { numLayers: 2, bidirectional: true });
    nn.utils.weightNorm(gru, 'weightHhL1Reverse');
    const own = entriesOf(gru)
      .split(' ')
      .filter((entry) => /hh_l1_reverse/.test(entry));
    expect(own.sort().join(' ')).toBe(
      'bias_hh_l1_reverse[6] weight_hh_l1_reverse_g[6,1] weight_hh_l1_reverse_v[6,2]',
    );
    gru.dispose();
  });
});
